/** When faults that no check noticed keep a run from being done, and what the agent hears of them. */
import { describe, expect, test } from 'vitest';
import type { CheckResult } from '../../../src/domain/checks/check.ts';
import type { Measured } from '../../../src/domain/checks/mutation.ts';
import type { RunEvent } from '../../../src/domain/run/event.ts';
import type { Evidence } from '../../../src/domain/run/evidence.ts';
import { runResult } from '../../../src/domain/run/result.ts';
import { fold, NOTHING_YET, type RunState } from '../../../src/domain/run/state.ts';
import { judge, type Run, type Verdict } from '../../../src/domain/run/verdict.ts';
import { formatFeedback } from '../../../src/domain/text/feedback.ts';

const RUN: Run = {
  rule: { kind: 'promise', text: 'COMPLETE' },
  limits: { maxIterations: 3, maxFailures: 3, stuckAfter: 3 },
  success: 'all_checks_passed',
  minToolCalls: 0,
};
const GREEN: CheckResult = {
  ...{ index: 0, command: 'npm test', failAction: 'APPEND', passed: true, exitCode: 0, timedOut: false },
  ...{ duration: 1, output: '', outputCut: false, logFile: '' },
};
const PROVEN: Evidence = {
  outcome: { kind: 'completed' },
  claim: { found: true },
  checks: [GREEN],
  violations: [],
  treeChanged: true,
  repeats: 0,
  spent: { iterations: 1, failures: 0, toolCalls: 1, usage: { costSource: 'unknown' }, elapsed: 1 },
};
const SURVIVOR = { file: 'a.js', line: 8, change: '`a > b` changed to `a >= b`' };
const WEAK: Measured = {
  score: 50,
  mutants: 2,
  survivors: [SURVIVOR],
  checks: ['npm test'],
  seconds: 1,
  untried: 0,
};
const STRONG: Measured = { ...WEAK, score: 100, survivors: [] };
const DONE = { kind: 'stop', reason: 'all_checks_passed' };

const kinds = (verdict: Verdict) =>
  verdict.kind === 'stop' ? verdict.reason : verdict.feedback.map(({ kind }) => kind);

describe('without a gate', () => {
  test.each<readonly [string, Partial<Evidence>, unknown]>([
    ['no survivor', { mutation: STRONG }, 'all_checks_passed'],
    ['nothing to try', { mutation: { ...STRONG, score: null, mutants: 0 } }, 'all_checks_passed'],
    ['survivors', { mutation: WEAK }, ['survivors']],
    ['survivors, told before', { mutation: WEAK, survivorsShown: true }, 'all_checks_passed'],
    [
      'on the last iteration',
      { mutation: WEAK, spent: { ...PROVEN.spent, iterations: 3 } },
      'all_checks_passed',
    ],
    ['not found out', { mutation: { failed: 'red' } }, 'all_checks_passed'],
    ['the work was changed by a fault', { mutation: { failed: 'reached', voids: true } }, ['unmeasured']],
    [
      'a red check',
      { mutation: STRONG, checks: [{ ...GREEN, passed: false }] },
      ['check-failed', 'claim-unproven'],
    ],
  ])('%s', (_, more, expected) => {
    expect(kinds(judge(RUN, { ...PROVEN, ...more }))).toEqual(expected);
  });
});

describe('with one', () => {
  const gated: Run = { ...RUN, mutateMin: 70 };
  test.each<readonly [string, Partial<Evidence>, unknown]>([
    ['too few', { mutation: WEAK }, ['survivors']],
    ['too few, again', { mutation: WEAK, survivorsShown: true }, ['survivors']],
    [
      'too few, and no iteration left',
      { mutation: WEAK, spent: { ...PROVEN.spent, iterations: 3 } },
      'max_iterations',
    ],
    ['enough, not all', { mutation: { ...WEAK, score: 70 } }, 'all_checks_passed'],
    ['nothing to try', { mutation: { ...STRONG, score: null, mutants: 0 } }, 'all_checks_passed'],
    ['not found out', { mutation: { failed: 'red' } }, ['unmeasured']],
  ])('%s', (_, more, expected) => {
    expect(kinds(judge(gated, { ...PROVEN, ...more }))).toEqual(expected);
  });

  test('the agent hears the score and what is asked for', () => {
    const verdict = judge(gated, { ...PROVEN, mutation: WEAK });
    const [feedback] = verdict.kind === 'continue' ? verdict.feedback : [];
    expect(feedback && formatFeedback(feedback, '')).toBe(
      'Your checks would not notice this: `a.js:8`, `a > b` changed to `a >= b`; `npm test` stayed green. Add a test that fails for it, or say in one sentence why it makes no difference.\nYour checks notice 50 % of the faults that Ralph put into the changed lines, and at least 70 % is asked for: nothing counts as done before.',
    );
  });
});

test('what the agent was told survives a kill; what was measured is in the result, and is measured again', () => {
  const HEAD = {
    runId: 'r',
    command: 'loop',
    agent: 'a',
    maxIterations: 3,
    checks: ['npm test'],
    cwd: '/',
  } as const;
  const usage = { costSource: 'unknown' } as const;
  const { claim, outcome, spent } = PROVEN;
  const verdict = judge(RUN, { ...PROVEN, mutation: WEAK });
  const events: readonly RunEvent[] = [
    { type: 'run-started', ...HEAD },
    { type: 'prepared', tree: 't' },
    { type: 'iteration-started', iteration: 1 },
    { type: 'turn-ended', outcome, claim, steps: 1, toolCalls: 1, usage },
    { type: 'check-ended', result: GREEN },
    { type: 'mutated', iteration: 1, ...WEAK },
  ];
  const after = (list: readonly RunEvent[], from: RunState = NOTHING_YET) =>
    list.reduce<RunState>((state, event) => fold(state, { ...event, time: 1 }), from);
  const measured = after(events);
  const { score, mutants, survivors } = WEAK;
  const ending = {
    runId: 'r',
    stopReason: 'interrupted',
    detail: undefined,
    duration: 1,
    place: undefined,
  } as const;
  expect(runResult(measured, ending).mutation).toEqual({ score, mutants, survivors });
  const resumed = {
    type: 'run-resumed',
    ...HEAD,
    iteration: 1,
    step: 'check',
    repaired: [],
    changes: [],
  } as const;
  expect(after([resumed], measured).open).toMatchObject({ checks: [], mutation: undefined });
  const judged = {
    type: 'judged',
    iteration: 1,
    verdict,
    treeChanged: true,
    tree: 't',
    repeats: 0,
    spent,
  } as const;
  const told = after([judged, resumed], measured);
  expect([measured.survivorsShown, told.survivorsShown]).toEqual([undefined, true]);
  const again = after(
    [
      { type: 'check-ended', result: GREEN },
      { type: 'mutated', iteration: 1, ...WEAK },
    ],
    told,
  );
  expect(judge(RUN, { ...PROVEN, ...again.open } as Evidence)).toEqual(DONE);
});
