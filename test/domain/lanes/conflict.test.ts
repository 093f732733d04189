/** What merges have left to be decided: what is on the ledger of a run, and what its agent says to keep. */
import { describe, expect, test } from 'vitest';
import {
  type Conflict,
  countMarks,
  createKeepScanner,
  withConflicts,
  withoutKept,
} from '../../../src/domain/lanes/conflict.ts';
import type { RunEvent } from '../../../src/domain/run/event.ts';
import { fold, NOTHING_YET } from '../../../src/domain/run/state.ts';

const about = (...paths: readonly string[]): Conflict => ({
  kind: 'binary',
  paths: paths.map(path => ({ path })),
});

describe('an agent keeps', () => {
  test.each<[words: string, keeps: readonly string[] | undefined]>([
    ['It is right. <keep>a.bin</keep>', ['a.bin']],
    ['<keep> ./a b/c.bin </keep>\n<keep>d</keep>', ['a b/c.bin', 'd']],
    ['Say `<keep>a.bin</keep>` to keep it.', undefined],
    ['```\n<keep>a.bin</keep>\n```', undefined],
    ['> <keep>a.bin</keep>', undefined],
    ['<keep></keep>', undefined],
  ])('%j', (words, keeps) => {
    const scanner = createKeepScanner();
    for (const letter of words) scanner.feed(letter);
    expect(scanner.said()).toEqual(keeps);
  });
});

const OID = 'a'.repeat(40);

test.each<[text: string, count: number]>([
  [`<<<<<<< ${OID}\none\n=======\ntwo\n>>>>>>> ${OID}\n`, 3],
  [`<<<<<<< ${OID}:a.txt\r\none\r\n=======\r\n`, 1],
  [`two\n>>>>>>> ${OID}`, 1],
  [`||||||| ${OID}\n`, 1],
  ['<<<<<<<<<<<< HEAD\n=======\n>>>>>>>>>>>> topic', 1],
  ['<<<<<<< HEAD\n<<<<<<< HEAD\n=======\n>>>>>>> topic\n=======\n>>>>>>> topic', 1],
  // A title, a quotation of a quotation, and a sign of the shell.
  ['Title\n=======\n>>>>>>> said she\n<<<<<< EOF', 0],
])('the marks of %j are %d', (text, count) => {
  expect(countMarks(text)).toBe(count);
});

describe('of several conflicts', () => {
  test('about the same path the later one counts', () => {
    const later = { ...about('b'), kind: 'text' } as const;
    expect(withConflicts([about('a'), about('b', 'c')], [later])).toEqual([about('a'), later]);
  });

  test('those are decided of which a path is kept, but for a name that git made up', () => {
    const made = `f~${'a'.repeat(40)}`;
    const all = [about('a', 'b'), about('c'), about(made)];
    expect(withoutKept(all, ['b', made])).toEqual([about('c'), about(made)]);
  });
});

describe('the state of the run of a lane', () => {
  const left = (...conflicts: readonly Conflict[]): RunEvent => ({
    type: 'merge-left',
    story: 'A',
    merge: 'm',
    conflicts,
  });
  const kept = (...keeps: readonly string[]): RunEvent => ({
    ...{
      type: 'turn-ended',
      outcome: { kind: 'completed' },
      claim: { found: false },
      steps: 1,
      toolCalls: 0,
    },
    ...{ usage: { costSource: 'unknown' }, keeps },
  });
  const openAfter = (...events: readonly RunEvent[]) => {
    const { conflicts = [], keeps } = events.reduce(
      (state, event) => fold(state, { ...event, time: 1 }),
      NOTHING_YET,
    );
    return withoutKept(conflicts, keeps);
  };

  test('has what is open', () => {
    expect(openAfter(left(about('a'), about('b')), kept('a'))).toEqual([about('b')]);
  });

  test('what was kept and is merged anew is open again', () => {
    expect(openAfter(left(about('a')), kept('a'), left(about('a')))).toEqual([about('a')]);
    expect(openAfter(left(about('a')), kept('a'), left(about('b')))).toEqual([about('b')]);
  });
});
