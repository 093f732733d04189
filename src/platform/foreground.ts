/** Runs a program in the user's own terminal, as a shell would, and waits for it. It has the keyboard; Ctrl-C is for it alone. */
import { spawn } from 'node:child_process';
import { errorCode } from './error-words.ts';

export interface ForegroundEnd {
  readonly code: number | null;
  /** Why it could not be started. */
  readonly notStarted?: string;
}

export function runInForeground(
  argv: readonly [string, ...string[]],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<ForegroundEnd> {
  const [command, ...args] = argv;
  return new Promise(resolve => {
    // Not in a group of its own: only the terminal's foreground group may read from it.
    const child = spawn(command, args, { cwd, env, stdio: 'inherit' });
    const keepOn = () => {};
    const end = () => void child.kill('SIGTERM');
    process.on('SIGINT', keepOn).on('SIGTERM', end).on('SIGHUP', end);
    const done = (result: ForegroundEnd) => {
      process.off('SIGINT', keepOn).off('SIGTERM', end).off('SIGHUP', end);
      resolve(result);
    };
    child.once('error', error => done({ code: null, notStarted: errorCode(error) ?? error.message }));
    child.once('exit', code => done({ code }));
  });
}

/** false: there is no program for it. */
export function openUrl(url: string, env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(opener, [url], { env: { ...env }, detached: true, stdio: 'ignore' });
  return new Promise(resolve => {
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
