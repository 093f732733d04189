/** `ralph watch` is killed at each request that it sends: an issue gets one run, one pull request and each comment once. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { agentOf } from '../rig/ended-run.ts';
import { createForge, watchKilled } from '../rig/forge.ts';
import { ledgerOf, only, runsOf } from '../rig/ledger.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { killPlaces } from '../rig/thorough.ts';

/** Asks first, works with the answer, and counts its turns. */
const AGENT = `
prompt=$(cat)
echo turn >> "$SEEN/turns"
case "$prompt" in
  *"Answer: blue"*) echo new > new.txt;;
  *) echo "<question>Which colour?</question>"; exit 0;;
esac`;

/** `when`: before the forge does what it is asked, or after it and before it says so. */
async function killedAt(nth: number, when: 'before' | 'after') {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  const seen = folder('ralph-seen-');
  const agent = agentOf(AGENT.replaceAll('$SEEN', seen.dir));
  forge.issue(12, 'Make a file');
  const flags = ['--once', '--ready', '--poll', '0.05', '--check', 'test -f new.txt'];
  const args = ['watch', ...flags, '--agent', agent];
  const options = { cwd: work.dir, env: forge.env };
  const code = await watchKilled(forge, args, options, [nth, when]);
  const said = forge.said(12).filter(text => text.startsWith('ralph-bot'));
  const trees = forge.pushes('ralph/issue-12');
  return {
    code,
    noted: only(ledgerOf(work), 'forge-said').map(({ what }) => what),
    runs: runsOf(work).length,
    pulls: forge.state.pulls.map(({ draft }) => draft),
    said: said.map(text => /Ralph\*\*: (\w+(?: \w+)?)/.exec(text)?.[1]),
    isPushedOnce: new Set(trees).size === trees.length,
    labels: forge.labels(12),
  };
}

const ONCE = {
  code: 0,
  noted: ['started', 'question', 'link', 'end'],
  runs: 1,
  pulls: [false],
  said: ['working on', 'a question', 'the pull', 'done'],
  isPushedOnce: true,
  labels: ['ralph', 'ralph:done'],
};

test.each(killPlaces(70, 5))('at request %i, %s it is done', { timeout: 240_000 }, async (nth, when) =>
  expect(await killedAt(nth, when)).toEqual(ONCE),
);

test('while its agent works', { timeout: 240_000 }, async () => {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  const seen = folder('ralph-seen-');
  // Whoever reads it waits for ever.
  execFileSync('mkfifo', [seen.path('pipe')]);
  const waits = 'cat > /dev/null; test -f "$SEEN/go" || { touch "$SEEN/begun"; exec cat "$SEEN/pipe"; }';
  const agent = agentOf(`${waits}\necho new > new.txt`.replaceAll('$SEEN', seen.dir));
  forge.issue(12, 'Make a file');
  const flags = ['--once', '--poll', '0.05', '--check', 'test -f new.txt', '--agent', agent];
  const options = { cwd: work.dir, env: forge.env };
  const first = startRalph(['watch', ...flags], options);
  await vi.waitFor(() => expect(existsSync(seen.path('begun'))).toBe(true), { timeout: 120_000 });
  first.process.kill('SIGKILL');
  await first.finished;
  seen.write('go', '');
  const { code, stderr } = await startRalph(['watch', ...flags], options).finished;
  expect(code, stderr).toBe(0);
  expect([runsOf(work).length, forge.state.pulls.length, forge.said(12).length]).toEqual([1, 1, 3]);
});
