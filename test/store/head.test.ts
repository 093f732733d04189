import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createJournal } from '../../src/store/journal.ts';
import { hashOf } from '../../src/store/ledger-end.ts';
import { projectPaths, type RunPaths } from '../../src/store/paths.ts';
import { createRun, writeRunFile } from '../../src/store/run-file.ts';
import { whyUnfit } from '../../src/store/state-check.ts';
import { ledgerTrust } from '../../src/store/trust.ts';
import { anyEvent } from '../report/any-event.ts';
import { folder } from '../rig/repo.ts';
import { examples } from '../rig/thorough.ts';

function newRun(): RunPaths {
  const project = projectPaths(folder().dir);
  return createRun(project, { command: 'loop', version: '', config: { a: 1 }, now: 0, task: 'x' }).paths;
}

function journalOf(paths: RunPaths) {
  return createJournal(paths.events, { run: 'r', now: () => 0, durable: false, place: paths });
}

const NOTICE = { type: 'notice', level: 'info', text: 'hello' } as const;
const kindOf = (paths: RunPaths) => ledgerTrust(paths).kind;

describe('a ledger', () => {
  test('fits its head after every event, also while it is open', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 12 }), events => {
        const paths = newRun();
        const journal = journalOf(paths);
        for (const event of events) {
          journal.append(event);
          expect(kindOf(paths)).toBe('intact');
        }
        journal.close();
        expect(kindOf(paths)).toBe('intact');
      }),
      examples(20),
    );
  });

  test('fits it wherever a kill cuts the line that is being written', () => {
    const paths = newRun();
    const journal = journalOf(paths);
    journal.append(NOTICE);
    const known = readFileSync(paths.events).length;
    const words = { type: 'agent', event: { kind: 'text', text: 'many words' } } as const;
    for (const event of [words, words]) journal.append(event);
    const whole = readFileSync(paths.events);
    for (let size = whole.length; size >= known; size--) {
      truncateSync(paths.events, size);
      expect([size, kindOf(paths)]).toEqual([size, 'intact']);
    }
    truncateSync(paths.events, known - 1);
    expect(kindOf(paths)).toBe('changed');
    journal.close();
  });

  test('may grow by words of the agent during its turn, and by nothing else', () => {
    const paths = newRun();
    const journal = journalOf(paths);
    journal.append(NOTICE);
    journal.append({ type: 'agent', event: { kind: 'text', text: 'words' } });
    const text = readFileSync(paths.events, 'utf8');
    const prev = hashOf(text.trim().split('\n').at(-1) ?? '');
    const line = (event: object) =>
      JSON.stringify({ seq: 3, at: 'x', prev, run: 'r', iteration: 0, ...event });
    const add = (added: string) => {
      writeFileSync(paths.events, `${text}${added}\n`);
      return kindOf(paths);
    };
    expect(add(line({ type: 'agent', event: { kind: 'text', text: 'more' } }))).toBe('intact');
    expect(add(line({ type: 'check-ended', result: {} }))).toBe('changed');
    expect(add(line({ type: 'agent', event: { kind: 'usage' } }))).toBe('changed');
    const twice = line({ type: 'agent', event: { kind: 'text' } }).replace(/\}$/, ',"type":"judged"}');
    expect(add(twice)).toBe('changed');
    expect(add(line({ type: 'agent', event: { kind: 'text' }, x: 1 }).replace('"agent"', '"judged"'))).toBe(
      'changed',
    );
    journal.close();
  });

  test('is continued where it fits, and says for good that it did not', () => {
    const paths = newRun();
    const first = journalOf(paths);
    first.append(NOTICE);
    first.close();
    appendFileSync(paths.events, '{"torn');
    const second = journalOf(paths);
    second.append(NOTICE);
    second.close();
    expect(kindOf(paths)).toBe('intact');
    appendFileSync(paths.events, '{}\n');
    const third = journalOf(paths);
    third.append(NOTICE);
    third.close();
    expect(ledgerTrust(paths)).toEqual({
      kind: 'changed',
      what: ['3 bytes at its end are not what was written'],
    });
  });

  test('whose record is gone or another’s does not fit', () => {
    const [one, other] = [newRun(), newRun()];
    for (const paths of [one, other]) {
      const journal = journalOf(paths);
      journal.append(NOTICE);
      journal.close();
    }
    const own = readFileSync(one.state.head);
    writeFileSync(one.state.head, readFileSync(other.state.head));
    expect(kindOf(one)).toBe('changed');
    writeFileSync(one.state.head, own);
    expect(kindOf(one)).toBe('intact');
    truncateSync(one.state.head, 20);
    expect(kindOf(one)).toBe('changed');
  });
});

test('what a run was given is on record, and a kill while it is written anew accuses nobody', () => {
  const paths = newRun();
  const old = readFileSync(paths.run, 'utf8');
  writeRunFile(paths, { ...JSON.parse(old), config: { a: 2 } });
  expect(kindOf(paths)).toBe('intact');
  writeFileSync(paths.run, old);
  expect(ledgerTrust(paths)).toEqual({ kind: 'changed', what: ['run.json config a: 2 became 1'] });
  expect(existsSync(join(paths.state.folder, 'record'))).toBe(true);
});

test('a state folder of somebody else, open to others, or on another machine is not used', () => {
  const fit = { folder: '/s', owner: 1, user: 1, mode: 0o40700, type: 0xef53 };
  expect(whyUnfit(fit)).toBeUndefined();
  expect(whyUnfit({ ...fit, user: 2 })?.what).toContain('belongs to somebody else');
  expect(whyUnfit({ ...fit, mode: 0o40770 })?.what).toContain('can be written by others');
  expect(whyUnfit({ ...fit, type: 0x6969 })?.what).toContain('on a disk of another machine (NFS)');
  expect(whyUnfit({ ...fit, type: -11317950 })?.what).toContain('CIFS');
});
