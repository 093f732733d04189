/** The code cache makes a start cheaper and can never make it wrong. Through the real bin. */
import { chmodSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

/** Asks for the status with this cache, and says what is in the cache then. */
async function status(cache: string) {
  const { code, stdout, stderr } = await ralph(['status'], {
    cwd: folder().dir,
    env: { RALPH_CACHE_DIR: cache },
  });
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('No runs here yet'), '']);
  return readdirSync(cache);
}

async function filled() {
  const cache = join(folder().dir, 'a cache');
  const [name = ''] = await status(cache);
  return { cache, file: join(cache, name) };
}

test('is written by the first start, private, and left alone by the next', { tags: 'promise' }, async () => {
  const { cache, file } = await filled();
  expect(file).toMatch(/status@v\d+/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { mtimeMs, size } = statSync(file);
  expect(size).toBeGreaterThan(10_000);
  await status(cache);
  expect(statSync(file).mtimeMs).toBe(mtimeMs);
});

test.each<[string, (file: string) => void]>([
  ['nonsense', file => writeFileSync(file, 'nonsense')],
  ['empty', file => truncateSync(file, 0)],
  ['cut off', file => truncateSync(file, 9_000)],
])('that is %s is replaced', async (_name, damage) => {
  const { cache, file } = await filled();
  const whole = statSync(file).size;
  damage(file);
  await status(cache);
  expect(statSync(file).size).toBeGreaterThan(whole / 2);
});

test('that others can write is not believed', async () => {
  const { cache, file } = await filled();
  writeFileSync(file, readFileSync(file));
  chmodSync(file, 0o666);
  await status(cache);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('of an older bundle goes', async () => {
  const { cache } = await filled();
  writeFileSync(join(cache, 'status@v1.0.0-x64-1-1.bin'), '');
  writeFileSync(join(cache, 'run@v1.0.0-x64-1-1.bin'), '');
  for (const name of readdirSync(cache)) if (name.startsWith('status@v2')) truncateSync(join(cache, name), 0);
  expect((await status(cache)).map(name => name.split('@')[0]).sort()).toEqual(['run', 'status']);
});

test('that cannot be written changes nothing', async () => {
  const { code } = await ralph(['status'], {
    cwd: folder().dir,
    env: { RALPH_CACHE_DIR: '/proc/nowhere/cache' },
  });
  expect(code).toBe(0);
});
