/** The merge queue: what lands, what is sent back and why, and when nothing lands any more. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CheckContext } from '../../src/domain/checks/check.ts';
import { only } from '../rig/ledger.ts';
import { parallelRun } from './board.ts';

const BASE = { 'a.txt': 'a', 'b.txt': 'b' };
const green = () => ({ passed: true });
const textIn = ({ cwd }: CheckContext, name: string) => readFileSync(join(cwd, name), 'utf8');

describe('what lands', () => {
  test('one after the other, each on top of what has landed, in the order of the queue', async () => {
    const run = parallelRun(BASE, { check: green });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.queue('B', 'base', { 'b.txt': 'B' });
    await run.drain();
    expect(run.told()).toEqual(['A landed', 'B landed']);
    expect(run.filesOf(run.board().tip)).toEqual({ 'a.txt': 'A', 'b.txt': 'B' });
    expect(await run.queueWorld.integration.tip()).toBe(run.board().tip);
  });

  test('was checked as it lands: the merged files, in a folder of their own', async () => {
    const seen: string[] = [];
    const run = parallelRun(BASE, {
      check(context) {
        seen.push(`${textIn(context, 'a.txt')}${textIn(context, 'b.txt')} ${context.clean}`);
        return { passed: true };
      },
    });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.queue('B', 'base', { 'b.txt': 'B' });
    await run.drain();
    expect(seen).toEqual(['Ab true', 'AB true']);
  });

  test('has the files of Ralph’s own as Ralph writes them, whatever the lane left in them', async () => {
    const run = parallelRun({ ...BASE, 'list.md': 'open' }, { check: green, ownPaths: ['list.md'] });
    await run.queue('A', 'base', { 'a.txt': 'A', 'list.md': 'mine' });
    await run.queue('B', 'base', { 'b.txt': 'B', 'list.md': 'no, mine' });
    await run.drain();
    expect(run.told()).toEqual(['A landed', 'B landed']);
    expect(run.filesOf(run.board().tip)['list.md']).toBe('B has landed');
  });
});

describe('what is sent back', () => {
  test('conflicts: with the files, and with what has landed since it was begun', async () => {
    const run = parallelRun(BASE, { check: green });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.queue('B', 'base', { 'a.txt': 'B' });
    await run.drain();
    expect(run.told()).toEqual(['A landed', 'B sent back: conflict']);
    expect(run.of('B')?.sentBack).toMatchObject({ files: ['a.txt'], others: ['Title of A'] });
    expect(run.filesOf(run.board().tip)).toMatchObject({ 'a.txt': 'A' });
  });

  test('still has the marks of a conflict in it', async () => {
    const run = parallelRun(BASE, { check: green });
    await run.queue('A', 'base', { 'a.txt': '<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n' });
    await run.drain();
    expect(run.told()).toEqual(['A sent back: conflict']);
    expect(run.of('A')?.sentBack?.files).toEqual(['a.txt']);
  });

  /** A and B have written the same file, and the merge has left it as A landed it. */
  const open = { kind: 'binary', paths: [{ path: 'a.txt', left: { mode: '100644', oid: 'A' } }] } as const;

  test.each<[string, Record<string, string>, readonly string[]]>([
    ['is as the merge left it', { 'b.txt': 'B' }, ['A landed', 'B sent back: conflict']],
    ['has nothing else in it', {}, ['A landed', 'B sent back: conflict']],
    ['was decided', { 'a.txt': 'AB' }, ['A landed', 'B landed']],
  ])('has a conflict that %s', async (_, files, told) => {
    const run = parallelRun(BASE, { check: green });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.drain();
    const head = run.work(run.board().tip, files);
    run.parts.emit({ type: 'queued', story: 'B', head, patch: '', conflicts: [open] });
    await run.drain();
    expect(run.told()).toEqual(told);
    if (told.length > 1) expect(run.of('B')?.sentBack?.conflicts ?? [open]).toEqual([open]);
  });

  test('has a file under a name that git made up', async () => {
    const run = parallelRun(BASE, { check: green });
    await run.queue('A', 'base', { [`a~${'0'.repeat(40)}`]: 'A' });
    await run.drain();
    expect(run.told()).toEqual(['A sent back: conflict']);
  });

  test('is red when merged, although each was green alone; with the output of the check', async () => {
    const run = parallelRun(BASE, {
      check: context =>
        textIn(context, 'a.txt') === 'A' && textIn(context, 'b.txt') === 'B'
          ? { passed: false, output: 'A and B do not go together' }
          : { passed: true },
    });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.queue('B', 'base', { 'b.txt': 'B' });
    await run.drain();
    expect(run.told()).toEqual(['A landed', 'B sent back: red']);
    expect(run.of('B')?.sentBack?.detail).toContain('A and B do not go together');
  });

  test('is not what was reviewed any more', async () => {
    const run = parallelRun(BASE, { check: green, isReviewed: true });
    await run.queue('A', 'base', { 'a.txt': 'A' }, 'another change');
    await run.queue('B', 'base', { 'b.txt': 'B' });
    await run.drain();
    expect(run.told()).toEqual(['A sent back: changed', 'B landed']);
  });

  test('for the third time needs the user', async () => {
    const run = parallelRun(BASE, { check: green });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    for (const text of ['B', 'C', 'D']) {
      await run.queue('B', 'base', { 'a.txt': text });
      await run.drain();
    }
    expect(run.told().slice(1)).toEqual([
      ...['B sent back: conflict', 'B sent back: conflict', 'B sent back: conflict'],
      'B kept: it was sent back 3 times; the last time: it conflicts with what has landed in a.txt',
    ]);
    expect(run.of('B')?.state).toBe('needs_you');
  });
});

