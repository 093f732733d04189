import { expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import type { Feedback } from '../../src/domain/run/verdict.ts';
import type { Claim } from '../../src/domain/turn/claim.ts';
import { createVerbose } from '../../src/report/verbose.ts';
import { AGENT_ENDED, AGENT_STARTED, agent, checkResult, loopResult, RUN_STARTED } from './events.ts';

/** One event a second. */
function verboseLines(events: readonly RunEvent[]): readonly string[] {
  let now = 0;
  const verbose = createVerbose(() => now);
  return events.flatMap(event => {
    now += 1_000;
    return verbose(event);
  });
}

function ended(claim: Claim, ...feedback: Feedback[]): RunEvent {
  return {
    type: 'iteration-ended',
    iteration: 1,
    claim,
    verdict: { kind: 'continue', feedback },
    usage: { costSource: 'unknown' },
  };
}

test('a run as the seed has it', () => {
  const events: RunEvent[] = [
    RUN_STARTED,
    { type: 'iteration-started', iteration: 1 },
    AGENT_STARTED,
    agent({ kind: 'text', text: 'words' }),
    agent({ kind: 'unknown', what: 'heartbeat' }),
    AGENT_ENDED,
    { type: 'check-started', index: 0, command: './mvnw clean install' },
    { type: 'check-ended', result: checkResult({ exitCode: 0, passed: true, duration: 1.2 }) },
    { type: 'notice', level: 'info', text: 'shown elsewhere' },
    { type: 'notice', level: 'debug', text: 'Loading settings from .ralph/settings.json' },
    ended({ found: false }),
    { type: 'run-ended', result: loopResult() },
  ];
  expect(verboseLines(events)).toEqual([
    '[ralph] Run 20260301-101500-k3f9 in /home/ada/sum',
    '[ralph] Guardrails: npm test, npm run lint',
    '[ralph] Iteration 1/10 starting',
    '[ralph] Agent command: claude -p --model opus',
    '[ralph] Prompt (40 of 5,321 chars): Make the tests pass. Do not change them.',
    '[ralph] Unknown record from the agent: heartbeat',
    '[ralph] Agent completed (6m7s): 58 tool calls, 4 errors, cost: $5.76, tokens: 1.2M in (850K cached) / 45K out',
    '[ralph] Running guardrail: ./mvnw clean install',
    '[ralph] Guardrail exited with code 0 (1.2s)',
    '[ralph] Loading settings from .ralph/settings.json',
    "[ralph] Completion: no tag in the agent's own words",
    '[ralph] Iteration 1 took 9.0s',
    '[ralph] Run ended: promise_accepted (6m7s)',
  ]);
});

test.each<[string, RunEvent]>([
  [
    'Completion: the tag is there, but 1 guardrail failed',
    ended({ found: true }, { kind: 'check-failed', check: checkResult() }),
  ],
  [
    'Completion: the completion tag contains other text: "SOON"',
    ended({ found: false, nearMiss: 'other-text', said: 'SOON' }),
  ],
  [
    'Completion: the tag is there; the run stops with promise_accepted',
    {
      type: 'iteration-ended',
      iteration: 1,
      claim: { found: true },
      verdict: { kind: 'stop', reason: 'promise_accepted' },
      usage: { costSource: 'unknown' },
    },
  ],
])('%s', (expected, event) => {
  expect(verboseLines([event])[0]).toBe(`[ralph] ${expected}`);
});

test('a short prompt is shown whole', () => {
  const started = { ...AGENT_STARTED, promptHead: 'Fix it', promptChars: 6 } as RunEvent;
  expect(verboseLines([started])[1]).toBe('[ralph] Prompt (6 chars): Fix it');
});
