import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fold, NOTHING_YET } from '../../src/domain/past.ts';
import { loadPast, readPast, writeCheckpoint } from '../../src/store/checkpoint.ts';
import { createJournal } from '../../src/store/journal.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { readKey, unseal, writeSealed } from '../../src/store/seal.ts';
import { anyEvent } from '../report/any-event.ts';
import { folder } from '../rig/repo.ts';

/** A ledger with a checkpoint after the first `kept` events. */
function written(events: readonly Parameters<typeof fold>[1][], kept: number) {
  const { dir } = folder();
  const paths = runPaths(projectPaths(dir), 'r');
  const journal = createJournal(paths.events, { run: 'r', now: () => 1_000_000, durable: false });
  let past = NOTHING_YET;
  for (const [at, event] of events.entries()) {
    if (at === kept) writeCheckpoint(paths, past, journal.end());
    past = fold(past, { ...journal.append(event), time: 1_000_000 });
  }
  if (kept >= events.length) writeCheckpoint(paths, past, journal.end());
  journal.close();
  return { paths };
}

const timed = anyEvent.map(event => ({ ...event, time: 1_000_000 }));
const SOME = [
  { type: 'notice', level: 'info', text: 'a', time: 0 },
  { type: 'paused', time: 0 },
  { type: 'notice', level: 'info', text: 'c', time: 0 },
] as const;

describe('a past', () => {
  test('is the same with a checkpoint anywhere as from the ledger alone', () => {
    fc.assert(
      fc.property(fc.array(timed, { minLength: 1, maxLength: 30 }), fc.nat(30), (events, kept) => {
        const { paths } = written(events, kept);
        const known = loadPast(paths);
        rmSync(paths.state.checkpoint);
        expect(known).toEqual(loadPast(paths));
      }),
      { numRuns: 60 },
    );
  });

  test('of a ledger that is not there is empty', () => {
    expect(readPast(runPaths(projectPaths(folder().dir), 'r'))).toEqual({ past: NOTHING_YET, problems: [] });
  });
});

describe('a checkpoint', () => {
  /** A past that only the checkpoint knows of, to see whether it was believed. */
  function forged() {
    const { paths } = written(SOME, 2);
    const { checkpoint } = paths.state;
    const text = unseal(readKey(paths.key) ?? '', checkpoint, readFileSync(checkpoint, 'utf8')) ?? '';
    return { paths, marked: text.replace('"resumptions":0', '"resumptions":7') };
  }
  const believed = ({ paths }: ReturnType<typeof forged>) => loadPast(paths).past.resumptions === 7;
  const accept = ({ paths, marked }: ReturnType<typeof forged>) =>
    writeSealed(paths.key, paths.state.checkpoint, marked);

  test('is believed when it is signed, and the ledger is the one it was made of', () => {
    const made = forged();
    accept(made);
    expect(believed(made)).toBe(true);
    appendFileSync(made.paths.events, '');
    expect(loadPast(made.paths).past.time.isPaused).toBe(true);
  });

  test('that somebody changed is ignored', () => {
    const made = forged();
    writeFileSync(made.paths.state.checkpoint, made.marked);
    expect(believed(made)).toBe(false);
    expect(loadPast(made.paths).past.time.isPaused).toBe(true);
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
