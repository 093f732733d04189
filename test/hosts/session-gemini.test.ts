/** Gemini CLI: the one host that can start every iteration with a cleared context. */
import { expect, test } from 'vitest';
import { DONE, describeLoop, loopIn, work } from './in-session.ts';

describeLoop('gemini');

test('with RALPH_CLEAR_CONTEXT=1 a continuation brings the rules and the task, and nothing of what was said', async () => {
  const { turns, left, session } = await loopIn(
    'gemini',
    '/ralph-loop Do it --completion-promise DONE',
    [work, { text: 'Words to be forgotten' }, { text: DONE }],
    { env: { RALPH_CLEAR_CONTEXT: '1' } },
  );
  expect([turns, left]).toEqual([3, false]);
  const last = session.server.requests.at(-1)?.body ?? '';
  expect(last).not.toContain('Words to be forgotten');
  expect(last).toContain('This is a Ralph loop');
  expect(last).toContain('you did not output the completion promise');
});
