import { execFileSync } from 'node:child_process';
import { closeSync, constants, lstatSync, openSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openCapped } from '../../src/platform/capped-file.ts';
import {
  createPrivate,
  isBelow,
  isReallyBelow,
  readIfThere,
  readPages,
  writeAtomic,
  writePrivate,
} from '../../src/platform/files.ts';
import { leaveNote } from '../../src/store/hook-notes.ts';
import { folder } from '../rig/repo.ts';

test('what is written on the way to an atomic write lies in the folder that is named for it', () => {
  const { dir, path, read, write } = folder();
  write('kept', 'old');
  expect(() => writeAtomic(path('kept'), 'new', 0o644, join(dir, 'nowhere'))).toThrow('ENOENT');
  expect(read('kept')).toBe('old');
  writeAtomic(path('kept'), 'new', 0o644, dir);
  expect(read('kept')).toBe('new');
});

test('what cannot be read is named, so that it is the sentence of a problem and not a bug', () => {
  const { path, write } = folder();
  write('place/inside', '');
  const named = expect.objectContaining({ code: 'EISDIR', path: path('place') });
  expect(caught(() => readIfThere(path('place')))).toEqual(named);
  expect(caught(() => readPages(path('place'), () => {}))).toEqual(named);
});

test('what somebody has let grow without end is not read', () => {
  const { path, write } = folder();
  write('long', '');
  truncateSync(path('long'), 2 ** 32);
  expect(() => readIfThere(path('long'))).toThrow('longer than any file that Ralph reads whole');
});

test.each<[string, (path: string) => void]>([
  ['a whole file', path => writePrivate(path, 'x')],
  ['a file that grows', path => closeSync(createPrivate(path))],
  ['what a child prints', path => void openCapped(path, 'append').close()],
  ['a note of a hook', path => leaveNote(path, { type: 'notice', level: 'info', text: 'x' })],
])('nobody is waited for at a named pipe: %s', (_, write) => {
  const { path } = folder();
  const named = path('pipe');
  execFileSync('mkfifo', [named]);
  // There is a reader: else whoever is wrong would never come back, and nobody would hear of it.
  const reader = openSync(named, constants.O_RDWR | constants.O_NONBLOCK);
  write(named);
  expect(lstatSync(named).isFile()).toBe(true);
  closeSync(reader);
});

test.each([
  ['/a', '/a', true],
  ['/a/b', '/a', true],
  ['/a/b', '/a/', true],
  ['/a/..b', '/a', true],
  ['/a/...', '/a', true],
  ['/a', '/', true],
  ['/ab', '/a', false],
  ['/', '/a', false],
  ['/a/../b', '/a', false],
])('%s below %s: %s', (path, folder, expected) => expect(isBelow(path, folder)).toBe(expected));

test('a link leads below where it points to, also to what is not there yet', () => {
  const [{ path: inside, write }, { dir }] = [folder(), folder()];
  write('kept', '');
  symlinkSync(dir, inside('way'));
  expect(isReallyBelow(inside('way/new/file'), dir)).toBe(true);
  expect(isReallyBelow(inside('way/new/file'), inside('.'))).toBe(false);
  expect(isReallyBelow(inside('new/file'), inside('.'))).toBe(true);
});

function caught(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}
