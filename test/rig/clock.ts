/** Machines whose clock is wrong: libfaketime tells their processes another time of day. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Machine } from './fleet.ts';

/** Why there can be none, in a word. Where RALPH_REQUIRE_POSTGRES=1 that is a failure. */
export function clockMissing(): string | undefined {
  if (libraryOf() !== undefined) return undefined;
  if (process.env.RALPH_REQUIRE_POSTGRES === '1')
    throw new Error('RALPH_REQUIRE_POSTGRES=1, and libfaketime is not installed');
  return 'libfaketime is not installed';
}

/** `off`: such as +1h. */
export function machineWithClock(off: string): Machine {
  return {
    env: {
      LD_PRELOAD: libraryOf() ?? '',
      FAKETIME: off,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
  };
}

function libraryOf(): string | undefined {
  if (process.platform !== 'linux' || !existsSync('/usr/lib')) return undefined;
  const found = execFileSync('find', ['/usr/lib', '-name', 'libfaketimeMT.so.1'], { encoding: 'utf8' });
  return found.split('\n')[0] || undefined;
}
