import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { followFile, watchFile } from '../../src/platform/follow.ts';
import { folder } from '../rig/repo.ts';

/** What was read of a file so far, and a way to wait for more of it. */
function follow(content: string) {
  const path = `${folder().dir}/out`;
  writeFileSync(path, content);
  let text = '';
  let onMore = () => {};
  const follower = followFile(path, chunk => {
    text += chunk.toString('latin1');
    onMore();
  });
  const until = (isThere: () => boolean) =>
    new Promise<void>(resolve => {
      onMore = () => isThere() && resolve();
      onMore();
    });
  return { path, follower, until, text: () => text };
}

describe('a file that is followed', () => {
  test('is read from its beginning, as it grows, and to its end', async () => {
    const file = follow('a');
    await file.until(() => file.text() === 'a');
    appendFileSync(file.path, 'b');
    await file.until(() => file.text() === 'ab');
    appendFileSync(file.path, 'c'.repeat(1_000_000));
    await file.follower.end();
    expect(file.text() === `ab${'c'.repeat(1_000_000)}`).toBe(true);
  });

  test('does not keep others waiting, however much there is to read', async () => {
    const all = 64_000_000;
    const file = follow('x'.repeat(all));
    await file.until(() => file.text().length > 0);
    await new Promise(setImmediate);
    const before = file.text().length;
    const ended = file.follower.end();
    await new Promise(setImmediate);
    const meanwhile = file.text().length;
    await ended;
    expect(before).toBeLessThan(all);
    expect(meanwhile).toBeLessThan(all);
    expect(file.text().length).toBe(all);
  });

  test('may be emptied and written anew by its writer', async () => {
    const file = follow('before\n');
    await file.until(() => file.text() === 'before\n');
    truncateSync(file.path, 0);
    appendFileSync(file.path, 'after\n');
    await file.until(() => file.text() === 'before\nafter\n');
    await file.follower.end();
  });
});

test('what cannot be watched is looked at all the same', async () => {
  await new Promise<void>(resolve => {
    const watching = watchFile(
      `${folder().dir}/not-there`,
      () => {
        watching.close();
        resolve();
      },
      5,
    );
  });
});
