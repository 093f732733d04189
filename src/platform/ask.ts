/**
 * Asks a program of the system that reads, answers, and starts nothing: it is waited for, so there is nothing to watch over. Never for
 * anything that runs code of a project. The server of a fleet is started with it, too: that is to outlive Ralph.
 */
import { spawnSync } from 'node:child_process';
import type { Command } from './confinement.ts';
import { errorCode } from './error-words.ts';

export interface Answered {
  /** 127 when it could not be started, or did not end in time, or answered more than can be held. */
  readonly code: number;
  readonly stdout: Buffer;
  readonly errors: string;
}

const TIMEOUT = 60_000;
const MOST_BYTES = 512 * 1024 * 1024;

export function askProgram(
  { argv: [program, ...args], cwd, env }: Command,
  input: Buffer | string,
): Answered {
  const options = { cwd, env, input, timeout: TIMEOUT, maxBuffer: MOST_BYTES, windowsHide: true };
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  // One that ended without reading what it was given has still said why.
  const failed = errorCode(error) === 'EPIPE' ? undefined : error;
  const errors = failed ? failed.message : stderr.toString('utf8');
  return { code: failed ? 127 : (status ?? 127), stdout: stdout ?? Buffer.alloc(0), errors };
}
