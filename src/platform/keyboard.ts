/**
 * Single keys from the user's terminal. However the program ends, the terminal is as it was: at its end, after an error, after a signal
 * that ends it, and while it is stopped by Ctrl-Z. Ctrl-C and its like do what they do in every terminal.
 */
import { readFileSync } from 'node:fs';
import { askProgram } from './ask.ts';

export interface Keyboard {
  close(): void;
}

/** undefined: there is no keyboard, or another program has it. `onTyped` gets what was sent at once. */
export function openKeyboard(onTyped: (typed: string) => void): Keyboard | undefined {
  const { stdin } = process;
  if (stdin.isTTY !== true || !isForeground()) return undefined;
  // A terminal that is gone is no error here: its hang-up is a signal.
  stdin.on('error', () => {});
  stdin.setEncoding('utf8');
  const read = (typed: string) => {
    const signal = typed.includes('\x03') ? 'SIGINT' : SIGNALS[typed];
    // To the whole group, as the terminal would.
    if (signal) process.kill(0, signal);
    else onTyped(typed);
  };
  const take = () => {
    if (!isForeground()) return;
    restoreTerminal();
    stdin.setRawMode(true);
    stdin.on('data', read).resume();
  };
  const restoreTerminal = () => {
    stdin.off('data', read).pause();
    stdin.setRawMode(false);
  };
  const stop = () => {
    restoreTerminal();
    process.kill(process.pid, 'SIGSTOP');
  };
  const quit = () => {
    close();
    process.kill(process.pid, 'SIGQUIT');
  };
  const close = () => {
    process.off('exit', restoreTerminal).off('SIGTSTP', stop).off('SIGCONT', take).off('SIGQUIT', quit);
    restoreTerminal();
  };
  process.on('exit', restoreTerminal).on('SIGTSTP', stop).on('SIGCONT', take).on('SIGQUIT', quit);
  take();
  return { close };
}

const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = { '\x1a': 'SIGTSTP', '\x1c': 'SIGQUIT' };

/** Whoever reads from a terminal in the background is stopped by it. */
function isForeground(): boolean {
  if (process.platform !== 'linux') {
    const { stdout } = askProgram(
      { argv: ['/bin/ps', '-o', 'stat=', '-p', String(process.pid)], cwd: '/', env: {} },
      '',
    );
    return stdout.includes('+');
  }
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return group === foreground;
}
