/** What the user and the agent read when a loop inside a session begins. */
import { expect, test } from 'vitest';
import { runHook } from '../../src/hooks/main.ts';
import { repo } from '../rig/repo.ts';

test('seed 000: the strict requirements for the agent, and how to monitor the loop for the user', async () => {
  const { dir } = repo();
  const input = {
    session_id: 's',
    prompt_id: 'p',
    cwd: dir,
    command_name: 'ralph:ralph-loop',
    command_args: 'Fix it --completion-promise DONE',
  };
  const env = { ...process.env, CLAUDE_PROJECT_DIR: dir };
  const answer = JSON.stringify(await runHook('claude', 'UserPromptExpansion', JSON.stringify(input), env));
  for (const words of [
    'STRICT REQUIREMENTS (DO NOT VIOLATE):',
    'The statement MUST be completely and unequivocally TRUE',
    'Do NOT lie even if you think you should exit',
    'To monitor: head -20 .claude/ralph-loop.local.md',
  ])
    expect(answer).toContain(words);
});
