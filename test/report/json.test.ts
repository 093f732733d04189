import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createJsonWriter } from '../../src/cli/reporters.ts';
import { anyEvent } from './any-event.ts';
import { RUN_STARTED } from './events.ts';

test('an event is one line, with its time, its run and its iteration first', () => {
  const lines: string[] = [];
  const emit = createJsonWriter(line => lines.push(line));
  emit({ ...RUN_STARTED, run: 'r', iteration: 0, time: Date.UTC(2026, 2, 1, 12) });
  const head = '{"at":"2026-03-01T12:00:00.000Z","run":"r","iteration":0,';
  expect(lines).toEqual([`${head}${JSON.stringify(RUN_STARTED).slice(1)}\n`]);
});

test('every event can be read back', () => {
  fc.assert(
    fc.property(anyEvent, event => {
      let line = '';
      const stamp = { run: 'r', iteration: 'iteration' in event ? event.iteration : 0 };
      createJsonWriter(text => (line = text))({ ...event, ...stamp, time: 0 });
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(JSON.parse(line)).toEqual(
        JSON.parse(JSON.stringify({ at: '1970-01-01T00:00:00.000Z', ...event, ...stamp })),
      );
    }),
  );
});
