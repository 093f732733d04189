/** The time that the checks of one stop have: together, not a part for each. */
import { expect, test } from 'vitest';
import type { HookInput } from '../../src/agents/dialect.ts';
import { verify } from '../../src/hooks/verify.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { findSession } from '../../src/store/session-file.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const INPUT = { sessionId: 's1', lastWords: 'done' } as HookInput;

/** Of a session with these checks, when they have so many seconds. */
async function verified(checks: readonly string[], budget: number, passed = 0) {
  const project = repo();
  const flags = checks.map(check => `--check "${check}"`).join(' ');
  const command = { command_name: 'ralph:ralph-loop', command_args: `x --completion-promise DONE ${flags}` };
  await ralph(['hook', 'claude', 'UserPromptExpansion'], {
    cwd: project.dir,
    env: { CLAUDE_PROJECT_DIR: project.dir },
    input: JSON.stringify({ session_id: 's1', prompt_id: 'p1', cwd: project.dir, ...command }),
  });
  const file = findSession(project.dir, 's1');
  if (!file) throw new Error('the loop did not start');
  const effects = { isPeek: false, record: () => {} };
  const began = systemClock.ticks() - passed * 1_000;
  const { results } = await verify(
    { root: project.dir, input: INPUT, file, effects, began },
    file.state,
    budget,
  );
  return results;
}

test('nineteen checks do not get a nineteenth each: one may take longer, and all are run', async () => {
  const others = Array.from({ length: 18 }, () => 'true');
  const results = await verified(['sleep 3', ...others], 38);
  expect(results.map(({ passed }) => passed)).toEqual(Array.from({ length: 19 }, () => true));
});

test('what the time was not enough for is red, and says so', async () => {
  const [first, second, third] = await verified(['true', 'sleep 60', 'true'], 2);
  expect(first?.passed).toBe(true);
  expect([second?.passed, second?.timedOut]).toEqual([false, true]);
  expect(third).toMatchObject({ passed: false, timedOut: true });
  expect(third?.output).toContain('all checks of a session have 2 seconds together');
});

test('what came before them in the hook is of their time: the host does not wait longer', async () => {
  const [only] = await verified(['true'], 38, 40);
  expect(only).toMatchObject({ passed: false, timedOut: true });
});
