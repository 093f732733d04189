// @ts-check
// Everything that happens, as it happens, and a way to stop it. Run it in a git repository: node examples/events.mjs
import { createLoop, defineAgent } from '@ralph-loop/ralph';

const agent = defineAgent('talker', async ({ iteration }) => `iteration ${iteration}: I am thinking`);
const stop = new AbortController();
const loop = createLoop({ task: 'Think.', checks: ['false'] }, { agent, signal: stop.signal });

const running = loop.run();
for await (const event of loop.events) {
  if (event.type === 'agent' && event.event.kind === 'text') console.log(event.event.text);
  if (event.type === 'iteration-ended' && event.iteration === 2) stop.abort();
}
console.log((await running).stopReason);
