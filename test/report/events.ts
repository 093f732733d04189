/** A few events by hand, for the tests of the readers. */

import type { CheckResult } from '../../src/domain/checks/check.ts';
import { UNPROVEN } from '../../src/domain/checks/proof.ts';
import type { RunEvent } from '../../src/domain/run/event.ts';
import type { IterationResult, LoopResult } from '../../src/domain/run/result.ts';
import { type AgentEvent, toolOutput } from '../../src/domain/turn/agent-event.ts';
import type { Tokens } from '../../src/domain/turn/usage.ts';

export const TOKENS: Tokens = { input: 1_200_000, output: 45_000, cacheRead: 850_000, cacheWrite: 0 };

export const RUN_STARTED: RunEvent = {
  type: 'run-started',
  runId: '20260301-101500-k3f9',
  command: 'run',
  agent: 'claude',
  model: 'opus',
  maxIterations: 10,
  checks: ['npm test', 'npm run lint'],
  cwd: '/home/ada/sum',
};

export const AGENT_STARTED: RunEvent = {
  type: 'agent-started',
  purpose: 'work',
  command: 'claude -p --model opus',
  promptChars: 5321,
  promptHead: 'Make the tests pass.\nDo not change them.',
};

export const AGENT_ENDED: RunEvent = {
  type: 'agent-ended',
  purpose: 'work',
  outcome: { kind: 'completed' },
  duration: 367,
  toolCalls: 58,
  toolErrors: 4,
  usage: { tokens: TOKENS, cost: 5.76, costSource: 'agent' },
};

export function agent(event: AgentEvent): RunEvent {
  return { type: 'agent', event };
}

export function toolStart(id: string, name: string, summary: string): RunEvent {
  return agent({ kind: 'tool-start', id, name, summary });
}

export function toolEnd(id: string, output: string, exitCode = 0): RunEvent {
  return agent({
    kind: 'tool-end',
    id,
    ok: exitCode === 0,
    output: toolOutput(output),
    ...(exitCode !== 0 && { exitCode }),
  });
}

export function checkResult(over: Partial<CheckResult> = {}): CheckResult {
  return {
    index: 0,
    command: 'npm test',
    failAction: 'APPEND',
    passed: false,
    exitCode: 1,
    timedOut: false,
    duration: 0.8,
    output: 'FAIL test/sum.test.js\n\nexpected 3 to be 4\n1 failed, 12 passed\n',
    outputCut: false,
    logFile: '.ralph/guardrail_1_npm_test.log',
    ...over,
  };
}

export function iterationResult(over: Partial<IterationResult> = {}): IterationResult {
  return {
    iteration: 1,
    mode: 'work',
    stepsTaken: 3,
    toolCalls: 3,
    cost: 5.76,
    costSource: 'agent',
    tokens: TOKENS,
    duration: 30,
    checkResults: [],
    allChecksPassed: true,
    completionTagFound: true,
    violations: [],
    error: null,
    ...over,
  };
}

export function loopResult(over: Partial<LoopResult> = {}): LoopResult {
  const result = {
    runId: '20260301-101500-k3f9',
    success: true,
    stopReason: 'promise_accepted',
    detail: null,
    iterations: [iterationResult()],
    totalCost: 5.76,
    unreportedCalls: 0,
    totalTokens: TOKENS,
    totalDuration: 367,
    worktreePath: null,
    branch: null,
    proof: UNPROVEN,
    ...over,
  };
  return result as LoopResult;
}
