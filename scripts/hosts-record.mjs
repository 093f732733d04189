#!/usr/bin/env node
// Writes the recordings in test/streams, from the installed agent CLIs and a scripted model on loopback.
//   node scripts/hosts-record.mjs [-t "codex: tool"]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const run = fileURLToPath(new URL('../test/hosts/run.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [run, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, RALPH_RECORD: '1' },
});
if (status === 0) {
  console.log(
    'Now: UPDATE_STREAMS=1 npx vitest run test/agents, and read the difference before you keep it.',
  );
}
process.exitCode = status ?? 1;
