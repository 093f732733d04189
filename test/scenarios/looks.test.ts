/** How often all files of a work tree are looked at in an iteration. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fakeAgent } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, works } from '../rig/stories.ts';

/** A git before the real one that writes down what it is asked; `turn` is a line of the agent's. */
function spied() {
  const place = folder('ralph-spied-');
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const log = place.path('asked');
  place.script('bin/git', `echo "$*" >> '${log}'\nexec '${real}' "$@"`);
  return {
    ...{ place, log, bin: place.path('bin') },
    /** What git was asked for before the first turn, and in each turn and after it. */
    rounds: () =>
      place
        .read('asked')
        .split('turn\n')
        .map(round => round.trim().split('\n')),
  };
}

test('once, where the agent does not say that it is done', async () => {
  const { place, log, bin, rounds } = spied();
  const claim = `[ $(grep -c turn '${log}') -lt 3 ] || echo '<promise>COMPLETE</promise>'`;
  place.script('agent', `echo turn >> '${log}'\ndate +%N >> made\n${claim}`);
  const work = repo({ a: 'a\n', '.gitignore': '.ralph/\n' });
  const args = ['loop', 'Add', '--check', 'true', '--agent', place.path('agent')];
  const { code, stderr } = await ralph(args, { cwd: work.dir, path: [bin] });
  expect(code, stderr).toBe(0);
  const [, , second] = rounds();
  expect(second?.map(words => words.split(' ')[0])).toEqual(['ls-files', 'update-index', 'write-tree', '-c']);
});

/** Whether git reads all folders for it, or the times of all files. */
const isLook = (words: string) =>
  /^(status|diff-files|diff-index)\b|^ls-files\b.* (-\w*[mdo]\w*|--others)\b|--refresh/.test(words);

test('once in an iteration that builds a story; in a review that ends the run before and after its checks, and at the end', async () => {
  const { log, bin, rounds } = spied();
  const project = prdRepo();
  const also = () => appendFileSync(log, 'turn\n');
  const agent = await fakeAgent(
    'claude',
    works(project, handIn(), { also, commit: false }),
    works(project, approve(), { also, commit: false }),
  );
  const args = ['prd', 'run', '--agent', 'claude', '--check', 'true'];
  const { code, stdout } = await ralph(args, {
    cwd: project.dir,
    path: [bin, agent.bin],
    env: { IS_SANDBOX: '1' },
  });
  expect(code, stdout).toBe(0);
  const looks = rounds().map(round => round.filter(isLook));
  const [times, listed] = [/ -m -d /, / (-\w*o\w*|--others)\b/];
  const count = (what: RegExp, not?: RegExp) =>
    looks.slice(1).map(round => round.filter(words => what.test(words) && !not?.test(words)).length);
  expect(count(times)).toEqual([1, 3]);
  // What a review must leave as it is: what is there before it, and what is new after it.
  expect(count(listed, times)).toEqual([3, 3]);
});

test('three times in a story beside others, whose files are written twice and listed in no index but its own', async () => {
  const { place, log, bin } = spied();
  const said = `echo x >> "made-$RALPH_LANE_INDEX"\necho '<promise>COMPLETE</promise>'`;
  place.script('agent', said);
  const work = repo({ 'tasks.md': '- [ ] one\n- [ ] two\n', '.gitignore': '.ralph/\n' });
  const args = ['loop', '--tasks', 'tasks.md', '--parallel', '2', '--check', 'true'];
  const { code, stdout } = await ralph([...args, '--agent', place.path('agent')], {
    cwd: work.dir,
    path: [bin],
  });
  expect(code, stdout).toBe(0);
  const asked = readFileSync(log, 'utf8').split('\n');
  const count = (what: RegExp) => asked.filter(words => what.test(words)).length;
  // Beside what two stories need: the run looks at the user's own files when it begins, for the first time, and before what has landed is put there.
  expect({
    looks: count(/^ls-files .*-m -d -o/),
    writes: count(/read-tree -u --reset/),
    begun: count(/^read-tree --reset/),
    others: count(/^read-tree [0-9a-f]+$/),
    listed: count(/--index-info|^ls-tree -r/),
    refreshed: count(/--refresh/),
  }).toEqual({ looks: 2 * 3 + 2, writes: 2 * 2, begun: 0, others: 2 + 1, listed: 3, refreshed: 2 });
});
