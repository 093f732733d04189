/** `ralph prd run` runs the checks itself: what is red is not handed in, not approved, and never the end of a run. */
import { appendFileSync, existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Story, StoryList } from '../../src/domain/stories/story.ts';
import { STATES, story, storyList } from '../domain/stories/stories.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import type { Repo } from '../rig/repo.ts';
import {
  approve,
  change,
  handIn,
  modesOf,
  prdRepo,
  prdRun,
  storyOf,
  tasks,
  UNCHANGED,
  works,
} from '../rig/stories.ts';

/** A project whose list has these verify commands; what they write is ignored. */
function project(verifyCommands: readonly string[], ...stories: readonly Story[]): Repo {
  const made = prdRepo();
  const list = storyList(...(stories.length > 0 ? stories : [story('US-001', { notes: '' })]));
  made.write('ralph/tasks.json', JSON.stringify({ ...list, verifyCommands }, null, 2));
  made.write('.gitignore', '.ralph-active\n.ralph/\n*.log\n');
  made.git('commit', '--quiet', '--all', '--message', 'the list');
  return made;
}

const lines = (made: Repo, name: string) => made.read(name).trim().split('\n').length;
const build = (made: Repo, name = 'built') => ({ also: () => made.write(name, 'yes') });

describe('verify commands of the list', () => {
  test('a red one is not handed in, and the agent gets its output', {
    tags: ['promise', 'P-prd-checks'],
  }, async () => {
    const made = project(['test -f built || { echo nothing is built; exit 3; }']);
    const agent = await fakeAgent(
      'claude',
      works(made, handIn()),
      works(made, handIn(), build(made)),
      works(made, approve()),
    );
    const { code, result } = await prdRun(made, agent.bin);
    expect([code, modesOf(result)]).toEqual([0, ['implement US-001', 'implement US-001', 'review US-001']]);
    expect(agent.calls[0]?.input).toContain('Ralph runs these after your turn');
    expect(agent.calls[1]?.input).toContain('US-001 was not handed in: `test -f built');
    expect(agent.calls[1]?.input).toContain('nothing is built');
    expect(agent.calls[2]?.input).toContain('It ran these checks itself after the story was built:');
    expect(agent.calls[2]?.input).toContain('passed (exit code 0)');
    expect(agent.calls[2]?.input).toContain('+yes');
    expect(result.iterations[0]).toMatchObject({ allChecksPassed: false, checkResults: [{ exitCode: 3 }] });
  });

  test.each([
    ['with reviews', []],
    ['without reviews', ['--skip-review']],
    ['at the cap', ['--review-cap', '1']],
    ['with a baseline', ['--baseline']],
  ])('one that is always red never ends in exit code 0: %s', async (_, flags) => {
    const made = project(['false']);
    const done = change('US-001', { passes: true, notes: 'built' });
    const agent = await fakeAgent('claude', works(made, flags[0] === '--skip-review' ? done : handIn()));
    const { code, result } = await prdRun(made, agent.bin, '-n', '3', ...flags);
    expect([code, result.success, result.stories.done]).toEqual([1, false, 0]);
  });

  test('and not when everything is done already', async () => {
    const made = project(['false'], story('US-001', STATES.approved));
    const agent = await fakeAgent('claude', works(made, UNCHANGED));
    const { code, result, stderr } = await prdRun(made, agent.bin, '-n', '1', '--trust-tasks');
    expect([code, modesOf(result)]).toEqual([1, ['review-fix US-001']]);
    expect(stderr).toContain('US-001 is open again: `false` failed (exit code 1).');
  });

  test('an approval over a red check does not count, and what is red is to be fixed', async () => {
    const made = project(['test ! -f broken.log'], story('US-001', STATES.waiting));
    const agent = await fakeAgent(
      'claude',
      works(made, approve(), { also: () => made.write('broken.log', 'x') }),
      works(made, UNCHANGED),
    );
    const { code, result } = await prdRun(made, agent.bin, '-n', '2');
    expect([code, modesOf(result)]).toEqual([1, ['review US-001', 'review-fix US-001']]);
    expect(storyOf(made)).toMatchObject({ passes: false, reviewStatus: 'changes_requested', reviewCount: 1 });
    expect(storyOf(made).reviewFeedback).toContain('`test ! -f broken.log` failed (exit code 1)');
  });

  test('--at-cap approve does not approve over one either', async () => {
    const made = project(['test ! -f broken.log'], story('US-001', STATES.waiting));
    const agent = await fakeAgent(
      'claude',
      works(made, approve(), { also: () => made.write('broken.log', 'x') }),
    );
    const { code, result } = await prdRun(made, agent.bin, '--review-cap', '1', '--at-cap', 'approve');
    expect([code, result.stopReason]).toEqual([1, 'review_cap']);
    expect(result.detail).toContain('US-001 was reviewed 1 times: Ralph ran the checks');
  });

  test('of two stories: each has its own, and all run before the end; the same command runs once', async () => {
    const count = 'echo x >> shared.log';
    const made = project(
      [count],
      story('US-001', { verifyCommands: [count, 'echo x >> one.log; test -f one'] }),
      story('US-002', { verifyCommands: ['echo x >> two.log'] }),
    );
    const agent = await fakeAgent(
      'claude',
      works(made, handIn(), build(made, 'one')),
      works(made, approve()),
      works(made, handIn('US-002')),
      works(made, approve('US-002')),
    );
    const { code, result } = await prdRun(made, agent.bin);
    expect([code, result.iterations.length]).toEqual([0, 4]);
    expect([lines(made, 'shared.log'), lines(made, 'one.log'), lines(made, 'two.log')]).toEqual([4, 3, 2]);
    const names = result.iterations[3].checkResults.map((each: { name: string }) => each.name);
    expect(names).toEqual([count, 'echo x >> one.log; test -f one', 'echo x >> two.log']);
  });

  test('one of an approved story that a later story breaks opens it again', async () => {
    const made = project(
      [],
      story('US-001', { verifyCommands: ['test ! -f two'] }),
      story('US-002', { notes: '' }),
    );
    const agent = await fakeAgent(
      'claude',
      works(made, handIn()),
      works(made, approve()),
      works(made, handIn('US-002'), build(made, 'two')),
      works(made, approve('US-002')),
      works(made, UNCHANGED),
    );
    const { code, result } = await prdRun(made, agent.bin, '-n', '5');
    expect([code, modesOf(result).at(-1)]).toEqual([1, 'review-fix US-001']);
    expect(result.stories.done).toBe(1);
  });

  test('what the agent adds is shown, and not run, in this run or the next', async () => {
    const made = project(['true']);
    const add = (list: StoryList) => ({
      ...(handIn()(list) as StoryList),
      verifyCommands: ['true', 'echo x > proof.log'],
    });
    const agent = await fakeAgent('claude', works(made, add), works(made, UNCHANGED));
    const { result, stderr } = await prdRun(made, agent.bin, '-n', '1');
    expect(result.iterations[0].violations[0]).toContain('"echo x > proof.log" was added to verifyCommands.');
    expect(stderr).toContain('echo x > proof.log');
    expect(tasks(made).verifyCommands).toEqual(['true']);
    await prdRun(made, agent.bin, '-n', '1');
    expect(() => made.read('proof.log')).toThrow();
  });
});

