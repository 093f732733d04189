/** What a process has printed is read to its end, also by a Ralph that was held up. */
import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { drained } from '../../src/platform/spawn.ts';

test('what is in the pipe is read before the wait for it is over, however long we were held up', async () => {
  const child = spawn('sh', ['-c', 'echo printed'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let read = '';
  child.stdout.on('data', chunk => {
    read += chunk;
  });
  const done = drained(child.stdout);
  // Nothing of ours runs meanwhile, as on a machine that swaps or under SIGSTOP.
  for (const until = Date.now() + 700; Date.now() < until; );
  await done;
  expect(read).toBe('printed\n');
});

test('a stranger that holds the pipe open keeps nobody', async () => {
  const child = spawn('sh', ['-c', 'sleep 30 & echo $!'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let read = '';
  child.stdout.on('data', chunk => {
    read += chunk;
  });
  await drained(child.stdout);
  process.kill(Number(read));
});
