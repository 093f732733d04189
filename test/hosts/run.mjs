#!/usr/bin/env node
// Runs the host tests in a network namespace that has only loopback, where the machine allows one.
//   node test/hosts/run.mjs [vitest's arguments]
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const LOOPBACK = 'ip link set lo up';
const vitest = [
  process.execPath,
  fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url)),
  ...['run', '--config', fileURLToPath(new URL('vitest.config.ts', import.meta.url))],
  ...process.argv.slice(2),
];

const unshare = [['-n'], ['-r', '-n']].find(
  flags => spawnSync('unshare', [...flags, 'sh', '-c', LOOPBACK]).status === 0,
);
if (unshare === undefined) {
  console.error(
    'No network namespace here ("unshare -n" and "ip" are needed): the agents could reach the network.',
  );
}
const [command, ...args] =
  unshare === undefined
    ? vitest
    : ['unshare', ...unshare, 'sh', '-c', `${LOOPBACK} && exec "$@"`, 'sh', ...vitest];
const env = { ...process.env, RALPH_HOSTS_NETWORK: unshare === undefined ? 'open' : 'loopback' };
const child = spawn(command, args, { stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('error', error => {
  console.error(`could not start the host tests: ${error.message}`);
  process.exitCode = 1;
});
child.on('close', code => {
  process.exitCode = code ?? 1;
});
