/** The program that host plugins carry: one self-contained file, called as `ralph-hook HOST EVENT`. */
import { readFileSync, writeSync } from 'node:fs';
import { runHook } from './main.ts';

const [host = 'claude', event = ''] = process.argv.slice(2);
void runHook(host, event, readFileSync(0, 'utf8'), process.env).then(answer => {
  for (let rest = Buffer.from(answer); rest.length > 0; ) rest = rest.subarray(writeSync(1, rest));
});
