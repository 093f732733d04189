/** Checks as a run makes them of the settings, and what was red before the first iteration. */
import { describe, expect, test } from 'vitest';
import { checksOf, createBaseline } from '../../../src/run/turns/check-round.ts';
import { check, red } from '../stories/world.ts';
import { recorder } from './world.ts';

describe('checks of the settings', () => {
  test('have the time that all have', () => {
    expect(checksOf(['npm test'], { checkTimeout: 60, guardrails: [] })).toEqual([
      { command: 'npm test', failAction: 'APPEND', timeout: 60 },
    ]);
  });

  test('have what the guardrails say of them, and their time', () => {
    const settings = {
      checkTimeout: 60,
      guardrails: [
        { command: 'lint', failAction: 'PREPEND', hint: 'Run lint --fix.' },
        { command: 'slow', timeout: 900 },
      ],
    } as const;
    const lint = { command: 'lint', failAction: 'PREPEND', hint: 'Run lint --fix.' };
    expect(checksOf(['lint', 'slow', 'npm test'], settings)).toEqual([
      { ...lint, timeout: 60 },
      { command: 'slow', failAction: 'APPEND', timeout: 900 },
      { command: 'npm test', failAction: 'APPEND', timeout: 60 },
    ]);
    const own = checksOf(['lint', 'npm test'], { ...settings, guardrailTimeout: 5 });
    expect(own.map(({ timeout }) => timeout)).toEqual([5, 60]);
  });

  test('that a program gave have what it said of them', () => {
    const call = () => ({ passed: true });
    const checks = checksOf(['tidy()', 'npm test'], { checkTimeout: 60, guardrails: [] }, [
      { command: 'tidy()', call, timeout: 5 },
    ]);
    expect(checks).toMatchObject([{ command: 'tidy()', call, timeout: 5 }, { timeout: 60 }]);
    expect(checks[1]).not.toHaveProperty('call');
  });
});

function baseline(excused: boolean) {
  const { emit, notices } = recorder();
  const checks = checksOf(['npm test', 'lint'], { checkTimeout: 60, guardrails: [] });
  return { notices, ...createBaseline({ emit, checks: () => checks, excused }) };
}

describe('what is red before the first iteration', () => {
  test('is told to the user, with the reason', async () => {
    const { take, notices } = baseline(false);
    await take(async () => [check('a'), red('npm test'), { ...red('lint'), exitCode: 127 }]);
    expect(notices()).toEqual([
      'Baseline: `npm test` fails before the first iteration: exit code 1.',
      'Baseline: `lint` fails before the first iteration: exit code 127: there is no such command.',
    ]);
  });

  test('is excused only where the user wants it', async () => {
    for (const excused of [true, false]) {
      const { take, excuse, forPrompt } = baseline(excused);
      await take(async () => [red('npm test'), check('lint')]);
      expect(excuse(red('npm test')).ungated).toBe(excused || undefined);
      expect(forPrompt()).toEqual([
        { command: 'npm test', redBefore: excused ? 'excused' : 'gates' },
        { command: 'lint' },
      ]);
    }
  });

  test('excuses neither what was green then nor what is green now', async () => {
    const { take, excuse } = baseline(true);
    await take(async () => [red('npm test'), check('lint')]);
    expect(excuse(red('lint'))).not.toHaveProperty('ungated');
    expect(excuse(check('npm test'))).not.toHaveProperty('ungated');
  });

  test('is not what was void: that says nothing of how things were', async () => {
    const voided = { ...red('npm test'), voided: 'files changed' };
    const fresh = baseline(true);
    await fresh.take(async () => [voided]);
    expect(fresh.excuse(red('npm test'))).not.toHaveProperty('ungated');
    const resumed = baseline(true);
    resumed.recall([voided, red('lint')]);
    expect(resumed.excuse(red('npm test'))).not.toHaveProperty('ungated');
    expect(resumed.excuse(red('lint'))).toHaveProperty('ungated', true);
  });
});
