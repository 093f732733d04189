/** Ralph is killed at each request that it sends: nothing is opened, written or pushed twice, and the same command finishes. */
import { expect, test } from 'vitest';
import { loopEnded } from '../rig/ended-run.ts';
import { createForge, word } from '../rig/forge.ts';
import { type Kill, killedAt } from '../rig/killed.ts';
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
const ARGS = ['pr', '--json', '--follow', '--ready', '--poll', '0.05'];

async function opened() {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  await loopEnded(work, { script: AGENT });
  forge.redWithout('fixed.txt');
  forge.state.threads.push(word('alice', 'rename this', { path: 'new.txt', line: 1 }));
  const outcome = () => ({
    ...forge.once('ralph/login'),
    comments: forge.state.comments.length,
    hasAll: ['fixed.txt', 'answered.txt'].every(file => forge.has('ralph/login', file)),
  });
  return { forge, options: { cwd: work.dir, env: forge.env }, outcome };
}

const TIME = { timeout: 240_000 };
const ONCE = { pulls: [false], replies: 1, isPushedOnce: true, comments: 1, hasAll: true };

test.each(killPlaces(60, 3))('at request %i, %s it is done', TIME, async (...kill: Kill) => {
  const { forge, options, outcome } = await opened();
  const { code, stdout, stderr } = await killedAt(forge, kill, ARGS, options);
  expect([code, outcome()], stdout + stderr).toEqual([0, ONCE]);
});

test.each(killPlaces(68, 2))('merged: at request %i, %s it is done', TIME, async (...kill: Kill) => {
  const { forge, options, outcome } = await opened();
  const args = ['pr', '--json', '--follow', '--merge', '--poll', '0.05'];
  const { code, stdout, stderr } = await killedAt(forge, kill, args, options);
  const [pull] = forge.state.pulls;
  expect([code, pull?.merged, forge.state.merges, outcome()], stdout + stderr).toEqual([0, true, 1, ONCE]);
});

test('when a round has been prepared', TIME, async () => {
  const { options, outcome } = await opened();
  const first = startRalph(ARGS, options);
  await first.until('working on it again');
  first.process.kill('SIGKILL');
  await first.finished;
  const { code, stdout, stderr } = await ralph(ARGS, options);
  expect([code, outcome()], stdout + stderr).toEqual([0, ONCE]);
});
