/** Whatever titles, file names and reasons say, and whatever a ledger holds: the readers of a board show letters, and end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Board, laneOutcome } from '../../src/domain/lanes/board.ts';
import type { BoardEvent } from '../../src/domain/lanes/board-event.ts';
import type { RawEntry } from '../../src/domain/run/ledger-entry.ts';
import { displayWidth } from '../../src/platform/text.ts';
import { boardLines } from '../../src/report/board-lines.ts';
import { boardView } from '../../src/report/board-view.ts';
import { explainLines } from '../../src/report/explain.ts';
import { createFormatter } from '../../src/report/format.ts';
import { markdownOf } from '../../src/report/markdown.ts';
import { createRunFold } from '../../src/report/run-fold.ts';
import { DEFAULT_STYLE } from '../../src/report/style.ts';
import { summaryLines } from '../../src/report/summary.ts';
import { changed, pathsOf } from '../rig/damage.ts';
import { examples } from '../rig/thorough.ts';
import { hostileText as text } from './any-event.ts';
import { loopResult, RUN_STARTED } from './events.ts';

const FORBIDDEN = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/;

const story = fc.constantFrom('one', 'two', 'three');
const number = fc.nat({ max: 9 });
const strings = fc.array(text, { maxLength: 3 });
const usage = fc.record({
  cost: fc.double({ min: 0, max: 9, noNaN: true }),
  costSource: fc.constant('agent' as const),
});

const boardSet = fc.tuple(text, text, text).map(([one, two, three]) => ({
  type: 'board-set' as const,
  base: 'b'.repeat(40),
  tip: 'b'.repeat(40),
  branch: one,
  lanes: [
    { id: 'one', title: one, priority: 1, needs: [], files: [] },
    { id: 'two', title: two, priority: 1, needs: ['one'], files: [] },
    { id: 'three', title: three, priority: 2, needs: [two], files: [] },
  ],
}));

const boardEvent: fc.Arbitrary<BoardEvent> = fc.oneof(
  fc.record({ type: fc.constant('story-started' as const), story, child: text, from: text }),
  fc.record({ type: fc.constant('story-step' as const), story, mode: text, number }),
  fc.record({
    type: fc.constant('story-ended' as const),
    story,
    child: text,
    reason: fc.constantFrom('stuck' as const, 'all_stories_approved' as const),
    why: text,
    ledger: fc.constant(null),
    usage,
  }),
  fc.record({ type: fc.constant('queued' as const), story, head: text, patch: text }),
  fc.record({ type: fc.constant('candidate' as const), story, number, tip: text, commit: text }),
  fc.record({
    type: fc.constant('candidate-checked' as const),
    story,
    number,
    commit: text,
    passed: fc.boolean(),
    duration: fc.nat(),
    results: fc.constant([]),
  }),
  fc.record({ type: fc.constant('landed' as const), story, number, commit: text, tree: text }),
  fc.record({
    type: fc.constant('sent-back' as const),
    story,
    number,
    why: fc.constantFrom('conflict' as const, 'red' as const, 'changed' as const),
    files: strings,
    others: strings,
    detail: text,
  }),
  fc.record({
    type: fc.constant('lane-kept' as const),
    story,
    why: text,
    needsYou: fc.boolean(),
    commit: text,
  }),
  fc.record({ type: fc.constant('account-limited' as const), agent: text, until: fc.nat() }),
  fc.record({ type: fc.constant('integrated' as const), branch: text, commit: text, problem: text }),
);

const ledger = fc
  .tuple(boardSet, fc.array(boardEvent, { maxLength: 25 }))
  .map(([first, rest]) =>
    [{ ...RUN_STARTED, command: 'prd' as const }, first, ...rest].map(
      (event, at) =>
        ({ seq: at + 1, at: new Date(at * 60_000).toISOString(), ...event }) as unknown as RawEntry,
    ),
  );

/** All that is shown of a board as text. */
function shown(entries: readonly RawEntry[], width: number): readonly string[] {
  const fold = createRunFold();
  for (const entry of entries) fold.add(entry);
  const view = fold.view();
  const style = { ...DEFAULT_STYLE, width };
  const board = boardView(view, { now: 3_600_000, isRunning: true });
  const lanes = (view.board as Board | null)?.lanes.map(laneOutcome) ?? [];
  const result = loopResult({ success: false, stopReason: 'needs_you', lanes });
  const reading = { id: 'run', state: 'stopped', view, stories: [], result } as const;
  const integrity = { trust: { kind: 'intact' }, torn: 0 } as never;
  return [
    ...(board ? boardLines(board, style) : []),
    ...explainLines(view, { isAlive: false, now: 0 }, style),
    ...summaryLines(result, { command: 'prd', agent: '', integrated: view.lanes.integrated }),
    ...markdownOf({ ...reading, integrity }).split('\n'),
  ];
}

test('hostile text is letters on every board, and no line of it is too wide', () => {
  fc.assert(
    fc.property(ledger, fc.constantFrom(60, 80, 120), (entries, width) => {
      const fold = createRunFold();
      for (const entry of entries) fold.add(entry);
      const board = boardView(fold.view(), { now: 0, isRunning: true });
      const lines = board ? boardLines(board, { ...DEFAULT_STYLE, width }) : [];
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
      for (const line of shown(entries, width)) expect(line).not.toMatch(FORBIDDEN);
      const formatter = createFormatter(DEFAULT_STYLE);
      for (const entry of entries)
        for (const line of formatter.lines(entry as never, 0)) expect(line).not.toMatch(FORBIDDEN);
    }),
    examples(100),
  );
});

test('a damaged board stops no reader', () => {
  const damaged = ledger.chain(entries =>
    fc.tuple(fc.constant(entries), fc.nat({ max: entries.length - 1 }), fc.nat(), fc.jsonValue()),
  );
  fc.assert(
    fc.property(damaged, ([entries, at, nth, value]) => {
      const entry = entries[at] as RawEntry;
      const paths = pathsOf(entry);
      const path = paths[nth % paths.length];
      if (path === undefined) return;
      shown(
        entries.map((each, index) => (index === at ? (changed(each, path, value) as RawEntry) : each)),
        80,
      );
    }),
    examples(300),
  );
});
