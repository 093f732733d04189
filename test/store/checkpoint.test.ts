import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fold, NOTHING_YET } from '../../src/domain/run/state.ts';
import { loadState, readState, writeCheckpoint } from '../../src/store/checkpoint.ts';
import { createJournal } from '../../src/store/journal.ts';
import { newRunPaths, projectPaths, runPaths } from '../../src/store/paths.ts';
import { anyEvent } from '../report/any-event.ts';
import { folder } from '../rig/repo.ts';

/** A ledger with a checkpoint after the first `kept` events. */
function written(events: readonly Parameters<typeof fold>[1][], kept: number) {
  const { dir } = folder();
  const paths = newRunPaths(projectPaths(dir), 'r');
  const journal = createJournal(paths.events, { run: 'r', now: () => 1_000_000, durable: false });
  let state = NOTHING_YET;
  for (const [at, event] of events.entries()) {
    if (at === kept) writeCheckpoint(paths, state, journal.end());
    state = fold(state, { ...journal.append(event), time: 1_000_000 });
  }
  if (kept >= events.length) writeCheckpoint(paths, state, journal.end());
  journal.close();
  return { paths };
}

const timed = anyEvent.map(event => ({ ...event, time: 1_000_000 }));
/** What is done at a forge comes when the agent is silent, and time stands still then. */
const ledger = fc
  .array(timed, { minLength: 1, maxLength: 30 })
  .filter(
    events => !events.some(({ type }, at) => type === 'agent' && events[at + 1]?.type.startsWith('forge')),
  );
const SOME = [
  { type: 'notice', level: 'info', text: 'a', time: 0 },
  { type: 'paused', time: 0 },
  { type: 'notice', level: 'info', text: 'c', time: 0 },
] as const;

describe('a state', () => {
  test('is the same with a checkpoint anywhere as from the ledger alone', () => {
    fc.assert(
      fc.property(ledger, fc.nat(30), (events, kept) => {
        const { paths } = written(events, kept);
        const known = loadState(paths);
        rmSync(paths.state.checkpoint);
        expect(known).toEqual(loadState(paths));
      }),
      { numRuns: 60 },
    );
  });

  test('of a ledger that is not there is empty', () => {
    expect(readState(runPaths(projectPaths(folder().dir), 'r'))).toEqual({
      state: NOTHING_YET,
      problems: [],
    });
  });
});

describe('a checkpoint', () => {
  /** A state that only the checkpoint knows of, to see whether it was believed. */
  function forged() {
    const { paths } = written(SOME, 2);
    const { checkpoint } = paths.state;
    return { paths, marked: readFileSync(checkpoint, 'utf8').replace('"resumptions":0', '"resumptions":7') };
  }
  const believed = ({ paths }: ReturnType<typeof forged>) => loadState(paths).state.resumptions === 7;
  const accept = ({ paths, marked }: ReturnType<typeof forged>) =>
    writeFileSync(paths.state.checkpoint, marked);

  test('is believed when the ledger is the one it was made of', () => {
    const made = forged();
    accept(made);
    expect(believed(made)).toBe(true);
    appendFileSync(made.paths.events, '');
    expect(loadState(made.paths).state.time.isPaused).toBe(true);
  });

  test.each(['', '{"version":', 'null', '[]'])('that is only %j is ignored', text => {
    const made = forged();
    writeFileSync(made.paths.state.checkpoint, text);
    expect(believed(made)).toBe(false);
    expect(loadState(made.paths).state.time.isPaused).toBe(true);
  });

  test.each([
    ['a line before it was changed', (text: string) => text.replace('"type":"paused"', '"type":"pausex"')],
    ['the ledger is shorter', (text: string) => `${text.split('\n')[0]}\n`],
    ['lines were put in', (text: string) => text.replace('\n', '\n{}\n')],
    ['the ledger is gone', () => ''],
  ])('is ignored when %s', (_, change) => {
    const made = forged();
    accept(made);
    writeFileSync(made.paths.events, change(readFileSync(made.paths.events, 'utf8')));
    expect(believed(made)).toBe(false);
  });

  test('of another version, or that cannot be written, is no harm', () => {
    const made = forged();
    accept({ ...made, marked: made.marked.replace(/"version":\d+/, '"version":999') });
    expect(believed(made)).toBe(false);
    const { paths } = written(SOME, 9);
    const nowhere = { ...paths.state, checkpoint: `${paths.events}/no/such/folder` };
    writeCheckpoint({ ...paths, state: nowhere }, NOTHING_YET, { seq: 0, prev: '', offset: 0 });
    expect(statSync(paths.events).size).toBeGreaterThan(0);
  });
});
