/** Codex: a hook that nobody has trusted is skipped without a message. */
import { expect, test } from 'vitest';
import { describeLoop, loopIn, ralphIn } from './in-session.ts';

describeLoop('codex');

test('without trust nothing loops, and `ralph plugin check codex` says so', async () => {
  const { turns, left, session } = await loopIn(
    'codex',
    '/ralph-loop Do it --completion-promise DONE',
    [{ text: 'I am done' }, { text: 'never' }],
    { flags: [] },
  );
  expect([turns, left]).toEqual([1, false]);
  const { code, output } = await ralphIn(session, ['plugin', 'check', 'codex']);
  expect(code).toBe(1);
  expect(output).toContain('Codex skips hooks that you have not trusted');
});

test('the way a skill is called in Codex starts a loop, too', async () => {
  const { turns, left } = await loopIn(
    'codex',
    '$ralph-loop Do it --completion-promise DONE --max-iterations 2',
    [{ text: 'x' }, { text: 'y' }],
  );
  expect([turns, left]).toEqual([2, false]);
});
