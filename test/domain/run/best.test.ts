/** Which of two iterations ended better, and when a run goes back. */
import { describe, expect, test } from 'vitest';
import type { CheckResult } from '../../../src/domain/checks/check.ts';
import { countFailures, countTests } from '../../../src/domain/checks/test-changes.ts';
import {
  type BestSoFar,
  bestAfter,
  endsWorse,
  isWorse,
  nextReturn,
  scoreOf,
} from '../../../src/domain/run/best.ts';
import { fold, type IterationState, NOTHING_YET, type RunState } from '../../../src/domain/run/state.ts';

const check = (command: string, passed: boolean, more: Partial<CheckResult> = {}): CheckResult => ({
  ...{ index: 0, command, failAction: 'APPEND', passed, exitCode: passed ? 0 : 1, timedOut: false },
  ...{ duration: 1, output: '', outputCut: false, logFile: 'l' },
  ...more,
});
const green = (command: string) => check(command, true);
const red = (command: string, failures?: number, tests?: number) =>
  check(command, false, {
    ...(failures !== undefined && { failures }),
    ...(tests !== undefined && { tests }),
  });

const CASES: readonly [name: string, better: readonly CheckResult[], worse: readonly CheckResult[]][] = [
  ['more green checks', [green('a'), green('b')], [green('a'), red('b')]],
  ['a green check outweighs any number of failures', [green('a'), red('b', 90)], [red('a', 1), red('b', 1)]],
  ['fewer failing tests', [red('t', 2, 41)], [red('t', 8, 41)]],
  ['39 of 41 before 7 of 15', [red('t', 2, 41)], [red('t', 8, 15)]],
  ['a runner that breaks down prints one failure and runs nothing', [red('t', 5, 40)], [red('t', 1)]],
  ['a runner that says nothing any more', [red('t', 5, 40)], [red('t')]],
  ['tests that were deleted count as failing', [red('t', 3, 10)], [red('t', 1, 4)]],
  ['what is void is red', [green('a')], [check('a', true, { voided: 'it changed what is protected' })]],
];

describe('one iteration ended worse than the other', () => {
  test.each(CASES)('%s', (_, better, worse) => {
    expect([isWorse(scoreOf(worse), scoreOf(better)), isWorse(scoreOf(better), scoreOf(worse))]).toEqual([
      true,
      false,
    ]);
  });
});

const TIES: typeof CASES = [
  ['no check', [], []],
  ['the same', [red('t', 2, 9)], [red('t', 2, 9)]],
  ['one check, and a runner that nobody knows', [red('make')], [red('make')]],
  ['failures of different checks', [red('lint', 40), green('t')], [green('lint'), red('t', 1)]],
  ['one of two red checks does not tell', [red('a', 1), red('b')], [red('a', 9), red('b')]],
  ['an unknown result that may be as good', [red('t', 30, 40)], [red('t', undefined, 20)]],
  ['other checks', [green('a'), green('b')], [green('a')]],
  ['excused ones', [check('a', false, { ungated: true })], [green('a')]],
];

test.each(TIES)('nothing tells them apart: %s', (_, one, other) => {
  expect([isWorse(scoreOf(one), scoreOf(other)), isWorse(scoreOf(other), scoreOf(one))]).toEqual([
    false,
    false,
  ]);
});

const iteration = (number: number, failures: number, more: Partial<IterationState> = {}): IterationState =>
  ({
    ...{ number, startedAt: 0, attempt: 1, attempts: [], hints: [], owed: [], tampered: [], violations: [] },
    ...{ checks: [failures === 0 ? green('t') : red('t', failures, 40)], clean: [], tasks: [] },
    judged: { snapshot: `tree ${number}` },
    ...more,
  }) as IterationState;

const ended = (...iterations: readonly IterationState[]) =>
  iterations.reduce<BestSoFar | undefined>(bestAfter, undefined);
const failing = (...failures: readonly number[]) =>
  ended(...failures.map((each, at) => iteration(at + 1, each)));
const numbers = (best: BestSoFar | undefined) => [best?.at.number, best?.worse.map(each => each.iteration)];

