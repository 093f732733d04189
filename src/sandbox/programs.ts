/** What sandboxes have of this machine: the programs that Ralph starts beside itself, and a folder of their own. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFile } from '../platform/package.ts';

export function programPath(name: 'srt-host' | 'inside'): string {
  return packageFile('dist/bin', `${name}.cjs`);
}

/** Outside of the project, and free of links. `scratch` is the part of it that can be written from inside. */
export function makeFolder(prefix: string) {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), prefix));
  const scratch = join(folder, 'tmp');
  mkdirSync(scratch, { mode: 0o700 });
  return { folder, scratch, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
