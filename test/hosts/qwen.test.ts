import { expect, test } from 'vitest';
import { errorStep, hostSuite, open } from './suite.ts';

hostSuite('qwen', {
  errors: {
    401: { exit: 1, requests: 1, event: 'result', says: '[API Error: 401 scripted words 401]' },
    429: { exit: 1, requests: 7, event: 'result', says: '[API Error: 429 scripted words 429]' },
  },
});

test('qwen asks again after one error 500', async ({ signal }) => {
  const session = await open('qwen', { steps: [{ ...errorStep(500), repeat: 1 }, { text: 'Recovered.' }] });
  const { code, events } = await session.run('Do the scripted task.', signal);
  expect({ code, reply: session.host.reply(events), requests: session.server.requests.length }).toEqual({
    code: 0,
    reply: 'Recovered.',
    requests: 2,
  });
});
