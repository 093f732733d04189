import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createFileKeeper, keepList, readList } from '../../src/workspace/keep-files.ts';
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
    const other = { ...keeper.keep(path('a'))!, sha256: OTHER };
    expect(keeper.difference(other, path('a'))).toBeUndefined();
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

  test('is read again when it was kept so soon after a change that another would leave no trace', () => {
    const { write, path, keeper } = keeping();
    write('a', 'old\n');
    const other = { ...keeper.keep(path('a'))!, sha256: OTHER };
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
