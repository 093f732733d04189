/** What `judge` needs of an in-session loop. */
import type { Claim } from './completion.ts';
import type { Evidence } from './evidence.ts';
import { ruleOf, type SessionState } from './session.ts';
import type { Run } from './verdict.ts';

export function sessionRun(state: SessionState): Run {
  return {
    rule: ruleOf(state) ?? { kind: 'promise', text: '' },
    limits: { maxIterations: state.maxIterations, maxFailures: 1, stuckAfter: 0 },
    success: 'promise_accepted',
    minToolCalls: state.onPromiseNoWork === 'reject' ? state.minToolCalls : 0,
  };
}

export function sessionEvidence(state: SessionState, claim: Claim, now: number): Evidence {
  return {
    outcome: { kind: 'completed' },
    claim,
    checks: [],
    violations: [],
    treeChanged: null,
    repeats: 0,
    spent: {
      iterations: state.iteration,
      failures: 0,
      toolCalls: state.toolCalls,
      usage: { costSource: 'unknown' },
      elapsed: elapsedOf(state, now),
    },
  };
}

/** Seconds. */
export function elapsedOf({ startedAt }: SessionState, now: number): number {
  return Math.max(0, (now - Date.parse(startedAt)) / 1000) || 0;
}

/** Tools have been called since the last stop. */
export function afterCalls(state: SessionState, calls: number): SessionState {
  return calls === 0 ? state : { ...state, toolCalls: state.toolCalls + calls, blocksInARow: 0 };
}

/** The agent was sent back. */
export function afterBlock(state: SessionState): SessionState {
  return { ...state, iteration: state.iteration + 1, blocksInARow: state.blocksInARow + 1 };
}
