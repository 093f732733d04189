import { readdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFileStore, type FileStore } from '../../src/workspace/snapshot.ts';
import { folder } from '../rig/repo.ts';

function store(now?: () => number): FileStore {
  const opened = createFileStore(now);
  onTestFinished(opened.close);
  return opened;
}

const SOON = () => Date.now() + 10_000;

describe('a kept file', () => {
  test('is not read again while the system says that nobody has touched it', () => {
    const work = folder();
    work.write('a', 'old\n');
    const { keep, difference } = store(SOON);
    const kept = keep(work.path('a'))!;
    // With other bytes in memory, only reading the file could find a difference.
    const other = { ...kept, content: { bytes: Buffer.from('new\n') } };
    expect(difference(other, work.path('a'))).toBeUndefined();
  });

  test('cannot be changed behind a time that was set back', () => {
    const work = folder();
    work.write('a', 'old\n');
    utimesSync(work.path('a'), 1, 1);
    const { keep, difference } = store(SOON);
    const kept = keep(work.path('a'))!;
    writeFileSync(work.path('a'), 'new\n');
    utimesSync(work.path('a'), 1, 1);
    expect(difference(kept, work.path('a'))).toEqual({ kind: 'content' });
  });

  test('is read again when it was kept so soon after a change that another would leave no trace', () => {
    const work = folder();
    work.write('a', 'old\n');
    const { keep, difference } = store();
    const other = { ...keep(work.path('a'))!, content: { bytes: Buffer.from('new\n') } };
    expect(difference(other, work.path('a'))).toEqual({ kind: 'content' });
  });

  test('that was too large for memory is not put back from a copy that somebody changed', () => {
    const work = folder();
    const before = process.env.TMPDIR;
    onTestFinished(() => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    });
    process.env.TMPDIR = work.dir;
    work.write('big', '');
    truncateSync(work.path('big'), 2_000_000);
    const { keep, restoreFile } = store();
    const kept = keep(work.path('big'))!;
    const [copies] = readdirSync(work.dir).filter(name => name.startsWith('ralph-kept-'));
    const [copy] = readdirSync(work.path(copies!));
    writeFileSync(join(work.path(copies!), copy!), 'weak\n');
    expect(() => restoreFile(kept, work.path('again'))).toThrow('the kept copy has been changed');
    expect(readdirSync(work.dir).sort()).toEqual(['big', copies]);
  });
});
