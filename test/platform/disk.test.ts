import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { timesTell } from '../../src/platform/disk.ts';
import { tryTo } from '../../src/platform/files.ts';
import { folder } from '../rig/repo.ts';

const EXT = 0xef53;

/** undefined: it may not be mounted here. */
function mounted(at: string, ...words: readonly string[]): string | undefined {
  mkdirSync(at);
  const isMounted = tryTo(() => execFileSync('mount', [...words, at], { stdio: 'ignore' }));
  if (isMounted === undefined) return undefined;
  onTestFinished(() => void execFileSync('umount', ['--lazy', at]));
  return at;
}

test.skipIf(process.platform !== 'linux')(
  'times tell on a disk, not in memory, nor on an overlay that is written to in memory',
  () => {
    const { path } = folder();
    const overlay = (name: string, upper: string, lower: string) => {
      for (const each of ['a b', 'work']) mkdirSync(`${upper}/${each}`);
      const words = `lowerdir=${lower},upperdir=${upper}/a b,workdir=${upper}/work`;
      return mounted(path(name), '-t', 'overlay', 'none', '-o', words);
    };
    expect(timesTell('/dev/shm')).toBe(false);
    expect(timesTell('/proc')).toBe(false);
    const [lower, disk] = [path('lower'), path('disk')];
    for (const each of [lower, disk]) mkdirSync(each);
    if (statfsSync(disk).type === EXT) expect(timesTell(disk)).toBe(true);
    const memory = mounted(path('memory'), '-t', 'tmpfs', 'none');
    if (memory === undefined) return;
    expect(timesTell(memory)).toBe(false);
    const over = overlay('over memory', memory, lower);
    if (over === undefined) return;
    expect(timesTell(over)).toBe(false);
    mkdirSync(`${over}/below`);
    expect(timesTell(`${over}/below`)).toBe(false);
    const onDisk = overlay('over a disk', disk, lower);
    expect(onDisk !== undefined && timesTell(onDisk)).toBe(timesTell(disk));
  },
);
