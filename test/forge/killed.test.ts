/** Ralph is killed at each request that it sends: nothing is opened, written or pushed twice, and the same command finishes. */
import { expect, test } from 'vitest';
import { loopEnded } from '../rig/ended-run.ts';
import { check, createForge, word } from '../rig/forge.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';
import { killPlaces } from '../rig/thorough.ts';

const AGENT = `
prompt=$(cat)
echo new > new.txt
case "$prompt" in
  *"are red"*) echo fixed > fixed.txt;;
  *"reviewers ask"*) echo answered > answered.txt;;
esac`;

/** `when`: before the forge does what it is asked, or after it and before it says so. */
async function killedAt(nth: number, when: 'before' | 'after', words?: string) {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  await loopEnded(work, { script: AGENT });
  forge.state.checks = commit =>
    commit === forge.tip('main') || forge.has(commit, 'fixed.txt')
      ? [check('test', 'success')]
      : [check('test', 'failure')];
  forge.state.threads.push(word('alice', 'rename this', { path: 'new.txt', line: 1 }));
  const args = ['pr', '--json', '--follow', '--ready', '--poll', '0.05'];
  const options = { cwd: work.dir, env: forge.env };
  const first = startRalph(args, options);
  const kill = async (count: number) => {
    if (count !== nth) return;
    first.process.kill('SIGKILL');
    await first.finished;
  };
  if (when === 'before') forge.state.arrives = kill;
  else forge.state.done = kill;
  if (words !== undefined) await first.until(words).then(() => first.process.kill('SIGKILL'));
  await first.finished;
  const second = await ralph(args, options);
  expect(second.code, second.stdout + second.stderr).toBe(0);
  const trees = forge.pushes('ralph/login');
  const replies = forge.state.threads.filter(({ user }) => user.login === 'ralph-bot');
  return {
    counts: [
      forge.state.pulls.length,
      forge.state.comments.length,
      replies.length,
      new Set(trees).size === trees.length,
    ],
    isReady: forge.state.pulls[0]?.draft === false,
    hasAll: ['fixed.txt', 'answered.txt'].every(file => forge.has('ralph/login', file)),
  };
}

const ONCE = { counts: [1, 1, 1, true], isReady: true, hasAll: true };

test.each(killPlaces(45, 6))('at request %i, %s it is done', { timeout: 240_000 }, async (nth, when) =>
  expect(await killedAt(nth, when)).toEqual(ONCE),
);

test('when a round has been prepared', { timeout: 240_000 }, async () => {
  expect(await killedAt(Number.POSITIVE_INFINITY, 'before', 'working on it again')).toEqual(ONCE);
});
