import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CheckResult } from '../../../src/domain/checks/check.ts';
import type { Evidence } from '../../../src/domain/run/evidence.ts';
import type { Limits } from '../../../src/domain/run/limits.ts';
import { exitCodeOf, STOP_REASONS } from '../../../src/domain/run/stop-reason.ts';
import { judge, type Run } from '../../../src/domain/run/verdict.ts';

const check = fc.record({
  index: fc.nat(20),
  command: fc.string(),
  failAction: fc.constantFrom('APPEND', 'PREPEND', 'REPLACE'),
  passed: fc.boolean(),
  exitCode: fc.nat(255),
  timedOut: fc.boolean(),
  duration: fc.nat(),
  output: fc.string(),
  outputCut: fc.boolean(),
  logFile: fc.string(),
}) as fc.Arbitrary<CheckResult>;

const trouble = fc.record({
  class: fc.constantFrom('auth', 'config', 'rate-limit', 'quota', 'transient', 'crash', 'empty-reply'),
  message: fc.string(),
});

const outcome = fc.oneof(
  fc.constant({ kind: 'completed' }),
  fc.record({ kind: fc.constant('failed'), trouble }),
  fc.record({
    kind: fc.constant('ended'),
    by: fc.constantFrom('idle-timeout', 'iteration-timeout', 'max-time', 'max-cost'),
  }),
) as fc.Arbitrary<Evidence['outcome']>;

const claim = fc.oneof(
  fc.constant({ found: true }),
  fc.constant({ found: false }),
  fc.constant({ found: false, nearMiss: 'case', said: 'done' }),
) as fc.Arbitrary<Evidence['claim']>;

const spent = fc.record({
  iterations: fc.integer({ min: 1, max: 30 }),
  failures: fc.nat(5),
  toolCalls: fc.option(fc.nat(9)),
  usage: fc.oneof(
    fc.constant({ costSource: 'unknown' }),
    fc.record({ cost: fc.double({ min: 0, max: 20, noNaN: true }), costSource: fc.constant('agent') }),
  ),
  elapsed: fc.nat(5000),
}) as fc.Arbitrary<Evidence['spent']>;

const standstill = fc.record({
  kind: fc.constantFrom('refused' as const, 'no-change' as const, 'thrashing' as const),
  iterations: fc.nat(9),
  stop: fc.boolean(),
});

const whole = fc.record({
  outcome,
  claim,
  checks: fc.uniqueArray(check, { selector: each => each.index, maxLength: 6 }),
  violations: fc.uniqueArray(fc.record({ what: fc.string(), restored: fc.boolean() }), {
    selector: each => each.what,
    maxLength: 3,
  }),
  treeChanged: fc.constantFrom(true, false, null),
  repeats: fc.nat(5),
  spent,
});

const evidence: fc.Arbitrary<Evidence> = fc
  .tuple(whole, fc.option(standstill, { nil: undefined }))
  .map(([each, still]) => ({ ...each, ...(still && { standstill: still }) }));

const limits: fc.Arbitrary<Limits> = fc
  .record({
    maxIterations: fc.integer({ min: 1, max: 30 }),
    maxFailures: fc.integer({ min: 1, max: 5 }),
    stuckAfter: fc.nat(4),
    maxCost: fc.option(fc.double({ min: 0, max: 20, noNaN: true }), { nil: undefined }),
    maxTime: fc.option(fc.nat(5000), { nil: undefined }),
  })
  .map(
    each =>
      Object.fromEntries(
        Object.entries(each).filter(([, value]) => value !== undefined),
      ) as unknown as Limits,
  );

const run: fc.Arbitrary<Run> = limits.map(each => ({
  rule: { kind: 'response', text: 'DONE' },
  limits: each,
  success: 'promise_accepted',
  minToolCalls: 1,
}));

const proven = (each: Evidence): Evidence => ({
  ...each,
  outcome: { kind: 'completed' },
  claim: { found: true },
  treeChanged: true,
  checks: each.checks.map(one => ({ ...one, passed: true })),
  violations: each.violations.map(one => ({ ...one, restored: true })),
});

