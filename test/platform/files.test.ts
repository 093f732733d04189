import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeAtomic } from '../../src/platform/files.ts';
import { folder } from '../rig/repo.ts';

test('what is written on the way to an atomic write lies in the folder that is named for it', () => {
  const { dir, path, read, write } = folder();
  write('kept', 'old');
  expect(() => writeAtomic(path('kept'), 'new', 0o644, join(dir, 'nowhere'))).toThrow('ENOENT');
  expect(read('kept')).toBe('old');
  writeAtomic(path('kept'), 'new', 0o644, dir);
  expect(read('kept')).toBe('new');
});
