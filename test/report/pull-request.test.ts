/** The body of a pull request: one screen before the first fold, whatever it is made from, and nothing of it is obeyed. */
import { expect, test } from 'vitest';
import type { LoopResult } from '../../src/domain/run/result.ts';
import { pullRequestBody } from '../../src/report/pull-request.ts';
import { MARKDOWN_WORDS } from '../../src/report/words.ts';

const EVIL = '@alice fixes #1 <img src=x> ``` </details> | ![x](http://x) GH-12';

function bodyOf(count: number): string {
  const many = <Value>(of: (at: number) => Value) => Array.from({ length: count }, (_, at) => of(at));
  const checkResults = many(at => ({
    name: `${EVIL} ${at}`,
    passed: true,
    exitCode: 0,
    duration: 1,
    output: '',
  }));
  const survivors = many(line => ({ file: EVIL, line, change: EVIL }));
  const result = {
    ...{ runId: 'r-1', success: true, stopReason: 'all_checks_passed', detail: null, totalDuration: 1 },
    iterations: [
      { iteration: 1, checkResults, violations: [], error: null, cost: null, costSource: 'unknown' },
    ],
    proof: { level: 'clean', contained: 'pid', commit: null, tree: 't', checkInputsChanged: [] },
    ...{ totalCost: null, unreportedCalls: 0, testsChanged: many(() => EVIL) },
    mutation: { score: 1, mutants: count, survivors },
  } as unknown as LoopResult;
  return pullRequestBody({
    result,
    head: { command: 'loop', agent: EVIL, title: EVIL },
    task: EVIL.repeat(count * 100),
    criteria: many(at => ({ text: `${EVIL} ${at}`, checks: at % 2 === 0 ? [] : [EVIL] })),
    files: many(() => ({ name: EVIL, added: 1, removed: 2 })),
    ...{ commit: 'c', remote: 'origin', proof: { ref: 'refs/ralph/proofs/r-1' } },
  });
}

/** What is left when everything that is shown as code is taken out. */
function bare(markdown: string): string {
  return markdown
    .replace(/^(`{3,})[^\n]*\n[\s\S]*?\n\1$/gm, '')
    .replace(/(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, '');
}

test.each([1, 3, 2_000])('of %i of everything', count => {
  const body = bodyOf(count);
  expect(body.length).toBeLessThan(65_000);
  const [first = ''] = body.split('<details>');
  expect(first.split('\n').length).toBeLessThan(60);
  const rest = bare(body);
  expect(rest).not.toMatch(/@alice|#1|<img|!\[|GH-12/);
  expect(rest.match(/<details>/g)?.length).toBe(rest.match(/<\/details>/g)?.length);
  expect(body.trimEnd().endsWith('<!-- ralph: pull-request-r-1 -->')).toBe(true);
});

test('what nobody looked at stands out, and changed tests and faults that no check noticed are named', () => {
  const [first = ''] = bodyOf(2).split('<details>');
  const counts = ['| **nobody looked** |', '- Tests changed, look at them:\n  - `', '  - not noticed: `'];
  expect(counts.map(words => first.split(words).length - 1)).toEqual([1, 1, 2]);
});

test('the name of an issue is no plain word', () => {
  expect(MARKDOWN_WORDS.say('Closes GH-12')).toBe('`Closes GH-12`');
  expect(MARKDOWN_WORDS.say('Make the login work')).toBe('Make the login work');
});