describe('the law of the verdict', () => {
  test('work proven done is done, whatever limit is spent at the same moment', () => {
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        expect(judge(aRun, proven(some))).toEqual({ kind: 'stop', reason: 'promise_accepted' });
      }),
    );
  });

  test('a claim without proof never ends a run as done', { tags: 'P-no-false-done' }, () => {
    fc.assert(
      fc.property(run, evidence, check, (aRun, some, red) => {
        const verdict = judge(aRun, {
          ...some,
          claim: { found: true },
          checks: [...some.checks, { ...red, passed: false }],
        });
        if (verdict.kind === 'stop') expect(exitCodeOf(verdict.reason)).not.toBe(0);
      }),
    );
  });

  test('green checks without a claim never end a run as done', () => {
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        const verdict = judge(aRun, { ...proven(some), claim: { found: false } });
        if (verdict.kind === 'stop') expect(exitCodeOf(verdict.reason)).not.toBe(0);
      }),
    );
  });

  test('a turn that failed proves nothing', () => {
    fc.assert(
      fc.property(run, evidence, trouble, (aRun, some, why) => {
        const verdict = judge(aRun, { ...proven(some), outcome: { kind: 'failed', trouble: why as never } });
        if (verdict.kind === 'stop') expect(exitCodeOf(verdict.reason)).not.toBe(0);
      }),
    );
  });

  test('a protected thing that could not be restored voids the proof', () => {
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        const verdict = judge(aRun, {
          ...proven(some),
          violations: [{ what: 'test/a.test.js', restored: false }],
        });
        if (verdict.kind === 'stop') expect(exitCodeOf(verdict.reason)).not.toBe(0);
      }),
    );
  });

  test('a claim without work is not believed, but what nobody can tell is not held against the agent', () => {
    const work = (toolCalls: number | null, treeChanged: boolean | null) => (some: Evidence) => ({
      ...proven(some),
      treeChanged,
      spent: { ...some.spent, toolCalls },
    });
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        for (const idle of [work(0, false), work(0, null), work(null, false)]) {
          const verdict = judge(aRun, idle(some));
          if (verdict.kind === 'stop') expect(exitCodeOf(verdict.reason)).not.toBe(0);
          else expect(verdict.feedback).toContainEqual({ kind: 'no-work' });
        }
        for (const busy of [work(1, false), work(0, true), work(null, true), work(null, null)]) {
          expect(judge(aRun, busy(some))).toEqual({ kind: 'stop', reason: 'promise_accepted' });
        }
      }),
    );
  });

  test('an agent that says it is blocked ends the run, unless it has proven that it is done', () => {
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        expect(judge(aRun, { ...proven(some), blocked: 'why' }).kind).toBe('stop');
        expect(judge(aRun, { ...some, claim: { found: false }, blocked: 'why' })).toEqual({
          kind: 'stop',
          reason: 'blocked',
          detail: 'why',
        });
      }),
    );
  });

  test('the same failure without a change is told first and ends the run one turn later', () => {
    fc.assert(
      fc.property(evidence, fc.integer({ min: 1, max: 5 }), (some, stuckAfter) => {
        const aRun: Run = {
          rule: { kind: 'promise', text: 'X' },
          limits: { maxIterations: 0, maxFailures: 99, stuckAfter },
          success: 'all_checks_passed',
          minToolCalls: 0,
        };
        const { standstill: _, ...moving } = some;
        const at = (repeats: number) =>
          judge(aRun, { ...moving, outcome: { kind: 'completed' }, claim: { found: false }, repeats });
        expect(at(stuckAfter)).toMatchObject({ kind: 'continue' });
        expect(at(stuckAfter).kind === 'continue' && JSON.stringify(at(stuckAfter))).toContain('"stuck"');
        expect(at(stuckAfter + 1)).toMatchObject({ kind: 'stop', reason: 'stuck' });
        const stories = { open: ['A'], missing: ['A was not handed in.'], uncommitted: [] };
        const ended = judge(aRun, {
          ...{ ...moving, outcome: { kind: 'completed' }, claim: { found: false } },
          ...{ stories: { ...moving.stories, ...stories }, repeats: stuckAfter + 1 },
        } as Evidence);
        expect(JSON.stringify(ended)).toContain('Missing: A was not handed in.');
      }),
    );
  });

  test('a standstill is told while there is patience, and ends the run when there is none', () => {
    fc.assert(
      fc.property(evidence, standstill, (some, still) => {
        const limits = { maxIterations: 0, maxFailures: 99, stuckAfter: 0 };
        const aRun: Run = {
          rule: { kind: 'promise', text: 'X' },
          limits,
          success: 'all_checks_passed',
          minToolCalls: 0,
        };
        const verdict = judge(aRun, {
          ...some,
          outcome: { kind: 'completed' },
          claim: { found: false },
          standstill: still,
        });
        const reason = still.kind === 'refused' ? 'permission_denied' : 'stuck';
        if (still.stop) expect(verdict).toMatchObject({ kind: 'stop', reason });
        else
          expect(verdict).toMatchObject({
            feedback: expect.arrayContaining([{ kind: 'standstill', standstill: still }]),
          });
      }),
    );
  });

  test('a spent limit always ends the run', () => {
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        const { maxIterations, maxCost, maxTime } = aRun.limits;
        const { iterations, usage, elapsed } = some.spent;
        const isSpent =
          iterations >= maxIterations ||
          (maxCost !== undefined && usage.cost !== undefined && usage.cost >= maxCost) ||
          (maxTime !== undefined && elapsed >= maxTime);
        if (isSpent) expect(judge(aRun, some).kind).toBe('stop');
      }),
    );
  });

  test('the order in which the evidence came in does not matter', () => {
    fc.assert(
      fc.property(run, evidence, fc.infiniteStream(fc.nat()), (aRun, some, random) => {
        const shuffled = <Item>(items: readonly Item[]) =>
          items
            .map(item => ({ item, at: random.next().value ?? 0 }))
            .sort((a, b) => a.at - b.at)
            .map(({ item }) => item);
        const other = { ...some, checks: shuffled(some.checks), violations: shuffled(some.violations) };
        expect(judge(aRun, other)).toEqual(judge(aRun, some));
      }),
    );
  });

  test('it is total: there is a verdict for everything, and every way to stop has an exit code', {
    tags: 'P-exit-codes',
  }, () => {
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        const verdict = judge(aRun, some);
        if (verdict.kind === 'stop') expect(STOP_REASONS).toContain(verdict.reason);
        else expect(some.spent.iterations).toBeLessThan(aRun.limits.maxIterations);
      }),
    );
  });

  test('the agent is told of every red check, in the order of the configuration', () => {
    fc.assert(
      fc.property(run, evidence, (aRun, some) => {
        const verdict = judge(aRun, some);
        if (verdict.kind !== 'continue') return;
        const told = verdict.feedback.flatMap(item =>
          item.kind === 'check-failed' ? [item.check.index] : [],
        );
        const red = some.checks
          .filter(each => !each.passed)
          .map(each => each.index)
          .sort((a, b) => a - b);
        expect(told).toEqual(red);
      }),
    );
  });
});

