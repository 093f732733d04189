/** The program that host plugins carry, called as `ralph-hook HOST EVENT [run]`: loads what does the work, compiled before. */
import { readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { loadWithCache } from '../platform/code-cache.ts';
import { tooOldNode } from '../platform/node-version.ts';
import { answerWithout } from '../platform/stand-in.ts';

const [host = 'auto', event = '', by] = process.argv.slice(2);

// On an older Node hooks fail in ways that nobody has tried, and some never end. The script before this program knows who has to hear of it.
if (tooOldNode() !== undefined) answerWithout(join(import.meta.dirname, 'gate.sh'), [host, event]);
else answer();

function answer(): void {
  const name = /^[A-Za-z.-]{1,30}$/.exec(event)?.[0] ?? 'other';
  const bundle = join(import.meta.dirname, 'ralph-hook-main.cjs');
  const { runHook } = loadWithCache(bundle, `hook-${name}`, process.env) as typeof import('./main.ts');
  void runHook(host, event, readFileSync(0, 'utf8'), process.env, by === 'run').then(answer => {
    for (let rest = Buffer.from(answer); rest.length > 0; ) rest = rest.subarray(writeSync(1, rest));
  });
}
