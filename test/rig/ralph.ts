/** Runs the real bin as a user would, in an environment of the test's own making. */
import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { sha256 } from '../../src/platform/hash.ts';
import { folder, gitEnv } from './repo.ts';

export const BIN = join(import.meta.dirname, '../../dist/bin/ralph.cjs');

/** Each test has a home of its own; what was compiled once serves them all. Of each clone: whoever writes removes what others have built. */
export const CODE_CACHE = join(
  tmpdir(),
  `ralph-test-cache-${process.getuid?.() ?? 0}-${sha256(BIN).slice(0, 8)}`,
);

/** What another Ralph has compiled would take the place of it. */
const OTHER_CACHE = `${CODE_CACHE}-others`;

export interface RalphOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Folders before the rest of the PATH, where fake agents live. */
  readonly path?: readonly string[];
  readonly input?: string;
  /** A program that starts it: on another host, with another clock. */
  readonly prefix?: readonly string[];
  /** Another Ralph than the one that was built last. */
  readonly bin?: string;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Resolves when stdout and stderr together hold the text; fails when Ralph ends without it. */
  until(text: string | RegExp): Promise<void>;
}

export function ralph(args: readonly string[], options: RalphOptions): Promise<Finished> {
  return startRalph(args, options).finished;
}

export function startRalph(args: readonly string[], options: RalphOptions): Running {
  const { prefix = [], bin = BIN, env } = options;
  const [program, ...words] = [...prefix, process.execPath, bin, ...args] as [string, ...string[]];
  const child = spawn(program, words, {
    cwd: options.cwd,
    env: testEnv(bin === BIN ? options : { ...options, env: { RALPH_CACHE_DIR: OTHER_CACHE, ...env } }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // One that ends at once reads nothing.
  child.stdin.on('error', () => {}).end(options.input ?? '');
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  child.stdout.setEncoding('utf8').on('data', chunk => {
    stdout += chunk;
    changed();
  });
  child.stderr.setEncoding('utf8').on('data', chunk => {
    stderr += chunk;
    changed();
  });
  const finished = new Promise<Finished>(resolve => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    process: child,
    finished,
    until: text =>
      new Promise((resolve, reject) => {
        const look = () => {
          const said = stdout + stderr;
          if (typeof text === 'string' ? !said.includes(text) : !text.test(said)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        void finished.then(() => reject(new Error(`Ralph ended without "${text}":\n${stdout}\n${stderr}`)));
        look();
      }),
  };
}

export function testEnv({ env = {}, path = [] }: Pick<RalphOptions, 'env' | 'path'>): Record<string, string> {
  const home = folder('ralph-home-').dir;
  const base = gitEnv();
  return {
    ...base,
    HOME: home,
    ...(env.HOME !== undefined && { XDG_STATE_HOME: '' }), // then it is below that home
    RALPH_CACHE_DIR: CODE_CACHE,
    LANG: 'C.UTF-8',
    PATH: [...path, base.PATH].join(delimiter),
    ...env,
  };
}