describe('a verdict by example', () => {
  const base: Evidence = {
    outcome: { kind: 'completed' },
    claim: { found: true },
    checks: [],
    violations: [],
    treeChanged: null,
    repeats: 0,
    spent: { iterations: 3, failures: 0, toolCalls: 1, usage: { costSource: 'unknown' }, elapsed: 10 },
  };
  const aRun: Run = {
    rule: { kind: 'response', text: 'DONE' },
    limits: { maxIterations: 3, maxFailures: 3, stuckAfter: 3 },
    success: 'promise_accepted',
    minToolCalls: 1,
  };

  test('done on the last allowed iteration is done', { tags: 'P-verdict' }, () => {
    expect(judge(aRun, base)).toEqual({ kind: 'stop', reason: 'promise_accepted' });
  });

  test('trouble that only the user can fix ends the run at once and says how', () => {
    const refused: Evidence = {
      ...base,
      spent: { ...base.spent, iterations: 1 },
      claim: { found: false },
      outcome: { kind: 'failed', trouble: { class: 'auth', message: 'Invalid API key' } },
    };
    expect(judge(aRun, refused)).toEqual({
      kind: 'stop',
      reason: 'agent_failed',
      detail: 'Invalid API key. To fix it: log in with the agent itself, or set its API key.',
    });
  });

  test('unknown cost is not over any budget, and not proof of being under it either: the run goes on', () => {
    const budget: Run = { ...aRun, limits: { ...aRun.limits, maxIterations: 9, maxCost: 1 } };
    expect(judge(budget, { ...base, claim: { found: false } }).kind).toBe('continue');
  });
});

