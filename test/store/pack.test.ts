/** Many contents in one file: each comes back as it was, however long the one before it is. */
import { expect, test } from 'vitest';
import { sha256 } from '../../src/platform/hash.ts';
import { LARGE, openPack, readKept } from '../../src/store/kept.ts';
import { folder } from '../rig/repo.ts';

test('what is longer than the memory of a pack is in it whole, and so is what follows', () => {
  const { dir } = folder();
  const pack = openPack(dir);
  const contents = ['a', 'b'.repeat(LARGE - 1), 'c'.repeat(LARGE), 'd'.repeat(LARGE + 1), 'e'].map(text =>
    Buffer.from(text),
  );
  const packed = contents.map(content => pack.add(content));
  pack.close();
  const back = contents.map((content, at) => readKept(dir, sha256(content), packed[at]));
  expect(back.map((content, at) => content?.equals(contents[at] ?? Buffer.of()))).toEqual(
    contents.map(() => true),
  );
});
