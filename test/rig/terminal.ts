/** A real terminal, typed into as a person would: a tmux server of its own with one pane. */
import { execFileSync, spawnSync } from 'node:child_process';
import { vi } from 'vitest';

export interface Terminal {
  /** Types a text and leaves it there. */
  type(text: string): void;
  /** Presses a key by tmux's name for it. */
  press(key: string): void;
  /** What is on the screen and a little above, as lines. */
  screen(): string;
  /** The same with its colors. */
  painted(): string;
  /** The same, with lines that the terminal had to break as one. */
  unbroken(): string;
  /** Resolves with the screen when it holds the text, wherever the lines were broken. */
  until(text: string | RegExp): Promise<string>;
  /** Ends the program and everything in its terminal. */
  close(): void;
}

export interface TerminalOptions {
  readonly cwd: string;
  /** All that the program gets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly argv: readonly string[];
  readonly columns?: number;
  readonly rows?: number;
}

/** tmux is not everywhere; CI has it. */
export function hasTerminal(): boolean {
  return ['tmux', 'dash'].every(name => !spawnSync(name, ['-c', 'exit'], { stdio: 'ignore' }).error);
}

/** Milliseconds. Far more than anything needs on a busy machine; what is not there then never comes. */
export const PATIENCE = 180_000;

export function startTerminal({ cwd, env, argv, columns = 120, rows = 40 }: TerminalOptions): Terminal {
  const socket = `ralph-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, ...args], {
      encoding: 'utf8',
      env: { ...env, TERM: 'xterm-256color' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const size = ['-x', String(columns), '-y', String(rows)];
  // tmux has a name of its own for the terminal, which the program would not find everywhere.
  const words = ['env', 'TERM=xterm-256color', 'COLORTERM=truecolor', ...argv];
  tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', cwd, ...words);
  tmux('set-option', '-g', 'remain-on-exit', 'on');
  const screen = () => tmux('capture-pane', '-p', '-S', '-300');
  return {
    type: text => void tmux('send-keys', '-l', text),
    press: key => void tmux('send-keys', key),
    screen,
    painted: () => tmux('capture-pane', '-p', '-e', '-S', '-300'),
    unbroken: () => tmux('capture-pane', '-p', '-J', '-S', '-300'),
    async until(wanted) {
      const isThere = (text: string) =>
        typeof wanted === 'string' ? text.replace(/[\s│┃|]+/g, ' ').includes(wanted) : wanted.test(text);
      // A terminal tells nobody when it has changed.
      return vi.waitFor(
        () => {
          const text = screen();
          if (!isThere(text)) throw new Error(`not on the screen: ${wanted}\n${text}`);
          return text;
        },
        { timeout: PATIENCE, interval: 100 },
      );
    },
    close: () => void tmux('kill-server'),
  };
}
