// The hook program, loaded once and called by messages: hooks of several processes at the very same moment, without the time of a start.
import { createRequire } from 'node:module';

const main = new URL('../../plugins/claude/bin/ralph-hook-main.cjs', import.meta.url);
const { runHook } = createRequire(import.meta.url)(main.pathname);

process.on('message', async ({ at, event, input, host = 'claude' }) => {
  while (Date.now() < at); // both begin in the same millisecond
  process.send(await runHook(host, event, JSON.stringify(input), process.env));
});
