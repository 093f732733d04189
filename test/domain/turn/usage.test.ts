/** What is counted of any mix of turns: known, partly known and unknown, whole and cut off. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EndedTurn, RunEvent } from '../../../src/domain/run/event.ts';
import type { Evidence } from '../../../src/domain/run/evidence.ts';
import { budgetSpent } from '../../../src/domain/run/limits.ts';
import { next } from '../../../src/domain/run/next.ts';
import { runResult } from '../../../src/domain/run/result.ts';
import { fold, NOTHING_YET, type RunState, type Timed } from '../../../src/domain/run/state.ts';
import { judge, type Run } from '../../../src/domain/run/verdict.ts';
import type { AgentEvent } from '../../../src/domain/turn/agent-event.ts';
import {
  addReport,
  addUsage,
  countTurn,
  NO_USAGE,
  spentSoFar,
  type Usage,
  uncountedIn,
  unpricedIn,
  usageOf,
} from '../../../src/domain/turn/usage.ts';
import { examples } from '../../rig/thorough.ts';

type Report = AgentEvent & { kind: 'usage' };

const tokens = fc.nat(5_000).map(input => ({ input, output: 0, cacheRead: 0, cacheWrite: 0 }));
const report = fc.record(
  {
    kind: fc.constant('usage' as const),
    scope: fc.constantFrom('part' as const, 'part' as const, 'total' as const),
    id: fc.constantFrom('a', 'b', 'c'),
    tokens,
    cost: fc.nat(200).map(cents => cents / 100),
    estimate: fc.record({
      cost: fc.nat(200).map(cents => cents / 100),
      source: fc.constant('estimated' as const),
    }),
  },
  { requiredKeys: ['kind', 'scope'] },
);
const turn = fc.record({
  /** Of each attempt at it. */
  attempts: fc.array(fc.array(report, { maxLength: 4 }), { minLength: 1, maxLength: 2 }),
  end: fc.constantFrom('whole', 'killed', 'killed in the check', 'failed'),
  message: fc.option(fc.record({ cost: fc.nat(50).map(cents => cents / 100) }, { requiredKeys: [] })),
});
type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never;

const HEAD = { runId: 'r', command: 'loop', agent: 'a', maxIterations: 0, checks: [], cwd: '/' } as const;
const RESUMED: RunEvent = {
  type: 'run-resumed',
  ...HEAD,
  step: 'agent',
  iteration: 1,
  repaired: [],
  changes: [],
};
const LIMITS = { maxIterations: 0, maxFailures: 1_000, stuckAfter: 0 };
const runWith = (limits: Partial<Run['limits']>): Run => ({
  rule: { kind: 'promise', text: 'DONE' },
  limits: { ...LIMITS, ...limits },
  success: 'all_checks_passed',
  minToolCalls: 0,
});

/** Drives a run as the engine does, and notes what could be seen of what it used. */
function play(turns: readonly Turn[], run: Run) {
  let state: RunState = NOTHING_YET;
  let time = 0;
  const seen = { tokens: 0, cost: 0, calls: 0 };
  /** What was known before each turn that was begun. */
  const begun: Usage[] = [];
  const emit = (event: RunEvent) => {
    time += 1000;
    state = fold(state, { ...event, time } as Timed);
  };
  const see = (usage: Usage) => {
    seen.tokens += usage.tokens?.input ?? 0;
    seen.cost += usage.cost ?? 0;
    seen.calls += 1;
  };
  emit({ type: 'run-started', ...HEAD });
  emit({ type: 'prepared', tree: null });
  for (const { attempts, end, message } of turns) {
    const step = next(state, run);
    if (step.kind !== 'turn') break;
    const { iteration } = step;
    const before = state.totals.usage;
    begun.push(before ?? { costSource: 'unknown' });
    emit({ type: 'iteration-started', iteration });
    let sum: Usage | undefined;
    for (const [number, reports] of attempts.entries()) {
      emit(started('work', number + 1));
      const { usage, isOver } = takeAttempt(reports, [before, sum], run, emit);
      see(usage);
      sum = sum ? addUsage(sum, usage) : usage;
      if (end === 'killed' && (number === attempts.length - 1 || isOver)) break;
      emit(endedEvent('work', usage));
      if (isOver) break;
    }
    if (end !== 'killed') emit({ type: 'turn-ended', ...turnOf(end, sum ?? { costSource: 'unknown' }) });
    if (end.startsWith('killed')) emit(RESUMED);
    if (end === 'killed') continue;
    finish(iteration);
    if (!message) continue;
    const asked: Usage = { ...message, costSource: message.cost === undefined ? 'unknown' : 'agent' };
    emit(started('commit-message'));
    emit(endedEvent('commit-message', asked));
    see(asked);
  }
  const result = runResult(state, {
    runId: 'r',
    stopReason: 'interrupted',
    detail: undefined,
    duration: 1,
    place: undefined,
  });
  return { state, seen, begun, result };

  function finish(iteration: number): void {
    const open = state.open?.turn;
    if (!open) return;
    const spent = spentSoFar(countTurn(state.totals, open), 1);
    const evidence: Evidence = { ...NO_EVIDENCE, ...open, spent };
    const verdict = judge(run, evidence);
    emit({ type: 'judged', iteration, verdict, ...NO_EVIDENCE, spent, tree: null });
    emit({ type: 'iteration-ended', iteration, claim: open.claim, verdict, usage: spent.usage });
  }
}

