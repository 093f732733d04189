/** A `claude` that is a program of the rig, the folder where it finds what to do, and the turns that it took. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder } from './repo.ts';

export interface ScriptedClaude<Turn> {
  readonly orders: string;
  /** For the PATH. */
  readonly bin: string;
  /** Its turns so far: it writes a line for each. */
  turns(): readonly Turn[];
}

/** `program`: its file in this folder. */
export function scriptedClaude<Turn>(program: string): ScriptedClaude<Turn> {
  const { dir: orders } = folder('scripted-claude-');
  const bin = join(orders, 'bin');
  mkdirSync(bin);
  const script = join(import.meta.dirname, program);
  writeFileSync(join(bin, 'claude'), `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`);
  chmodSync(join(bin, 'claude'), 0o755);
  const log = join(orders, 'turns.log');
  return {
    orders,
    bin,
    turns() {
      const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
      return lines.map(line => JSON.parse(line));
    },
  };
}
