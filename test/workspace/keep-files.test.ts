import {
  chmodSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createFileKeeper, keepList, lookAt, readList } from '../../src/workspace/keep-files.ts';
import { folder } from '../rig/repo.ts';

const SOON = () => Date.now() + 10_000;
const OTHER = 'f'.repeat(64);

function keeping(now?: () => number) {
  const [work, kept] = [folder(), folder()];
  return { ...work, kept, keeper: createFileKeeper(kept.dir, now) };
}

describe('a kept file', () => {
  test('is not read again while the system says that nobody has touched it', () => {
    const { write, path, keeper } = keeping(SOON);
    write('a', 'old\n');
    // With another hash on record, only reading the file could find a difference.
    const other = Object.assign(keeper.keep(path('a'))!, { sha256: OTHER });
    expect(keeper.difference(other, path('a'))).toBeUndefined();
  });

  test('of another length is not read: it may be a terabyte of nothing', () => {
    const { write, path, keeper } = keeping();
    write('a', 'old\n');
    const kept = keeper.keep(path('a'))!;
    truncateSync(path('a'), 2 ** 40);
    expect(keeper.difference(kept, path('a'))).toEqual({ kind: 'content' });
  });

  test('cannot be changed behind a time that was set back', () => {
    const { write, path, keeper } = keeping(SOON);
    write('a', 'old\n');
    utimesSync(path('a'), 1, 1);
    const kept = keeper.keep(path('a'))!;
    writeFileSync(path('a'), 'new\n');
    utimesSync(path('a'), 1, 1);
    expect(keeper.difference(kept, path('a'))).toEqual({ kind: 'content' });
  });

  const touches: Readonly<Record<string, (path: string) => void>> = {
    'is written over with as many bytes, and given its old time': path => {
      writeFileSync(path, 'old\n');
      utimesSync(path, 1, 1);
    },
    'is another file by its name': path => {
      writeFileSync(`${path}2`, 'old\n');
      utimesSync(`${path}2`, 1, 1);
      renameSync(`${path}2`, path);
    },
    'has a second name': path => linkSync(path, `${path}2`),
    'had other rights meanwhile': path => {
      chmodSync(path, 0o4755);
      chmodSync(path, 0o644);
    },
  };
  test.each(Object.entries(touches))('was touched when it %s', (_, touch) => {
    const { write, path, keeper } = keeping(SOON);
    write('a', 'old\n');
    utimesSync(path('a'), 1, 1);
    const kept = keeper.keep(path('a'))!;
    expect(keeper.isUntouched(kept, lookAt(path('a')))).toBe(true);
    // The clock of a file system may stand still for some milliseconds.
    do write('clock', '');
    while (lookAt(path('clock'))!.ctimeMs <= lookAt(path('a'))!.ctimeMs);
    touch(path('a'));
    expect(keeper.isUntouched(kept, lookAt(path('a')))).toBe(false);
    expect(keeper.difference(kept, path('a'))).toBeUndefined();
    chmodSync(path('a'), 0o4755);
    expect(keeper.difference(kept, path('a'))).toEqual({ kind: 'mode', from: 0o644, to: 0o4755 });
  });

  test('is read again when it was kept so soon after a change that another would leave no trace', () => {
    const { write, path, keeper } = keeping();
    write('a', 'old\n');
    const other = Object.assign(keeper.keep(path('a'))!, { sha256: OTHER });
    expect(keeper.difference(other, path('a'))).toEqual({ kind: 'content' });
  });

  test('is put back with every byte and its mode, of any size', () => {
    const { write, path, keeper, kept } = keeping();
    write('small', '');
    writeFileSync(path('small'), Buffer.from([0, 0xff, 0x0d, 0x0a, 0x0d]));
    chmodSync(path('small'), 0o640);
    write('big', 'x');
    truncateSync(path('big'), 3_000_000);
    symlinkSync(Buffer.from([0x2e, 0x2f, 0xff]), path('link'));
    for (const name of ['small', 'big', 'link']) {
      const file = keeper.keep(path(name))!;
      const before = lstatSync(path(name));
      const content = () => (before.isFile() ? readFileSync(path(name)) : readlinkSync(path(name), 'buffer'));
      const bytes = content();
      rmSync(path(name));
      keeper.restore(file, path(name));
      expect(content().equals(bytes)).toBe(true);
      expect(lstatSync(path(name)).mode).toBe(before.mode);
    }
    // Nobody but the user reads what is kept.
    for (const name of readdirSync(kept.dir)) expect(lstatSync(kept.path(name)).mode & 0o777).toBe(0o600);
  });

  test('is not put back from a copy that somebody changed', () => {
    const { write, path, keeper, kept, dir } = keeping();
    write('a', 'strong\n');
    const file = keeper.keep(path('a'))!;
    kept.write(file.sha256, 'weaker\n');
    expect(() => keeper.restore(file, path('again'))).toThrow('the kept copy has been changed');
    expect(readdirSync(dir)).toEqual(['a']);
  });
});

describe('a list of kept files', () => {
  const listed = () => {
    const { write, path, keeper, kept } = keeping();
    write('a', 'old\n');
    const file = keeper.keep(path('a'))!;
    return { kept, file, name: keepList(kept.dir, { kept: new Map([['a', file]]), before: ['a'] }) };
  };

  test('is found again by its name, with what belongs to it', () => {
    const { kept, file, name } = listed();
    const process = globalThis.process.pid;
    expect(readList(kept.dir, name)).toEqual({ kept: new Map([['a', file]]), before: ['a'], process });
  });

  test.each(['the list', 'a file'])('does not count when %s was changed or is gone', what => {
    const { kept, file, name } = listed();
    const changed = what === 'the list' ? name : file.sha256;
    kept.write(changed, `${kept.read(changed)} `);
    expect(readList(kept.dir, name)).toMatchObject({
      what: expect.stringContaining('are not what they were'),
    });
    rmSync(kept.path(changed));
    expect(readList(kept.dir, name)).toMatchObject({
      what: expect.stringContaining('are not what they were'),
    });
  });
});