const NO_EVIDENCE = { checks: [], violations: [], treeChanged: null, repeats: 0 } as const;

function started(purpose: 'work' | 'commit-message', attempt = 1): RunEvent {
  return { type: 'agent-started', purpose, attempt, command: '', promptChars: 0, promptHead: '' };
}

function endedEvent(purpose: 'work' | 'commit-message', usage: Usage): RunEvent {
  const counts = { toolCalls: 0, toolErrors: 0, duration: 1 };
  return { type: 'agent-ended', purpose, outcome: { kind: 'completed' }, usage, ...counts };
}

function turnOf(end: Turn['end'], usage: Usage): EndedTurn {
  const trouble = { class: 'crash', message: 'x' } as const;
  const outcome =
    end === 'failed' ? ({ kind: 'failed', trouble } as const) : ({ kind: 'completed' } as const);
  return { outcome, claim: { found: false }, steps: 1, toolCalls: 1, usage };
}

/** Until it is over the budget, as a turn is ended from inside. */
function takeAttempt(
  reports: readonly Partial<Report>[],
  before: readonly (Usage | undefined)[],
  { limits }: Run,
  emit: (event: RunEvent) => void,
) {
  let soFar = NO_USAGE;
  for (const each of reports) {
    const event = each as Report;
    emit({ type: 'agent', event });
    soFar = addReport(soFar, event);
    const known = before.flatMap(usage => usage ?? []);
    if (budgetSpent(limits, known.reduce(addUsage, usageOf(soFar))))
      return { usage: usageOf(soFar), isOver: true };
  }
  return { usage: usageOf(soFar), isOver: false };
}

describe('any mix of known and unknown, killed and resumed', () => {
  const turns = fc.array(turn, { minLength: 1, maxLength: 12 });

  test('never begins a turn when what is known has reached a limit', () => {
    fc.assert(
      fc.property(turns, fc.nat(10_000), fc.nat(300), (all, maxTokens, cents) => {
        const limits = { maxTokens: maxTokens + 1, maxCost: cents / 100 + 0.01 };
        for (const before of play(all, runWith(limits)).begun) {
          expect(before.cost ?? 0).toBeLessThan(limits.maxCost);
          expect(before.tokens?.input ?? 0).toBeLessThan(limits.maxTokens);
        }
      }),
      examples(1_500),
    );
  });

  test('counts exactly what was seen, once, and says how many calls reported no cost', () => {
    fc.assert(
      fc.property(turns, all => {
        const { state, seen, result } = play(all, runWith({}));
        expect(result.totalTokens?.input ?? 0).toBe(seen.tokens);
        expect(result.totalCost ?? 0).toBeCloseTo(seen.cost, 6);
        expect(result.unreportedCalls).toBeLessThanOrEqual(seen.calls);
        expect(result.uncountedCalls ?? 0).toBeLessThanOrEqual(seen.calls);
        const { usage } = state.totals;
        if (!usage) return;
        expect(result.unreportedCalls).toBe(unpricedIn(usage));
        expect(result.uncountedCalls ?? 0).toBe(uncountedIn(usage));
      }),
      examples(1_500),
    );
  });

  test('adds up in any order', () => {
    const usage = fc.record(
      { tokens, cost: fc.nat(100), costSource: fc.constantFrom('agent' as const, 'estimated' as const) },
      { requiredKeys: ['costSource'] },
    );
    const some = usage.map(
      (each): Usage => ({ ...each, costSource: each.cost === undefined ? 'unknown' : each.costSource }),
    );
    fc.assert(
      fc.property(some, some, some, (a, b, c) => {
        expect(addUsage(addUsage(a, b), c)).toEqual(addUsage(a, addUsage(c, b)));
      }),
    );
  });
});
