#!/usr/bin/env node
/** The way in. What needs no parser is answered before anything else is loaded. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblem } from '../domain/problem.ts';
import { loadWithCache } from '../platform/code-cache.ts';
import { refuseWindows } from '../platform/windows.ts';
import { rootHelp } from './command-list.ts';
import { VERSION } from './version.ts';

const args = process.argv.slice(2);
const [first] = args;
const refused = refuseWindows();

if (first === '-v' || first === '--version') writeSync(1, `${VERSION}\n`);
else if (
  first === undefined ||
  first === '-h' ||
  first === '--help' ||
  (first === 'help' && args.length === 1)
)
  writeSync(1, rootHelp());
else if (refused) {
  writeSync(2, `ralph: ${formatProblem(refused)}\n`);
  process.exitCode = 2;
} else {
  const bundle = join(import.meta.dirname, 'main.cjs');
  const name = /^[a-z]+$/.exec(first)?.[0] ?? 'other';
  const { main } = loadWithCache(bundle, name, process.env) as typeof import('./main.ts');
  void main(args).then(code => {
    process.exitCode = code;
  });
}