describe('--check', () => {
  test('gates beside them, at the same time and again where that is asked for', async () => {
    const made = project(['true']);
    const flaky = 'echo x >> tries.log; test $(wc -l < tries.log) -ge 2';
    const agent = await fakeAgent('claude', works(made, handIn()), works(made, approve()));
    const { code, result } = await prdRun(
      made,
      agent.bin,
      '--check',
      flaky,
      '--check-retries',
      '1',
      '--check-parallel',
      '--check-timeout',
      '20',
    );
    expect(code).toBe(0);
    expect(result.iterations[0].checkResults.map((each: { name: string }) => each.name)).toEqual([
      flaky,
      'true',
    ]);
    expect(result.iterations[0].checkResults[0]).toMatchObject({ passed: true, flaked: 1 });
  });

  test('that does not exist is named before the first turn, with the others', async () => {
    const made = project(['no-such-program --all', 'A=1 ./nowhere.sh', 'cd . && true']);
    const agent = await fakeAgent('claude', works(made, UNCHANGED));
    const { code, stderr } = await prdRun(made, agent.bin, '--check', 'neither-this');
    expect([code, agent.calls.length]).toEqual([2, 0]);
    for (const name of ['no-such-program', './nowhere.sh', 'neither-this'])
      expect(stderr).toContain(`there is no such command: ${name}`);
    expect(stderr).not.toContain('cd .');
  });
});

