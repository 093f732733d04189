/** Copilot CLI: no words in the hook's input, a transcript that comes late, a cap that cannot be lifted. */
import { expect, test } from 'vitest';
import { describeLoop, loopIn } from './in-session.ts';

describeLoop('copilot');

test('its cap ends a loop after 8 refused stops without a tool; the agent was told, and the loop can be woken', async () => {
  const { turns, left, sent } = await loopIn(
    'copilot',
    '/ralph-loop Do it --completion-promise DONE',
    Array.from({ length: 20 }, (_, n) => ({ text: `not yet ${n}` })),
  );
  expect([turns, left]).toEqual([9, true]);
  expect(sent[7]).toContain(
    'Copilot CLI ends a loop after 8 stops in a row without a tool call; this was number 7',
  );
});
