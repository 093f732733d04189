import { expect, test } from 'vitest';
import { codexFlags } from '../rig/hosts/codex.ts';
import { runHost } from '../rig/hosts/run.ts';
import { hostSuite, open, toolScript } from './suite.ts';

hostSuite('codex', {
  errors: {
    401: {
      exit: 1,
      requests: 1,
      event: 'turn.failed',
      says: 'unexpected status 401 Unauthorized: scripted words 401',
    },
    429: {
      exit: 1,
      requests: 1,
      event: 'turn.failed',
      says: 'exceeded retry limit, last status: 429 Too Many Requests',
    },
    500: { exit: 1, requests: 1, event: 'turn.failed', says: 'We’re currently experiencing high demand' },
  },
});

test('a model in code mode runs the same script and reports the same events', async ({ signal }) => {
  const session = await open('codex', toolScript);
  const argv = session.host.argv(session.place, codexFlags(session.server.url, 'gpt-6.1-sol'));
  const { code, events } = await runHost(argv, {
    place: session.place,
    env: session.env,
    stdin: 'Go.',
    signal,
  });
  const items = events.flatMap(event => {
    const { type, item } = event as { type: string; item?: { type: string } };
    return type === 'item.completed' ? [item?.type] : [];
  });
  expect({
    code,
    tools: session.server.requests[0]?.toolNames[0],
    items,
    problems: session.server.problems,
  }).toEqual({
    code: 0,
    tools: 'exec',
    items: ['reasoning', 'agent_message', 'command_execution', 'file_change', 'agent_message'],
    problems: [],
  });
});
