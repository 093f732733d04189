#!/usr/bin/env node
/** The way in. What needs no parser is answered before anything else is loaded. */
import { writeSync } from 'node:fs';
import { rootHelp } from './command-list.ts';
import { VERSION } from './version.ts';

const args = process.argv.slice(2);
const [first] = args;

if (first === '-v' || first === '--version') writeSync(1, `${VERSION}\n`);
else if (
  first === undefined ||
  first === '-h' ||
  first === '--help' ||
  (first === 'help' && args.length === 1)
)
  writeSync(1, rootHelp());
else {
  import('./main.ts').then(async ({ main }) => {
    process.exitCode = await main(args);
  });
}