describe('the best so far', () => {
  test('is the last one that is not worse', () => {
    expect(numbers(failing(8, 2, 8, 8))).toEqual([2, [3, 4]]);
    expect(numbers(failing(8, 2, 8, 2))).toEqual([4, []]);
    expect(failing(8, 2, 8)?.worse[0]).toEqual({
      ...{ iteration: 3, tree: 'tree 3', broke: ['`t`: 8 failures instead of 2'] },
    });
  });

  test('is of one story', () => {
    const best = ended(
      iteration(1, 0, { story: 'a', mode: 'implement' }),
      iteration(2, 9, { story: 'b', mode: 'implement' }),
    );
    expect(numbers(best)).toEqual([2, []]);
  });

  test('begins anew with a review: what others have landed was merged before it, and is not undone', () => {
    const best = ended(
      iteration(1, 0, { story: 'a', mode: 'implement' }),
      iteration(2, 9, { story: 'a', mode: 'review' }),
      iteration(3, 12, { story: 'a', mode: 'review-fix' }),
    );
    expect(numbers(best)).toEqual([2, [3]]);
  });

  test('is forgotten where a merge has left conflicts in the files, and after a pause', () => {
    const state = { ...NOTHING_YET, ...(failing(2, 8) && { best: failing(2, 8) }) } as RunState;
    const merged = { type: 'merge-left', story: 'a', merge: 'm', conflicts: [], time: 1 } as const;
    expect([fold(state, merged).best, fold(state, { type: 'prepared', tree: null, time: 1 }).best]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe('the next iteration begins at the best tree', () => {
  const decided = (best: BestSoFar | undefined, patience = 2) =>
    nextReturn({ ...(best && { best }) }, { patience });

  test('only after as many worse ones in a row as the user has patience', () => {
    expect(decided(failing(2, 8))).toBeUndefined();
    expect(decided(failing(2, 8, 8))).toBe('restore');
    expect(decided(failing(2, 8, 8), 3)).toBeUndefined();
    expect(decided(failing(2, 8, 2, 8))).toBeUndefined();
    expect(decided(failing(2, 8, 8), 0)).toBeUndefined();
  });

  test('at most twice, then it is stuck', () => {
    const best = failing(2, 8, 8);
    expect(decided(best && { ...best, returns: 1 })).toBe('restore');
    expect(decided(best && { ...best, returns: 2 })).toBe('stuck');
  });

  test('never where its files are not known', () => {
    const unknown = { judged: undefined } as unknown as IterationState;
    const best = ended(iteration(1, 2, unknown), iteration(2, 8), iteration(3, 8));
    expect([decided(best), endsWorse({ ...(best && { best }) }, { patience: 2 })]).toEqual([
      undefined,
      false,
    ]);
  });

  test('a best that was reached again with the same files keeps its count', () => {
    const best = failing(2, 8, 8);
    const again = iteration(4, 2, { judged: { snapshot: 'tree 1' } } as IterationState);
    expect(bestAfter(best && { ...best, returns: 2 }, again)?.returns).toBe(2);
    expect(bestAfter(best && { ...best, returns: 2 }, iteration(4, 2))?.returns).toBe(0);
  });
});

const OUTPUTS: readonly [
  runner: string,
  output: string,
  failures: number | undefined,
  tests: number | undefined,
][] = [
  ['node:test', '# pass 39\n# fail 2', 2, 41],
  ['vitest', ' Test Files  1 failed (1)\n      Tests  8 failed | 7 passed (15)', 8, 15],
  ['jest', 'Tests:       2 failed, 3 passed, 5 total', 2, 5],
  ['pytest', '===== 2 failed, 5 passed in 0.1s =====', 2, 7],
  ['unittest', 'Ran 5 tests in 0.1s\n\nFAILED (failures=2, errors=1)', 3, 5],
  ['cargo', 'test result: FAILED. 3 passed; 2 failed; 0 ignored', 2, 5],
  ['mocha', '  3 passing (9ms)\n  2 failing', 2, 5],
  ['rspec', '5 examples, 2 failures', 2, 5],
  ['Maven', '[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 0', 2, 5],
  ['phpunit', 'Tests: 5, Assertions: 9, Failures: 2.', 2, 5],
  ['dotnet', 'Failed!  - Failed:     1, Passed:     4, Skipped:     0', 1, 5],
  ['go', '--- FAIL: TestA (0.00s)\n--- PASS: TestB (0.00s)', 1, 2],
  ['tsc', 'a.ts(1,2): error TS1: x\nb.ts(1,2): error TS1: y', 2, undefined],
  ['nobody knows', 'make: *** [all] Error 2', undefined, undefined],
];

test.each(OUTPUTS)('counts what %s says', (_, output, failures, tests) => {
  expect([countFailures(output), countTests(output)]).toEqual([failures, tests]);
});
