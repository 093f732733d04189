import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseArguments } from '../../src/domain/session-arguments.ts';

const task = (raw: string) => parseArguments(raw).request.task;

describe('the arguments of /ralph-loop', () => {
  test('are a task and flags, wherever they stand', () => {
    const expected = { task: 'Build a todo API', maxIterations: 20, completionPromise: 'ALL DONE' };
    expect(
      parseArguments(`Build a todo API --completion-promise 'ALL DONE' --max-iterations 20`).request,
    ).toMatchObject(expected);
    expect(
      parseArguments(`--max-iterations=20 --completion-promise "ALL DONE" Build a todo API`).request,
    ).toMatchObject(expected);
    expect(
      parseArguments(`--max-iterations 20 "Build a todo API" --completion-promise 'ALL DONE'`).request,
    ).toMatchObject(expected);
  });

  test('have defaults', () => {
    expect(parseArguments('x').request).toEqual({
      task: 'x',
      maxIterations: 0,
      completionPromise: null,
      minToolCalls: 1,
      onPromiseNoWork: 'reject',
      checks: [],
    });
  });

  test('take a check as often as it is given, quotes inside and all', () => {
    expect(parseArguments(`x --check "npm test" --check 'grep "a b" f' --check make`).request.checks).toEqual(
      ['npm test', 'grep "a b" f', 'make'],
    );
    expect(parseArguments('x --check "echo \\"hi\\""').request.checks).toEqual(['echo "hi"']);
  });

  test.each([
    `It's (carefully) $(id) \`id\` ; & # > x`,
    'one\n---\niteration: 9\n---\ntwo',
    'Explain the --verbose flag of tar',
    'emoji 👩‍👩‍👧 and <promise>X</promise>',
    '"a" and "b"',
  ])('leave the task as it is: %j', words => {
    expect(task(words)).toBe(words);
    expect(task(`${words} --max-iterations 3`)).toBe(words);
  });

  test('any text without a flag in it comes through unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        const plain = text.trim();
        fc.pre(plain !== '' && !plain.includes('--') && !/^(["']).*\1$/s.test(plain));
        expect(task(plain)).toBe(plain);
        expect(task(`${plain} --completion-promise DONE`)).toBe(plain);
      }),
    );
  });

  test.each([
    ['', 'there is no task'],
    ['--max-iterations 5', 'there is no task'],
    ['x --max-iterations', '--max-iterations needs a value'],
    ['x --max-iterations --check y', '--max-iterations needs a value'],
    ['x --max-iterations ten', '--max-iterations must be a whole number'],
    ['x --max-iterations -5', '--max-iterations must be a whole number'],
    ['x --max-iterations 10.5', '--max-iterations must be a whole number'],
    ['x --max-iteration 5', 'did you mean --max-iterations?'],
    ['x --completion-promise ""', '--completion-promise must not be empty'],
    ['x --on-promise-no-work sometimes', 'must be one of reject, warn, accept'],
  ])('%j is refused', (raw, problem) => {
    expect(parseArguments(raw).problems.join('\n')).toContain(problem);
  });
});
