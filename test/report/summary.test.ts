import { expect, test } from 'vitest';
import { UNPROVEN } from '../../src/domain/checks/proof.ts';
import { endingOf, STOP_REASONS, sentenceOf } from '../../src/domain/run/stop-reason.ts';
import { summaryLines } from '../../src/report/summary.ts';
import { iterationResult, loopResult } from './events.ts';

const LABEL = { command: 'run', agent: 'claude' } as const;
const check = (name: string, passed: boolean) => ({
  name,
  passed,
  exitCode: passed ? 0 : 2,
  duration: 0.8,
  output: '',
});

const LIMITS = { maxIterations: 2, maxFailures: 3, stuckAfter: 3 };

test('a finished run', () => {
  const iterations = [
    iterationResult({ checkResults: [check('npm test', false), check('npm run lint', true)] }),
    iterationResult({ iteration: 2, checkResults: [check('npm test', true), check('npm run lint', true)] }),
  ];
  const proof = { ...UNPROVEN, level: 'place' } as const;
  expect(summaryLines(loopResult({ iterations, proof }), LABEL)).toEqual([
    'Done: the agent says so and every check passes.',
    '',
    '- Run: 20260301-101500-k3f9 (ralph run with claude)',
    '- Iterations: 2',
    '- Guardrails:',
    '  - `npm test` passed (0.8s)',
    '  - `npm run lint` passed (0.8s)',
    '- Proof: the checks passed in your folder; not tried in a clean checkout · not contained',
    '- Cost: $5.76 (as the agent reports it)',
    '- Tokens: 1.2M in (850K cached) / 45K out',
    '- Time: 6m7s',
    '- Next: Review the changes',
    '  - Changes: `ralph show 20260301-101500-k3f9`',
    '  - Log: `ralph log 20260301-101500-k3f9`',
    '  - Report: `ralph report 20260301-101500-k3f9 -o run.html`',
    '- Stop reason: promise_accepted (exit code 0)',
  ]);
});

test('a run that was not done, in a worktree, with everything that can go wrong', () => {
  const result = loopResult({
    success: false,
    stopReason: 'max_iterations',
    detail: '3 of 3 iterations used.',
    iterations: [
      iterationResult({ checkResults: [check('make', false)], violations: ['test/a.ts', 'test/a.ts'] }),
      iterationResult({ iteration: 2, error: 'overloaded', cost: null, costSource: 'unknown' }),
    ],
    totalCost: null,
    totalTokens: null,
    branch: 'ralph/sum',
    worktreePath: '.ralph/worktrees/sum',
  });
  expect(summaryLines(result, { command: 'loop', agent: 'codex', limits: LIMITS })).toEqual([
    'Stopped: the maximum number of iterations was reached. 3 of 3 iterations used.',
    '',
    '- Run: 20260301-101500-k3f9 (ralph loop with codex)',
    '- Iterations: 2',
    '- Checks:',
    '  - `make` failed with exit code 2 (0.8s)',
    '- Proof: nothing was proven · not contained',
    '- Violations:',
    '  - test/a.ts',
    '- Failed turns: 1, the last one: overloaded',
    '- Cost: unknown, at least $5.76',
    '- Tokens: unknown',
    '- Time: 6m7s',
    '- Branch: ralph/sum in .ralph/worktrees/sum',
    '- Next: Resume: `ralph resume 20260301-101500-k3f9 --max-iterations 4` (2 of 2 used)',
    '  - Changes: `ralph show 20260301-101500-k3f9`',
    '  - Log: `ralph log 20260301-101500-k3f9`',
    '  - Report: `ralph report 20260301-101500-k3f9 -o run.html`',
    '- Stop reason: max_iterations (exit code 1)',
  ]);
});

test.each(STOP_REASONS)(
  '%s: the sentence comes first, the reason last, and there is a next step',
  stopReason => {
    const iterations = [iterationResult({ checkResults: [check('make', true)] })];
    const proof = { ...UNPROVEN, level: 'place' } as const;
    const lines = summaryLines(loopResult({ stopReason, iterations, proof }), LABEL);
    expect(lines[0]).toBe(sentenceOf(stopReason));
    const next = lines.slice(
      lines.findIndex(line => line.startsWith('- Next: ')),
      -1,
    );
    expect(next[0]).toMatch(/^- Next: [A-Z]/);
    expect(next.slice(-3)).toEqual(
      ['Changes', 'Log', 'Report'].map(name => expect.stringMatching(`^  - ${name}: \`ralph .+\`$`)),
    );
    expect(lines.at(-1)).toContain(`- Stop reason: ${stopReason} (`);
    const { isLimit, raise } = endingOf(stopReason);
    expect(isLimit).toBe(raise.length > 0);
    expect(next.some(line => line.includes('<more>'))).toBe(isLimit);
  },
);

