/** A `claude` that is a program of the rig, the folder where it finds what to do, and the turns that it took. */
import { existsSync, readFileSync } from 'node:fs';
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
  const { dir: orders, path, script } = folder('scripted-claude-');
  const bin = path('bin');
  script('bin/claude', `exec "${process.execPath}" "${join(import.meta.dirname, program)}" "$@"`);
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
