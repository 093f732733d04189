import { expect, test } from 'vitest';
import { STOP_REASONS, sentenceOf } from '../../src/domain/stop-reason.ts';
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

test('a finished run', () => {
  const iterations = [
    iterationResult({ checkResults: [check('npm test', false), check('npm run lint', true)] }),
    iterationResult({ iteration: 2, checkResults: [check('npm test', true), check('npm run lint', true)] }),
  ];
  expect(summaryLines(loopResult({ iterations }), LABEL)).toEqual([
    'Done: the agent said so and every check agrees.',
    '',
    '- Run: 20260301-101500-k3f9 (ralph run with claude)',
    '- Iterations: 2',
    '- Guardrails:',
    '  - passed: `npm test` (0.8s)',
    '  - passed: `npm run lint` (0.8s)',
    '- Cost: $5.76 (as the agent reports it)',
    '- Tokens: 1.2M in (850K cached) / 45K out',
    '- Time: 6m7s',
    '- Next: review the changes; `ralph log 20260301-101500-k3f9` shows how they came about',
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
  expect(summaryLines(result, { command: 'loop', agent: 'codex' })).toEqual([
    'Stopped: the maximum number of iterations was reached. 3 of 3 iterations used.',
    '',
    '- Run: 20260301-101500-k3f9 (ralph loop with codex)',
    '- Iterations: 2',
    '- Checks:',
    '  - FAILED: `make` (exit code 2, 0.8s)',
    '- Violations:',
    '  - test/a.ts',
    '- Failed turns: 1, the last one: overloaded',
    '- Cost: unknown, at least $5.76',
    '- Tokens: unknown',
    '- Time: 6m7s',
    '- Branch: ralph/sum in .ralph/worktrees/sum',
    '- Next: see what was missing with `ralph log 20260301-101500-k3f9`, then `ralph resume 20260301-101500-k3f9` with more --max-iterations',
    '- Stop reason: max_iterations (exit code 1)',
  ]);
});

test.each(STOP_REASONS)(
  '%s: the sentence comes first, the reason last, and there is a next step',
  stopReason => {
    const lines = summaryLines(loopResult({ stopReason }), LABEL);
    expect(lines[0]).toBe(sentenceOf(stopReason));
    expect(lines.at(-2)).toMatch(/^- Next: .*(`.+`|--|start again)/);
    expect(lines.at(-1)).toContain(`- Stop reason: ${stopReason} (`);
  },
);

test.each([
  ['run', 'then `ralph resume 20260301-101500-k3f9` with more --max-iterations'],
  ['prd', 'then `ralph resume 20260301-101500-k3f9` with more --max-iterations'],
  ['session', 'then start again with more --max-iterations'],
] as const)('ralph %s is told how to go on', (command, words) => {
  const lines = summaryLines(loopResult({ stopReason: 'max_iterations' }), { command, agent: 'amp' });
  expect(lines.at(-2)?.endsWith(words)).toBe(true);
});

test('a cost names its source and what is not in it', () => {
  const priced = [iterationResult({ costSource: 'prices' })];
  expect(summaryLines(loopResult({ iterations: priced, unreportedCalls: 2 }), LABEL)).toContain(
    '- Cost: $5.76 (from the price table, without 2 calls that did not tell)',
  );
});

test('the same command twice is two checks', () => {
  const iterations = [iterationResult({ checkResults: [check('make', true), check('make', false)] })];
  expect(
    summaryLines(loopResult({ iterations }), LABEL).filter(line => line.includes('`make`')),
  ).toHaveLength(2);
});

test('stories: where each stands, its reviews, its cost, and which were let through', () => {
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
    '  - US-002 Two: approved, 5 reviews (cap reached), let through at the cap: read its feedback, 9 iterations',
    '  - US-003 Three: open',
  ]);
});
