import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asksForHelp, parseArguments, requestOf } from '../../src/domain/session/arguments.ts';

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

  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
  const values = fc.array(
    fc.tuple(
      fc.constantFrom('--check' as const, '--completion-promise' as const),
      fc.string({ unit: 'grapheme' }),
    ),
    { maxLength: 4 },
  );

  test('task and values arrive as they were typed, whatever is in them, in quotes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), values, fc.boolean(), (text, flags, isFirst) => {
        const given = flags.filter(([, value]) => value.trim() !== '' && !/<\/?promise>/i.test(value));
        fc.pre(text.trim() !== '');
        const words = given.map(([flag, value]) => `${flag} ${quoted(value)}`);
        const raw = (isFirst ? [quoted(text), ...words] : [...words, quoted(text)]).join(' ');
        const { request, problems } = parseArguments(raw);
        expect(problems).toEqual([]);
        expect(request.task).toBe(text);
        expect(request.checks).toEqual(given.flatMap(([flag, value]) => (flag === '--check' ? [value] : [])));
        const promise = given.findLast(([flag]) => flag === '--completion-promise')?.[1];
        expect(request.completionPromise).toBe(promise ?? null);
        // A shell has taken them apart: nothing is left to be misread.
        expect(requestOf(text, given).request).toEqual(request);
      }),
    );
  });

  test('behind -- everything is the task, as it was typed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        fc.pre(text.trim() !== '');
        const { request, problems } = parseArguments(`--max-iterations 3 -- ${text}`);
        expect([problems, request.task, request.maxIterations]).toEqual([[], text.trim(), 3]);
      }),
    );
    expect(task('-- Explain --check and --max-iteration')).toBe('Explain --check and --max-iteration');
    // A dash within the task is a dash, and the flag behind it is one.
    expect(parseArguments('Fix it -- it is slow --max-iterations 5').request).toMatchObject({
      task: 'Fix it -- it is slow',
      maxIterations: 5,
    });
  });

  test.each([
    ['Fix it -- --check is broken', 'Fix it --check is broken'],
    ['Explain --max-iterations 3 -- --max-iterations', 'Explain --max-iterations'],
    ['Fix -- --verbose --check x', 'Fix --verbose --check x'],
  ])('a -- before a flag ends the flags, wherever it stands: %j', (raw, words) => {
    const { request, problems } = parseArguments(raw);
    expect([problems, request.task, request.checks]).toEqual([[], words, []]);
  });

  test.each([
    ['"Run prettier --check src and fix it"', 'Run prettier --check src and fix it'],
    [`'Explain --max-iterations 5' --max-iterations 3`, 'Explain --max-iterations 5'],
    ['Say "use --check x" twice', 'Say "use --check x" twice'],
    ['Explain "--check" to me', 'Explain "--check" to me'],
    ['"It says \\"hi\\""', 'It says "hi"'],
  ])('a flag in quotes is a word of the task: %j', (raw, words) => {
    const { request, problems } = parseArguments(raw);
    expect([problems, request.task, request.checks]).toEqual([[], words, []]);
  });

  test('a promise with its tag is the text in it, and the user learns so; one that holds a tag is refused', () => {
    const { request, problems, notes } = parseArguments("x --completion-promise '<promise>DONE</promise>'");
    expect([request.completionPromise, problems]).toEqual(['DONE', []]);
    expect(notes.join()).toContain('needs the text alone');
    for (const promise of ['<promise>DONE', 'a</promise>b', '<promise><promise>A</promise></promise>'])
      expect(parseArguments(`x --completion-promise "${promise}"`).problems.join()).toContain(
        'could never match',
      );
  });

  test.each(['--help', '-h', '  --help --max-iterations 3'])('%j asks for help', raw => {
    expect(asksForHelp(raw)).toBe(true);
  });

  test('a task about help does not', () => {
    expect(asksForHelp('Explain the --help of tar')).toBe(false);
  });

  test('any text without a flag in it comes through unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        const plain = text.trim();
        fc.pre(plain !== '' && !plain.includes('--') && !/^(["'])[\s\S]*\1$/.test(plain));
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
    ['x --completion-promise "ALL DONE', 'begins a quote that does not end: "ALL'],
    ["x --check='npm test", "begins a quote that does not end: 'npm"],
    ['x --check “npm test”', 'begins a quote that does not end: “npm'],
    ['x --check -- y', '--check needs a value'],
    ['x --max_iterations 5', 'did you mean --max-iterations?'],
    ['x --Check "npm test"', 'did you mean --check?'],
    ['x —max-iterations 5', 'did you mean --max-iterations?'],
    ['x --on-promise-no-work sometimes', 'must be one of reject, warn, accept'],
  ])('%j is refused', (raw, problem) => {
    expect(parseArguments(raw).problems.join('\n')).toContain(problem);
  });

  test.each([
    ['x --max-iterations', '--max-iterations 10'],
    ['x --max-iterations 10.5', '--max-iterations 0 (no limit)'],
    ['x --completion-promise', '--completion-promise DONE'],
    ['x --completion-promise ""', '--completion-promise "All tests passing"'],
  ])('%j is answered with valid examples', (raw, example) => {
    const [problem = ''] = parseArguments(raw).problems;
    expect(problem).toMatch(/\. Valid examples: /);
    expect(problem).toContain(example);
  });
});
