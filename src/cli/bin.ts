#!/usr/bin/env node
/** The way in. What needs no parser is answered before anything else is loaded. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblem } from '../domain/text/problem.ts';
import { loadWithCache } from '../platform/code-cache.ts';
import { refuseWindows, tooOldNode } from '../platform/node-version.ts';
import { VERSION } from '../platform/version.ts';
import { rootHelp } from './command-list.ts';

const args = process.argv.slice(2);
const [first] = args;
const tooOld = tooOldNode();
const refused = refuseWindows();

if (first === '-v' || first === '--version') writeSync(1, `${VERSION}\n`);
else if (tooOld !== undefined) {
  writeSync(2, `${tooOld}\n`);
  process.exitCode = 2;
} else if (
  first === undefined ||
  first === '-h' ||
  first === '--help' ||
  (first === 'help' && (args.length === 1 || args[1] === 'all'))
)
  writeSync(1, rootHelp(args[1] === 'all'));
else if (refused) {
  writeSync(2, `ralph: ${formatProblem(refused)}\n`);
  process.exitCode = 2;
} else {
  const bundle = join(import.meta.dirname, 'main.cjs');
  const name = /^[a-z]+$/.exec(first)?.[0] ?? 'other';
  // Whoever takes everything away leaves nothing behind.
  const { main } = loadWithCache(
    bundle,
    name,
    process.env,
    name !== 'uninstall',
  ) as typeof import('./main.ts');
  void main(args).then(code => {
    process.exitCode = code;
  });
}
