/**
 * Asks a program of the system that reads, answers, and starts nothing: it is waited for, so there is nothing to watch over. Never for
 * anything that runs code of a project. The server of a fleet is started with it, too: that is to outlive Ralph.
 */
import { spawnSync } from 'node:child_process';
import type { Command } from './confinement.ts';
import { errorCode } from './error-words.ts';

/** The code of a command that was ended because it took too long. */
export const TOO_LONG = 124;

export interface Answered {
  /** 127 when it could not be started, or answered more than can be held, TOO_LONG when it did not end in time. */
  readonly code: number;
  readonly stdout: Buffer;
  readonly errors: string;
}

const TIMEOUT = 60_000;
const MOST_BYTES = 512 * 1024 * 1024;

export function askProgram(
  { argv: [program, ...args], cwd, env }: Command,
  input: Buffer | string,
  timeout = TIMEOUT,
): Answered {
  const options = { cwd, env, input, timeout, maxBuffer: MOST_BYTES, windowsHide: true };
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  // One that ended without reading what it was given has still said why.
  const failed = errorCode(error) === 'EPIPE' ? undefined : error;
  const errors = failed ? failed.message : stderr.toString('utf8');
  const code = errorCode(failed) === 'ETIMEDOUT' ? TOO_LONG : failed ? 127 : (status ?? 127);
  return { code, stdout: stdout ?? Buffer.alloc(0), errors };
}
