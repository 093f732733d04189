/** Whatever an agent, a check or a file says: nothing of it reaches the terminal but letters. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { displayWidth } from '../../src/platform/text.ts';
import { createFormatter } from '../../src/report/format.ts';
import { createHumanReporter } from '../../src/report/human.ts';
import { live, liveLine, NO_RUN } from '../../src/report/live-line.ts';
import { DEFAULT_STYLE, type Style } from '../../src/report/style.ts';
import { summaryLines } from '../../src/report/summary.ts';
import { createVerbose } from '../../src/report/verbose.ts';
import { anyEvent, anyResult, hostileText } from './any-event.ts';
import { RUN_STARTED } from './events.ts';

const OWN_COLOURS = /\x1b\[(?:1|2|22|31|32|33|36|39)m/g;
const FORBIDDEN = /[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/;

const events = fc.array(anyEvent, { maxLength: 30 });
const styles = fc.record({
  color: fc.boolean(),
  emoji: fc.boolean(),
  timestamps: fc.boolean(),
  width: fc.constantFrom(40, 80, 200, Number.POSITIVE_INFINITY),
  maxOutputLines: fc.nat({ max: 5 }),
  maxOutputChars: fc.nat({ max: 400 }),
});

function expectHarmless(line: string, style: Style): void {
  expect(style.color ? line.replace(OWN_COLOURS, '') : line).not.toMatch(FORBIDDEN);
}

describe('hostile text', () => {
  test('is letters in every line of the formatter, and no line is too wide', () => {
    fc.assert(
      fc.property(events, styles, (all, style) => {
        const formatter = createFormatter(style);
        for (const line of [...all.flatMap(event => formatter.lines(event, 0)), ...formatter.rest(0)]) {
          expectHarmless(line, style);
          expect(displayWidth(line)).toBeLessThanOrEqual(style.width);
        }
      }),
    );
  });

  test('is letters in the live line, which is never wider than the terminal', () => {
    fc.assert(
      fc.property(events, styles, fc.integer({ min: 1, max: 200 }), (all, style, width) => {
        let state = live(NO_RUN, RUN_STARTED, 0);
        for (const [at, event] of all.entries()) {
          state = live(state, event, at * 7_000);
          const line = liveLine(state, { ...style, width }, at * 9_000);
          expectHarmless(line, style);
          expect(displayWidth(line)).toBeLessThan(width);
        }
      }),
    );
  });

  test('is letters in the verbose lines and in the summary', () => {
    fc.assert(
      fc.property(events, anyResult, hostileText, (all, result, agent) => {
        const verbose = createVerbose(() => 0);
        const lines = [
          ...all.flatMap(event => verbose(event)),
          ...summaryLines(result, { command: 'run', agent }),
        ];
        for (const line of lines) expect(line).not.toMatch(FORBIDDEN);
      }),
    );
  });

  test('leaves a pipe without any escape at all', () => {
    fc.assert(
      fc.property(events, (all: RunEvent[]) => {
        let written = '';
        const reporter = createHumanReporter({
          write: text => {
            written += text;
          },
          isTTY: false,
          columns: () => 80,
          style: DEFAULT_STYLE,
          clock: () => 0,
          streamAgentOutput: true,
          verbose: createVerbose(() => 0),
        });
        for (const event of all) reporter.emit(event);
        reporter.close();
        expect(written.replaceAll('\n', '')).not.toMatch(FORBIDDEN);
      }),
    );
  });
});