describe('the headline', () => {
  /** What the final block begins with, and the evidence of `ralph explain`. */
  async function told(made: Repo) {
    const { stdout } = await ralph(['explain', '--json'], { cwd: made.dir });
    return JSON.parse(stdout) as { readonly outcome: string; readonly evidence: readonly string[] };
  }
  const UNCHECKED = 'Nothing was checked: add `--check` or `verifyCommands`.';

  test('of a run without a check says so, and so does a notice before its first iteration', async () => {
    const made = project([]);
    const agent = await fakeAgent('claude', works(made, handIn()), works(made, approve()));
    const { code, result, stderr } = await prdRun(made, agent.bin);
    expect([code, result.proof.level]).toEqual([0, 'claimed']);
    const said = stderr.replace(/\s+/g, ' ');
    expect(said.split('Iteration 1')[0]).toContain(
      'There is no check: only agents say whether a story is done',
    );
    expect((await told(made)).outcome).toContain(
      `Done: every story is implemented and approved. ${UNCHECKED}`,
    );
  });

  test('of a run with one does not', async () => {
    const made = project(['true']);
    const agent = await fakeAgent('claude', works(made, handIn()), works(made, approve()));
    const { stderr } = await prdRun(made, agent.bin);
    expect(stderr).not.toContain('There is no check');
    expect((await told(made)).outcome).toMatch(/^Done: every story is implemented and approved\. \(/);
  });

  test('of a run that has nothing to do rests on the checks that it ran', async () => {
    const made = project(['true'], story('US-001', STATES.approved));
    const agent = await fakeAgent('claude', works(made, UNCHANGED));
    const { code, result } = await prdRun(made, agent.bin, '--trust-tasks');
    expect([code, result.proof.level, agent.calls.length]).toEqual([0, 'place', 0]);
    const { outcome, evidence } = await told(made);
    expect(outcome).toMatch(/^Done: every story is implemented and approved\. \(/);
    expect(evidence[0]).toContain('Proof: the checks passed in your folder');
  });

  test('names a story that nobody has reviewed', async () => {
    const made = project(['true']);
    const agent = await fakeAgent('claude', works(made, change('US-001', { passes: true, notes: 'built' })));
    await prdRun(made, agent.bin, '--skip-review');
    expect((await told(made)).outcome).toContain('Done: every story is implemented. Not reviewed: US-001.');
  });
});

describe('killed', () => {
  test.each(['resume', 'run'])(
    'in a check of an approval: nothing is approved without it (%s)',
    async how => {
      const made = project(
        [
          'test ! -f asked.log || { touch waits.log; while [ ! -f stop.log ]; do sleep 0.1; done; }; test -f good',
        ],
        story('US-001', STATES.waiting),
      );
      const also = () => made.write('asked.log', '');
      const agent = await fakeAgent('claude', works(made, approve(), { also }));
      const run = startRalph(['prd', 'run', '--agent', 'claude'], { cwd: made.dir, path: [agent.bin] });
      await expect.poll(() => existsSync(made.path('waits.log'))).toBe(true);
      run.process.kill('SIGKILL');
      await run.finished;
      appendFileSync(made.path('stop.log'), 'x');
      const other = await fakeAgent('claude', works(made, UNCHANGED));
      const args = how === 'resume' ? ['resume'] : ['prd', 'run', '--agent', 'claude', '-n', '2'];
      const { code, stdout } = await ralph([...args, '--json'], { cwd: made.dir, path: [other.bin] });
      expect([code, JSON.parse(stdout).stories.done]).toEqual([1, 0]);
    },
  );
});

test('--proof clean: the last approval counts only when everything passes in a clean checkout, with --setup', async () => {
  const made = project(['test -f installed.log && { test -f built || test -f built.log; }']);
  const fixed = change('US-001', { reviewStatus: 'needs_review', reviewFeedback: '' });
  const agent = await fakeAgent(
    'claude',
    works(made, handIn(), { also: () => [made.write('built.log', 'x'), made.write('installed.log', 'x')] }),
    works(made, approve()),
    works(made, fixed, build(made)),
    works(made, approve()),
  );
  const flags = ['--proof', 'clean', '--setup', 'touch installed.log', '--setup-timeout', '60'];
  const { code, result, stderr } = await prdRun(made, agent.bin, '-n', '6', ...flags);
  expect(code, stderr).toBe(0);
  expect(result.proof.level).toBe('clean');
  expect(result.iterations[1].allChecksPassed).toBe(false);
  expect(modesOf(result)).toEqual([
    'implement US-001',
    'review US-001',
    'review-fix US-001',
    'review US-001',
  ]);
  expect(stderr).toContain('US-001 is open again: `test -f installed.log');
  expect(stderr).toContain('failed in a clean checkout');
});
