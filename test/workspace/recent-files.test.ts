import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRecentFiles } from '../../src/workspace/recent-files.ts';
import { folder } from '../rig/repo.ts';

/** Of every length, as an index fills each up to the same boundaries. */
const NAMES = [...Array(20)].map((_, at) => `d${at % 3}/${'é'.repeat(at % 2)}${'x'.repeat(at + 1)}`);

test.each([
  ['sha1', 20],
  ['sha256', 32],
])('what an index of %s took in a moment ago is read anew where it is written again', (format, width) => {
  const work = folder();
  work.git('init', '--quiet', `--object-format=${format}`);
  for (const name of NAMES) work.write(name, 'before');
  work.git('add', '--all');
  // With more flags than other files have.
  work.git('update-index', '--skip-worktree', NAMES[7] ?? '');
  const recent = createRecentFiles(work.dir);
  recent.noteAll(readFileSync(work.path('.git/index')), width);
  expect(recent.takeTouched()).toEqual([]);
  for (const name of NAMES) writeFileSync(join(work.dir, name), 'AFTER!');
  const bytes = NAMES.map(name => Buffer.from(name).toString('latin1'));
  expect([...recent.takeTouched()].sort()).toEqual(bytes.sort());
});

test('what it took in long ago is not looked at', () => {
  const work = folder();
  work.git('init', '--quiet');
  work.write('a', 'before');
  work.git('add', '--all');
  const index = readFileSync(work.path('.git/index'));
  index.writeUInt32BE(1, 12); // when the file was changed, in seconds
  const recent = createRecentFiles(work.dir);
  recent.noteAll(index, 20);
  work.write('a', 'AFTER!');
  expect(recent.takeTouched()).toEqual([]);
});
