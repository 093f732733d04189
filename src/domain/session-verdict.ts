/** What `judge` is told of an in-session loop. */
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

/**
 * Tools have run. Beyond what a promise asks for, a batch of them counts as one, however many it holds: then nobody need
 * read what they answered, which can be megabytes.
 */
export function afterTools(state: SessionState, calls: number): SessionState {
  const counted = state.toolCalls < state.minToolCalls ? calls : 1;
  return { ...state, toolCalls: state.toolCalls + counted, blocksInARow: 0 };
}

/** The agent was sent back. */
export function afterBlock(state: SessionState): SessionState {
  return { ...state, iteration: state.iteration + 1, blocksInARow: state.blocksInARow + 1 };
}
