import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { createJournal, type Entry, openJournal, readJournal } from '../../src/store/journal.ts';
import { hashOf } from '../../src/store/ledger-end.ts';
import { endBeside } from '../../src/store/state.ts';
import { anyEvent } from '../report/any-event.ts';
import { folder } from '../rig/repo.ts';

function written(events: readonly RunEvent[], durable = false): string {
  const path = folder().path('events.jsonl');
  let now = Date.UTC(2026, 0, 1);
  const journal = createJournal(path, { run: 'r', now: () => now++, durable });
  for (const event of events) journal.append(event);
  journal.close();
  return path;
}

function read(path: string, withoutWords: boolean) {
  const entries: Entry[] = [];
  const { problems } = readJournal(
    openJournal({ events: path, trust: { kind: 'intact' } }, { withoutWords }),
    entry => entries.push(entry),
  );
  return { entries, problems };
}

const said = (text: string): RunEvent => ({ type: 'agent', event: { kind: 'text', text } });
const used: RunEvent = { type: 'agent', event: { kind: 'usage', scope: 'part', cost: 1 } };

describe('a ledger without the words of the agent', () => {
  test('is the ledger without them, but for what was used and the last line', () => {
    const path = written([said('one'), used, { type: 'paused' }, said('two'), said('three')]);
    const { entries, problems } = read(path, true);
    expect(entries.map(({ seq }) => seq)).toEqual([2, 3, 5]);
    expect(problems).toEqual([]);
  });

  test('leaves out nothing else, whatever was written', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), events => {
        const path = written(events);
        const all = read(path, false);
        const isWords = ({ type, ...rest }: { readonly type: string }) =>
          type === 'agent' && (rest as { event: { kind: string } }).event.kind !== 'usage';
        const wanted = all.entries.filter((entry, at) => at === all.entries.length - 1 || !isWords(entry));
        expect(read(path, true)).toEqual({ entries: wanted, problems: [] });
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ['changed', (line: string) => line.replace('two', 'TWO'), 'line 3 does not follow'],
    ['taken out', () => '', 'line 2 does not follow'],
    ['replaced by something else', () => 'nothing\n', 'line 2 is not an event'],
  ])('tells that a line of them was %s', (_, change, problem) => {
    const path = written([said('one'), said('two'), said('three'), { type: 'paused' }]);
    const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
    writeFileSync(path, '');
    for (const [at, line] of lines.entries()) appendFileSync(path, at === 1 ? change(line) : line);
    expect(read(path, true).problems[0]).toContain(problem);
  });
});

describe('a ledger that a kill has cut', () => {
  test('anywhere in its last line loses that line, and is continued', () => {
    const whole = readFileSync(written([said('one'), used, said('two')]));
    const known = whole.subarray(0, -1).lastIndexOf(10) + 1;
    for (let size = known; size <= whole.length; size++) {
      const path = folder().path('events.jsonl');
      writeFileSync(path, whole.subarray(0, size));
      const journal = createJournal(path, { run: 'r', now: () => 0, durable: false });
      journal.append({ type: 'paused' });
      journal.close();
      const { entries, problems } = read(path, false);
      expect([size, problems, entries.map(({ seq }) => seq)]).toEqual([
        size,
        [],
        size === whole.length ? [1, 2, 3, 4] : [1, 2, 3],
      ]);
    }
  });
});

describe('a ledger that is shorter than it was', () => {
  const firm: RunEvent = { type: 'iteration-started', iteration: 1 };
  const whole = () =>
    written([said('one'), firm, said('two'), { ...firm, iteration: 2 }, said('three')], true);
  const cut = (path: string, lines: number) =>
    writeFileSync(
      path,
      readFileSync(path, 'utf8')
        .split(/(?<=\n)/)
        .slice(0, lines)
        .join(''),
    );
  const problems = (path: string) => read(path, false).problems;

  test('by lines that nothing has waited for is what a power cut leaves', () => {
    const path = whole();
    cut(path, 4);
    expect(problems(path)).toEqual([]);
  });

  test.each([3, 2, 1, 0])('by more than that was changed: %i lines', lines => {
    const path = whole();
    cut(path, lines);
    expect(problems(path)).toEqual([`it has ${lines} lines, and should have 4`]);
    expect(read(path, true).problems).toEqual(problems(path));
  });

  test('was changed, whatever is added to it', () => {
    const path = whole();
    cut(path, 2);
    const journal = createJournal(path, { run: 'r', now: () => 0 });
    for (let at = 0; at < 5; at++) journal.append(firm);
    journal.close();
    expect(problems(path)).toEqual(['line 4 is not the one that was written']);
  });

  test('was changed, with its chain computed anew', () => {
    const path = whole();
    let prev = '0'.repeat(32);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const forged = lines.map(line => {
      const text = JSON.stringify({ ...JSON.parse(line.replace('two', 'TWO')), prev });
      prev = hashOf(text);
      return `${text}\n`;
    });
    writeFileSync(path, forged.join(''));
    expect(problems(path)).toEqual(['line 4 is not the one that was written']);
  });

  test.each([
    ['removed', (path: string) => rmSync(endBeside(path))],
    ['emptied', (path: string) => writeFileSync(endBeside(path), '')],
  ])('was changed, with what is kept of its end %s', (_, change) => {
    const path = whole();
    cut(path, 2);
    change(path);
    expect(problems(path)).toEqual(['where it ended is not on record any more']);
    createJournal(path, { run: 'r', now: () => 0 }).append(firm);
    expect(problems(path)).toEqual(['where it ended is not on record any more']);
  });

  test('of which no end was ever kept is read as before', () => {
    const path = written([said('one'), firm, said('two')]);
    expect(problems(path)).toEqual([]);
    cut(path, 1);
    expect(problems(path)).toEqual([]);
  });

  test('of a session keeps its end when it is over', () => {
    const ended = { type: 'run-ended', result: { iterations: [] } } as unknown as RunEvent;
    const path = written([said('one'), firm, ended]);
    expect(problems(path)).toEqual([]);
    cut(path, 2);
    expect(problems(path)).toEqual(['it has 2 lines, and should have 3']);
  });
});
