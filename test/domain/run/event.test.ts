/** A line of a ledger is an event when it looks as its row says, in every field. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { knownEntry, type RawEntry } from '../../../src/domain/run/ledger-entry.ts';
import { anyEvent } from '../../report/any-event.ts';
import { examples } from '../../rig/thorough.ts';

const lineOf = (event: object) =>
  JSON.parse(JSON.stringify({ seq: 1, at: '2026-11-15T17:14:56.122Z', ...event })) as RawEntry;

test('whatever a run can write down is known when it is read', () => {
  fc.assert(
    fc.property(anyEvent, event => {
      expect(knownEntry(lineOf(event))).toEqual(lineOf(event));
    }),
    examples(2_000),
  );
});

test('with any field of another kind it is no event, and other fields do not matter', () => {
  /** Neither a text, a number, an object, nor a list of any of them. */
  const damage = [[]];
  fc.assert(
    fc.property(anyEvent, fc.nat(), (event, pick) => {
      const names = Object.keys(event).filter(name => name !== 'type');
      const name = names[pick % names.length];
      const line = lineOf(event);
      expect(knownEntry({ ...line, ofAnotherVersion: damage } as RawEntry)).not.toBeNull();
      if (name !== undefined) expect(knownEntry({ ...line, [name]: damage })).toBeNull();
    }),
    examples(2_000),
  );
});

test.each(['constructor', '__proto__', 'toString', '', null, 5])('%j is no event', type => {
  expect(knownEntry(lineOf({ type }))).toBeNull();
});
