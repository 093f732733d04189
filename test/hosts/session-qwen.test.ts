/** Qwen Code: its cap counts every refused stop of a prompt. */
import { expect, test } from 'vitest';
import { describeLoop, loopIn, work } from './in-session.ts';

describeLoop('qwen');

test('its cap ends a loop at the 8th stop, tools or not; the loop is still there to be woken', async () => {
  const steps = Array.from({ length: 20 }, (_, n) => (n === 3 ? work : { text: `not yet ${n}` }));
  const { turns, left } = await loopIn('qwen', '/ralph-loop Do it --completion-promise DONE', steps);
  // Eight stops, the last of which went through, and a turn with a tool.
  expect([turns, left]).toEqual([9, true]);
});

test('a higher cap lets a loop of ten go to its end', async () => {
  const { turns, left } = await loopIn(
    'qwen',
    '/ralph-loop Do it --completion-promise DONE --max-iterations 10',
    Array.from({ length: 12 }, (_, n) => ({ text: `not yet ${n}` })),
    { env: { QWEN_CODE_STOP_HOOK_BLOCK_CAP: '100' } },
  );
  expect([turns, left]).toEqual([10, false]);
});
