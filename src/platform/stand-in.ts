/** A script that answers where this Node cannot. */
import { spawnSync } from 'node:child_process';

/** Lets a script answer in place of this program, which must not have read any of its input, as where there is no Node at all. */
export function answerWithout(script: string, args: readonly string[]): void {
  const env = { ...process.env, RALPH_OLD_NODE: '1' };
  spawnSync('/bin/sh', [script, ...args], { env, stdio: 'inherit' });
}