describe('a red check', () => {
  test('counts when it is red twice', async () => {
    let times = 0;
    const run = parallelRun(BASE, { check: () => ({ passed: ++times > 1 }) });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.drain();
    expect(run.told()).toEqual(['A landed']);
    expect(times).toBe(2);
  });

  test('of what the run began with is nobody’s fault: nothing lands, and the user is told', async () => {
    const run = parallelRun(BASE, { check: () => ({ passed: false }) });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.drain();
    expect(run.told()).toEqual([]);
    expect(run.merging.halted()).toBe(
      'The checks fail on the commit that the run began with, without the work of A: `check()`. Nothing more lands.',
    );
    expect(run.of('A')?.state).toBe('queued');
  });

  test.each<[string, number, readonly string[], boolean]>([
    ['beside others and not alone is theirs', 4, ['A sent back: red'], false],
    ['beside others and alone halts the queue', 9, [], true],
  ])('of the tip that is red %s', async (_, reds, told, isHalted) => {
    let times = 0;
    const run = parallelRun(BASE, { check: () => ({ passed: ++times >= reds }) });
    // Another lane has its checks run when those of the tip begin, and ends when they have waited for it.
    const { gate } = run.queueWorld;
    const other = gate.beside(async () => {
      while (times < 3) await new Promise(resolve => setImmediate(resolve));
    });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.drain();
    await other;
    expect(run.told()).toEqual(told);
    expect(run.merging.halted() !== undefined).toBe(isHalted);
    expect(times).toBe(4);
  });

  test('says nothing when the run was asked to stop meanwhile', async () => {
    const run = parallelRun(BASE, {
      check() {
        run.stop.request('interrupted', 'after-this-step');
        return { passed: false };
      },
    });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.drain();
    expect(run.told()).toEqual([]);
    expect(only(run.events, 'candidate-checked')).toEqual([]);
    expect(run.merging.halted()).toBeUndefined();
  });
});

test('a check that the time of the run has ended sends nothing back', async () => {
  const run = parallelRun(BASE, {
    settings: { maxTime: 60 },
    check() {
      run.clock.pass(100_000);
      return { passed: false };
    },
  });
  await run.queue('A', 'base', { 'a.txt': 'A' });
  await run.merging.step(() => {}); // the candidate
  for (const _ of ['its checks', 'its checks again'])
    await new Promise<void>(resolve => void run.merging.step(resolve));
  expect(run.told()).toEqual([]);
  expect(run.of('A')?.state).toBe('queued');
});

describe('the branch', () => {
  test('that somebody else has moved is not overwritten', async () => {
    const run = parallelRun(BASE, {
      check() {
        run.move(run.work('base', { 'b.txt': 'mine' }));
        return { passed: true };
      },
    });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.merging.step(() => {}); // the candidate
    await new Promise<void>(resolve => void run.merging.step(resolve)); // its checks
    const moved = await run.queueWorld.integration.tip();
    await run.merging.step(() => {}); // landing
    expect(run.told()).toEqual([]);
    expect(run.merging.halted()).toMatch(
      new RegExp(`^it was moved to ${moved}, and not by Ralph: nothing lands`),
    );
    expect(await run.merging.step(() => {}), 'it is not tried again and again').toBe(false);
    expect(await run.queueWorld.integration.tip()).toBe(moved);
  });

  test('that was moved before a crash, and not told, is not moved again', async () => {
    const run = parallelRun(BASE, { check: green });
    await run.queue('A', 'base', { 'a.txt': 'A' });
    await run.merging.step(() => {});
    await new Promise<void>(resolve => void run.merging.step(resolve));
    run.move(run.board().queue[0]?.candidate?.commit ?? '');
    await run.merging.step(() => {});
    expect(run.told()).toEqual(['A landed']);
  });
});

test('nothing is merged by a run that was asked to stop', async () => {
  const run = parallelRun(BASE, { check: green });
  await run.queue('A', 'base', { 'a.txt': 'A' });
  run.stop.request('interrupted', 'after-this-step');
  expect(await run.merging.step(() => {})).toBe(false);
});

test('a check that breaks in a way that nobody expected halts the queue, and says how', async () => {
  const run = parallelRun(BASE, { check: green });
  Object.defineProperty(run.queueWorld.integration.own, 'repository', {
    get() {
      throw new Error('the disk is on fire');
    },
  });
  await run.queue('A', 'base', { 'a.txt': 'A' });
  await run.drain();
  expect(run.merging.halted()).toContain('the disk is on fire');
  expect(run.told()).not.toContain('A landed');
});
