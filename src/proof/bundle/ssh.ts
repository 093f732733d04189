/** Signatures by OpenSSH: `ssh-keygen -Y`, so that nobody needs a key for Ralph alone. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import type { Env } from '../../domain/text/secret-values.ts';
import { type Answered, askProgram } from '../../platform/ask.ts';
import { errorLine } from '../../platform/error-words.ts';
import { readIfThere } from '../../platform/files.ts';
import { sha256Base64 } from '../../platform/hash.ts';
import { findProgram } from '../../platform/programs.ts';
import type { Signature } from './envelope.ts';

const NAMESPACE = 'ralph-proof@v1';

export interface SshWorld {
  readonly cwd: string;
  readonly env: Env;
}

/** `key`: a private key, or a public one whose private part the user's ssh-agent has. */
export function sign(bytes: Buffer, key: string, world: SshWorld): Signature | Problem {
  const agent = key.endsWith('.pub') ? ['-U'] : [];
  const done = keygen(['-q', '-Y', 'sign', ...agent, '-f', key, '-n', NAMESPACE], bytes, world);
  if (isProblem(done)) return done;
  const sig = done.stdout
    .toString('utf8')
    .split('\n')
    .filter(line => !line.startsWith('-----'))
    .join('')
    .trim();
  const keyid = fingerprint(sig);
  if (done.code === 0 && keyid !== undefined) return { keyid, sig };
  const fix = 'a key with a passphrase must be in your ssh-agent; name its .pub file then';
  return {
    where: key,
    what: `ssh-keygen did not sign: ${errorLine(done.errors) || `exit code ${done.code}`}`,
    fix,
  };
}

export type SignatureAnswer =
  | { readonly kind: 'holds'; readonly who: string }
  | { readonly kind: 'fails' | 'unknown'; readonly why: string };

export interface Signers {
  /** A file as `ssh-keygen` knows it: who may sign, a line each. */
  readonly allowed: string;
  /** Only this one of them. */
  readonly who: string | undefined;
}

export function verifySignature(
  bytes: Buffer,
  { keyid, sig }: Signature,
  signers: Signers,
  world: SshWorld,
): SignatureAnswer {
  const key = keyIn(sig);
  if (!key || fingerprint(sig) !== keyid)
    return { kind: 'fails', why: 'it names another key than the one that it was made with' };
  const folder = mkdtempSync(join(tmpdir(), 'ralph-verify-'));
  try {
    const file = join(folder, 'sig');
    writeFileSync(file, armored(sig), { mode: 0o600 });
    const who = signers.who ?? principalOf({ file, key, allowed: signers.allowed }, world);
    if (typeof who !== 'string') return who;
    const flags = ['-Y', 'verify', '-f', signers.allowed, '-I', who, '-n', NAMESPACE, '-s', file];
    const done = keygen(flags, bytes, world);
    if (isProblem(done)) return { kind: 'unknown', why: done.what };
    if (done.code === 0) return { kind: 'holds', who };
    return {
      kind: 'fails',
      why: errorLine(done.stdout.toString('utf8') + done.errors) || `exit code ${done.code}`,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whose key it is, by the user's file. Only a guess where it is plain to see, which saves a process: `verify` decides. */
function principalOf(
  { file, key, allowed }: { readonly file: string; readonly key: Buffer; readonly allowed: string },
  world: SshWorld,
): string | SignatureAnswer {
  const guess = plainPrincipal(allowed, key);
  if (guess !== undefined) return guess;
  const done = keygen(['-Y', 'find-principals', '-s', file, '-f', allowed], Buffer.alloc(0), world);
  if (isProblem(done)) return { kind: 'unknown', why: done.what };
  const [who = ''] = done.stdout.toString('utf8').trim().split('\n');
  if (done.code === 0 && who !== '') return who;
  return { kind: 'fails', why: `${allowed} names nobody with this key` };
}

function armored(sig: string): string {
  const lines = sig.match(/.{1,70}/g) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n');
}

/** The one that the first line with this key names, if it is one name and no pattern. */
function plainPrincipal(allowed: string, key: Buffer): string | undefined {
  const line = readIfThere(allowed)
    ?.split('\n')
    .find(each => each.includes(` ${key.toString('base64')}`));
  return line === undefined ? undefined : /^[\w.@+-]+(?= )/.exec(line)?.[0];
}

/** Of the public key in an SSHSIG; undefined: it is none. */
export function fingerprint(sig: string): string | undefined {
  const key = keyIn(sig);
  return key && `SHA256:${sha256Base64(key)}`;
}

function keyIn(sig: string): Buffer | undefined {
  const blob = Buffer.from(sig, 'base64');
  if (blob.subarray(0, 6).toString('latin1') !== 'SSHSIG' || blob.length < 14) return undefined;
  const length = blob.readUInt32BE(10);
  const key = blob.subarray(14, 14 + length);
  return key.length === length && length > 0 ? key : undefined;
}

function keygen(args: readonly string[], input: Buffer, { cwd, env }: SshWorld): Answered | Problem {
  const program = findProgram('ssh-keygen', env, cwd);
  return isProblem(program) ? program : askProgram({ argv: [program, ...args], cwd, env }, input);
}
