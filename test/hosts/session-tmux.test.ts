/** The in-session loop as a person uses it: the real Claude Code in a terminal, typed into. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hostCommand } from '../rig/hosts/host.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import type { Step } from '../rig/model-server/script.ts';

const PLUGIN = join(import.meta.dirname, '../../plugins/claude');
const DONE = '<promise>DONE</promise>';
const KEY = 'dummy-key-0123456789abcdefghij';
const work: Step = { tools: [{ do: 'shell', command: 'echo worked > work.txt' }] };

interface Terminal {
  readonly session: HostSession;
  type(text: string): void;
  press(key: string): void;
  /** Resolves with the screen when it holds the text. */
  until(text: string): Promise<string>;
}

async function claudeInTerminal(steps: readonly Step[]): Promise<Terminal> {
  const session = await hostSession('claude', { steps });
  const { place } = session;
  await place.writeHome('.claude.json', {
    hasCompletedOnboarding: true,
    theme: 'dark',
    bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
    projects: { [place.repo]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  });
  const socket = `ralph-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, ...args], {
      encoding: 'utf8',
      env: { ...place.env, TERM: 'xterm-256color' },
    });
  const env = { ...session.env, ANTHROPIC_API_KEY: KEY, TERM: 'xterm-256color' };
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-x',
    '120',
    '-y',
    '40',
    '-c',
    place.repo,
    'env',
    ...assignments,
    hostCommand('claude'),
    '--dangerously-skip-permissions',
    '--plugin-dir',
    PLUGIN,
  );
  onTestFinished(async () => {
    tmux('kill-server');
    await session.close();
  });
  return {
    session,
    type: text => void tmux('send-keys', '-l', text),
    press: key => void tmux('send-keys', key),
    async until(text) {
      for (;;) {
        const screen = tmux('capture-pane', '-p', '-S', '-200');
        if (screen.replace(/\s+/g, ' ').includes(text)) return screen;
        await new Promise(setImmediate);
      }
    },
  };
}

const stateOf = ({ place }: HostSession) => join(place.repo, '.claude/ralph-loop.local.md');

test('a loop typed into a terminal goes round, and ends with the promise', async () => {
  const { session, type, press, until } = await claudeInTerminal([
    { text: DONE },
    work,
    { text: 'I think I am done' },
    { text: `Really done. ${DONE}` },
  ]);
  await until('bypass permissions');
  type('/ralph:ralph-loop Do it --completion-promise DONE');
  await until('--completion-promise DONE');
  press('Enter');
  await until('PROMISE_ACCEPTED');
  expect(session.server.requests.filter(request => request.kind === 'step').length).toBe(4);
  expect(existsSync(stateOf(session))).toBe(false);
});

test('a loop without a promise ends at its maximum', async () => {
  const { session, type, press, until } = await claudeInTerminal([
    { text: 'still at it', repeat: 'forever' },
  ]);
  await until('bypass permissions');
  type('/ralph:ralph-loop Do it --completion-promise DONE --max-iterations 3');
  await until('--max-iterations 3');
  press('Enter');
  await until('MAX_ITERATIONS_REACHED');
  expect(session.server.requests.filter(request => request.kind === 'step').length).toBe(3);
  expect(existsSync(stateOf(session))).toBe(false);
});

test('Esc stops it, a prompt of the user’s own is not dragged into it, and /cancel-ralph ends it', async () => {
  const { session, type, press, until } = await claudeInTerminal([
    work,
    { text: 'busy', gate: 'busy' },
    { text: 'The answer is 42.' },
    { text: 'never' },
  ]);
  await until('bypass permissions');
  type('/ralph:ralph-loop Do it --completion-promise DONE');
  await until('--completion-promise DONE');
  press('Enter');
  await session.server.request(2, 'step');
  press('Escape');
  await until('Interrupted');
  expect(existsSync(stateOf(session))).toBe(true);
  type('What is six times seven?');
  await until('six times seven?');
  press('Enter');
  await until('The answer is 42.');
  type('/ralph:cancel-ralph');
  await until('/ralph:cancel-ralph');
  press('Enter');
  await until('Cancelled the Ralph loop (was at iteration 1)');
  expect(existsSync(stateOf(session))).toBe(false);
  expect(session.server.requests.filter(request => request.kind !== 'side').length).toBe(3);
});
