/** A real agent CLI in a terminal of its own, typed into as a person would. */
import { execFileSync } from 'node:child_process';
import { hostCommand } from './host.ts';
import type { HostSession } from './session.ts';
import { TERMINALS, type TerminalHost } from './terminals.ts';

export interface Terminal {
  /** Types a text and leaves it there. */
  type(text: string): void;
  /** Presses a key by tmux's name for it. */
  press(key: string): void;
  /** What is on the screen and a little above, as lines. */
  screen(): string;
  /** Resolves with the screen when it holds the text, wherever the lines were broken. */
  until(text: string | RegExp): Promise<string>;
  /** Ends the CLI and everything in its terminal. */
  close(): void;
}

/** Milliseconds. Far more than any of them needs on a busy machine; what is not there then never comes. */
export const PATIENCE = 40_000;

export async function openTerminal(session: HostSession, more: readonly string[] = []): Promise<Terminal> {
  const { host, place, env, flags } = session;
  const terminal = TERMINALS[host.name as TerminalHost];
  await terminal.setUp?.(session);
  const socket = `ralph-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, ...args], {
      encoding: 'utf8',
      env: { ...place.env, TERM: 'xterm-256color' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const inside = { ...env, ...terminal.env, TERM: 'xterm-256color', COLORTERM: 'truecolor' };
  const words = Object.entries(inside).map(([name, value]) => `${name}=${value}`);
  const argv = [hostCommand(host.name), ...terminal.argv(session, flags), ...more];
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
    ...words,
    ...argv,
  );
  tmux('set-option', '-g', 'remain-on-exit', 'on');
  const screen = () => tmux('capture-pane', '-p', '-S', '-300');
  return {
    type: text => void tmux('send-keys', '-l', text),
    press: key => void tmux('send-keys', key),
    screen,
    async until(wanted) {
      const isThere = (text: string) =>
        typeof wanted === 'string' ? text.replace(/[\s│┃|]+/g, ' ').includes(wanted) : wanted.test(text);
      for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
        const text = screen();
        if (isThere(text)) return text;
        await new Promise(resolve => setTimeout(resolve, 100));
      }
      throw new Error(`never on the screen: ${wanted}\n${screen()}`);
    },
    close: () => void tmux('kill-server'),
  };
}
