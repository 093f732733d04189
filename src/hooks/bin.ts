/** The program that host plugins carry: one self-contained file, called as `ralph-hook HOST EVENT [run]`. */
import { readFileSync, writeSync } from 'node:fs';
import { runHook } from './main.ts';

const [host = 'claude', event = '', by] = process.argv.slice(2);
void runHook(host, event, readFileSync(0, 'utf8'), process.env, by === 'run').then(answer => {
  for (let rest = Buffer.from(answer); rest.length > 0; ) rest = rest.subarray(writeSync(1, rest));
});