test.each(['promise_accepted', 'all_checks_passed'] as const)(
  '%s without a check has proven nothing',
  reason => {
    expect(summaryLines(loopResult({ stopReason: reason }), LABEL)[0]).toBe(
      'Done: the agent says so. Nothing was checked: add `--check` or a guardrail.',
    );
  },
);

const RESUME = 'ralph resume 20260301-101500-k3f9';

test.each([
  ['run', 'max_iterations', LIMITS, `Resume: \`${RESUME} --max-iterations 4\` (2 of 2 used)`],
  ['prd', 'max_iterations', undefined, `Resume: \`${RESUME} --max-iterations <more>\``],
  [
    'loop',
    'budget_exhausted',
    { ...LIMITS, maxCost: 5 },
    `\`${RESUME} --max-cost 11.52\` ($5.76 of $5.00 used)`,
  ],
  [
    'loop',
    'budget_exhausted',
    { ...LIMITS, maxCost: 50, maxTokens: 1_000_000 },
    `\`${RESUME} --max-tokens 2490000\` (1245000 of 1000000 tokens used)`,
  ],
  ['loop', 'timeout', { ...LIMITS, maxTime: 360 }, `\`${RESUME} --max-time 734\` (367 of 360 seconds used)`],
  ['loop', 'cancelled', LIMITS, `- Next: Resume: \`${RESUME}\``],
  [
    'session',
    'max_iterations',
    LIMITS,
    'Start the loop again in its session with a higher `--max-iterations`',
  ],
] as const)('ralph %s that ended with %s can be resumed', (command, stopReason, limits, words) => {
  const iterations = [iterationResult(), iterationResult({ iteration: 2 })];
  const lines = summaryLines(loopResult({ stopReason, iterations }), { command, agent: 'amp', limits });
  expect(lines.filter(line => line.endsWith(words))).toHaveLength(1);
});

test('tokens say what is not in them', () => {
  const totalTokens = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 };
  expect(summaryLines(loopResult({ totalTokens }), LABEL)).toContain('- Tokens: 100 in / 20 out');
  expect(summaryLines(loopResult({ totalTokens, uncountedCalls: 2 }), LABEL)).toContain(
    '- Tokens: at least 100 in / 20 out (2 calls reported none)',
  );
});

test('a cost names its source and what is not in it', () => {
  const priced = [iterationResult({ costSource: 'prices' })];
  expect(summaryLines(loopResult({ iterations: priced, unreportedCalls: 2 }), LABEL)).toContain(
    '- Cost: $5.76 (from the price table; 2 calls reported no cost)',
  );
});

test('the same command twice is two checks', () => {
  const iterations = [iterationResult({ checkResults: [check('make', true), check('make', false)] })];
  expect(
    summaryLines(loopResult({ iterations }), LABEL).filter(line => line.includes('`make`')),
  ).toHaveLength(2);
});

test('stories: where each stands, its reviews, its cost, and which only the cap approved', () => {
  const outcome = { reachedCap: false, autoApproved: false, iterations: 0, cost: 0, reviews: 0 };
  const stories = {
    total: 3,
    done: 2,
    reviews: 6,
    capHits: 1,
    stories: [
      {
        ...outcome,
        id: 'US-001',
        title: 'One',
        done: true,
        reviewStatus: 'approved',
        reviews: 1,
        iterations: 2,
        cost: 0.5,
      },
      {
        ...outcome,
        id: 'US-002',
        title: 'Two',
        done: true,
        reviewStatus: 'approved',
        reviews: 5,
        reachedCap: true,
        autoApproved: true,
        iterations: 9,
        cost: null,
      },
      { ...outcome, id: 'US-003', title: 'Three', done: false, reviewStatus: null },
    ],
  } as const;
  const lines = summaryLines(loopResult({ stories }), { command: 'prd', agent: 'claude' });
  expect(lines.slice(4, 8)).toEqual([
    '- Stories: 2 of 3 done, 6 reviews, 1 review cap reached',
    '  - US-001 One: approved, 1 review, 2 iterations, $0.50',
    '  - US-002 Two: approved, 5 reviews (cap reached), approved only because of the cap: read its feedback, 9 iterations',
    '  - US-003 Three: open',
  ]);
});
