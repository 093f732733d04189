/** The program that host plugins carry, called as `ralph-hook HOST EVENT [run]`: loads what does the work, compiled before. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { loadWithCache } from '../platform/code-cache.ts';

/** Of Node. On an older one hooks fail in ways that nobody has tried; some never end. */
const OLDEST = 20;

const [host = 'auto', event = '', by] = process.argv.slice(2);

if (Number.parseInt(process.versions.node, 10) < OLDEST) {
  // As where there is none: the script before this program knows who has to hear of it. Nothing of the input was read yet.
  const env = { ...process.env, RALPH_OLD_NODE: '1' };
  spawnSync('/bin/sh', [join(import.meta.dirname, 'gate.sh'), host, event], { env, stdio: 'inherit' });
} else answer();

function answer(): void {
  const name = /^[A-Za-z.-]{1,30}$/.exec(event)?.[0] ?? 'other';
  const bundle = join(import.meta.dirname, 'ralph-hook-main.cjs');
  const { runHook } = loadWithCache(bundle, `hook-${name}`, process.env) as typeof import('./main.ts');
  void runHook(host, event, readFileSync(0, 'utf8'), process.env, by === 'run').then(answer => {
    for (let rest = Buffer.from(answer); rest.length > 0; ) rest = rest.subarray(writeSync(1, rest));
  });
}
