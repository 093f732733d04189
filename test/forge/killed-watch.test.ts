/** `ralph watch` is killed at each request that it sends: an issue gets one run, one pull request and each comment once. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { agentOf } from '../rig/ended-run.ts';
import { createForge } from '../rig/forge.ts';
import { type Kill, killedAt } from '../rig/killed.ts';
import { ledgerOf, only, runsOf } from '../rig/ledger.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { killPlaces } from '../rig/thorough.ts';

/** Asks first, and works with the answer. */
const AGENT = `
case "$(cat)" in
  *"Answer: blue"*) echo new > new.txt;;
  *) echo "<question>Which colour?</question>"; exit 0;;
esac`;

test.each(killPlaces(90, 3))('at request %i, %s it is done', { timeout: 240_000 }, async (...kill: Kill) => {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  forge.issue(12, 'Make a file');
  forge.answers(12, 'blue');
  const flags = ['--once', '--ready', '--poll', '0.05', '--check', 'test -f new.txt'];
  const args = ['watch', ...flags, '--agent', agentOf(AGENT)];
  const { code, stdout, stderr } = await killedAt(forge, kill, args, { cwd: work.dir, env: forge.env });
  expect(
    {
      ...{ code, runs: runsOf(work).length, ...forge.once('ralph/issue-12') },
      noted: only(ledgerOf(work), 'forge-said').map(({ what }) => what),
      ...{ said: forge.spoken(12), labels: forge.labels(12) },
    },
    stdout + stderr,
  ).toEqual({
    ...{ code: 0, runs: 1, pulls: [false], replies: 0, isPushedOnce: true },
    noted: ['started', 'question', 'link', 'end'],
    said: ['working on', 'a question', 'the pull', 'done'],
    labels: ['ralph', 'ralph:done'],
  });
});

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
