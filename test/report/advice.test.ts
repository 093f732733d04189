/** What to do next follows what is known: the error of the agent, what the sandbox stopped, who the user is. */
import { expect, test } from 'vitest';
import { claude } from '../../src/agents/claude/adapter.ts';
import { codex } from '../../src/agents/codex/adapter.ts';
import { gemini } from '../../src/agents/gemini/adapter.ts';
import { outcomeOf } from '../../src/agents/invoke.ts';
import type { Evidence } from '../../src/domain/run/evidence.ts';
import { judge } from '../../src/domain/run/verdict.ts';
import { createTurnFold } from '../../src/domain/turn/turn.ts';
import { endedRun, nextSteps } from '../../src/report/ending-words.ts';
import { loopResult } from './events.ts';

const RUN = {
  rule: { kind: 'response', text: 'DONE' },
  limits: { maxIterations: 9, maxFailures: 1, stuckAfter: 3 },
  success: 'promise_accepted',
  minToolCalls: 1,
} as const;

/** The first step after a turn that failed with this on its stderr. */
function firstStep(adapter: typeof claude, stderr: string, more: Partial<Evidence> = {}): string {
  const end = { kind: 'exited', code: 1 } as const;
  const outcome = outcomeOf({
    adapter,
    mode: 'stream',
    turn: createTurnFold({ rule: RUN.rule, prices: {} }).turn(),
    end,
    stderr,
  });
  const verdict = judge(RUN, {
    ...{ outcome, claim: { found: false }, checks: [], violations: [], treeChanged: false, repeats: 0 },
    spent: { iterations: 1, failures: 1, toolCalls: 0, usage: { costSource: 'unknown' }, elapsed: 1 },
    ...more,
  });
  if (verdict.kind !== 'stop') throw new Error('it continues');
  const { reason, detail = null } = verdict;
  const result = loopResult({ success: false, stopReason: reason as 'agent_failed', detail });
  return nextSteps(endedRun(result, 'loop', {}))[0];
}

const ROOT = '--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons';

test.each([
  [
    'no login',
    claude,
    'Invalid API key · Please run /login',
    'Log in with `claude auth login`, or set ANTHROPIC_API_KEY',
  ],
  [
    'no login in Codex',
    codex,
    'ERROR: 401 Unauthorized\nbye',
    'Log in with `codex login`, or set OPENAI_API_KEY',
  ],
  ['no login in Gemini', gemini, 'API key not valid', 'Log in with gemini itself, or set GEMINI_API_KEY'],
  [
    'root',
    claude,
    `${ROOT}\nsee the documentation`,
    'Run as another user than root, set IS_SANDBOX=1 if this machine is a sandbox, or give --permissions host',
  ],
  ['a model', claude, 'Error: model opus-99 not found', 'Name another model with --model'],
  [
    'a certificate',
    claude,
    'Error: self-signed certificate',
    'Make the agent trust the certificate of the server',
  ],
])('%s', (_, adapter, stderr, step) => {
  expect(firstStep(adapter, stderr)).toBe(step);
});

test('what the sandbox stopped explains a turn that failed, and a run that is stuck', () => {
  const denials = ['network registry.npmjs.org:443'];
  const words =
    'The sandbox stopped network registry.npmjs.org:443: allow it in `sandbox` of the settings (`allowDomains`, `writable`), or change the task';
  expect(firstStep(claude, 'Error: fetch failed', { denials })).toBe(words);
  const stuck = { outcome: { kind: 'completed' }, repeats: 4, treeChanged: false } as const;
  expect(firstStep(claude, '', { ...stuck, denials })).toBe(words);
  expect(firstStep(claude, '', stuck)).toContain('Read the failure');
});
