/** Runs a short command to its end and keeps what it printed. For git and its like, not for agents and checks. */
import { TOO_LONG } from './ask.ts';
import type { Confinement } from './confinement.ts';
import { startConfined } from './process.ts';

export interface Captured {
  /** 127 when it could not be started, TOO_LONG when it ran too long. */
  readonly code: number;
  readonly stdout: string;
  /** stdout and stderr together, as they came. */
  readonly output: string;
}

export interface CaptureOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** Bytes that are kept; 4 MiB by default. */
  readonly most?: number;
  readonly isQuiet?: boolean;
  /** The wall it runs behind. */
  readonly confinement?: Confinement | undefined;
  /** Gets the number of its process. */
  readonly started?: (pid: number | undefined) => void;
  /** What it reads. */
  readonly input?: Buffer | undefined;
}

const MAX_KEPT = 4 * 1024 * 1024;

export async function capture(
  argv: readonly [string, ...string[]],
  options: CaptureOptions,
): Promise<Captured> {
  const out: Buffer[] = [];
  const all: Buffer[] = [];
  let kept = 0;
  const keep = (chunk: Buffer, ...into: Buffer[][]) => {
    kept += chunk.length;
    if (kept <= (options.most ?? MAX_KEPT)) for (const list of into) list.push(chunk);
  };
  const child = await startConfined<'aborted'>(options.confinement, {
    argv,
    cwd: options.cwd,
    env: options.env,
    stdout: chunk => keep(chunk, out, all),
    stderr: chunk => keep(chunk, all),
    isQuiet: options.isQuiet ?? false,
    ...(options.timeout && { timeout: options.timeout }),
    ...(options.input && { input: options.input }),
  });
  options.started?.(child.pid);
  // Asked first: a git that is killed leaves its locks behind.
  const abort = () => child.stop('aborted', 'briefly');
  options.signal?.addEventListener('abort', abort);
  if (options.signal?.aborted) abort(); // while the wall was put up
  const { end, endedBy } = await child.done;
  options.signal?.removeEventListener('abort', abort);
  const code =
    endedBy === 'timeout'
      ? TOO_LONG
      : end.kind === 'exited'
        ? end.code
        : end.kind === 'signalled'
          ? 130
          : 127;
  const printed = Buffer.concat(all).toString('utf8');
  return {
    code,
    stdout: Buffer.concat(out).toString('utf8'),
    output: end.kind === 'not-started' ? `${argv[0]}: cannot be started (${end.code})` : printed,
  };
}