describe('stories', () => {
  const storyRun: Run = {
    rule: { kind: 'promise', text: 'COMPLETE' },
    limits: { maxIterations: 15, maxFailures: 3, stuckAfter: 3 },
    success: 'all_stories_approved',
    minToolCalls: 0,
  };
  const stories = fc.record({
    open: fc.array(fc.string(), { maxLength: 3 }),
    missing: fc.array(fc.string(), { maxLength: 2 }),
    uncommitted: fc.array(fc.string(), { maxLength: 2 }),
  });

  test('done means that none is open and everything is as it should be; what the agent says changes nothing', () => {
    fc.assert(
      fc.property(evidence, stories, claim, (seen, list, other) => {
        const verdict = judge(storyRun, { ...seen, stories: list });
        const isDone = verdict.kind === 'stop' && verdict.reason === 'all_stories_approved';
        const isIntact =
          seen.checks.every(each => each.passed) && seen.violations.every(each => each.restored);
        expect(isDone).toBe(list.open.length === 0 && isIntact);
        const again = judge(storyRun, { ...seen, stories: list, claim: other });
        expect(again.kind === 'stop' && again.reason === 'all_stories_approved').toBe(isDone);
      }),
    );
  });

  test('a round for their pull request is done when the agent says so as well, in a turn that did not fail', () => {
    fc.assert(
      fc.property(evidence, stories, (seen, list) => {
        const round = { ...list, isRound: true } as const;
        const isDone = (given: Evidence) => {
          const verdict = judge(storyRun, given);
          return verdict.kind === 'stop' && verdict.reason === 'all_stories_approved';
        };
        const isSaid = seen.claim.found && seen.outcome.kind !== 'failed';
        expect(isDone({ ...seen, stories: round })).toBe(isSaid && isDone({ ...seen, stories: list }));
      }),
    );
  });

  test('a story at its cap ends the run before any limit does, and never a run that is done', () => {
    fc.assert(
      fc.property(evidence, stories, (seen, list) => {
        const verdict = judge(storyRun, { ...seen, stories: { ...list, capped: 'US-001: leaks' } });
        const isDone = verdict.kind === 'stop' && verdict.reason === 'all_stories_approved';
        if (!isDone) expect(verdict).toEqual({ kind: 'stop', reason: 'review_cap', detail: 'US-001: leaks' });
      }),
    );
  });
});

describe('tool calls that were refused', () => {
  const limits: Limits = { maxIterations: 3, maxFailures: 3, stuckAfter: 1 };
  const aRun: Run = {
    rule: { kind: 'response', text: 'DONE' },
    limits,
    success: 'promise_accepted',
    minToolCalls: 0,
  };
  const seen = (over: Partial<Evidence>, iterations: number): Evidence => ({
    outcome: { kind: 'completed' },
    claim: { found: false },
    checks: [],
    violations: [],
    treeChanged: false,
    repeats: 0,
    spent: { iterations, failures: 0, toolCalls: 1, usage: { costSource: 'unknown' }, elapsed: 1 },
    ...over,
  });
  const refused = (iterations: number) =>
    ({ kind: 'refused', iterations, stop: iterations > 1, tools: ['Write', 'Bash'] }) as const;

  test('once: the agent is told', () => {
    expect(judge(aRun, seen({ standstill: refused(1) }, 1))).toEqual({
      kind: 'continue',
      feedback: [{ kind: 'claim-missing' }, { kind: 'standstill', standstill: refused(1) }],
    });
  });

  test.each([
    ['twice, before the limit', refused(2), 2, {}],
    ['twice, and the same failure twice', refused(2), 2, { repeats: 9 }],
    ['once, in the last iteration', refused(1), 3, {}],
  ])('%s: it stops with the cause and what to do, not for want of iterations', (_, standstill, at, more) => {
    const verdict = judge(aRun, seen({ standstill, ...more }, at));
    expect(verdict).toMatchObject({ kind: 'stop', reason: 'permission_denied' });
    expect(verdict.kind === 'stop' && verdict.detail).toMatch(
      /refused its calls of Write, Bash\. To fix it: give --permissions skip/,
    );
    expect(exitCodeOf('permission_denied')).toBe(1);
  });

  test('do not matter to work that is done', () => {
    const done = seen({ standstill: refused(2), claim: { found: true } }, 3);
    expect(judge(aRun, done)).toMatchObject({ reason: 'promise_accepted' });
  });
});
