/** What sandboxes have of this machine: the programs that Ralph starts beside itself, and a folder of their own. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Next to the bundle, or beside the library; from the source, as the tests run it, the built one is used. */
const PLACES = ['./NAME.cjs', '../bin/NAME.cjs', '../../dist/bin/NAME.cjs'];

export function programPath(name: 'srt-host' | 'inside'): string {
  const paths = PLACES.map(place => fileURLToPath(new URL(place.replace('NAME', name), import.meta.url)));
  return paths.find(path => existsSync(path)) ?? paths[0] ?? name;
}

/** Outside of the project, and free of links. `scratch` is the part of it that can be written from inside. */
export function makeFolder(prefix: string) {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), prefix));
  const scratch = join(folder, 'tmp');
  mkdirSync(scratch, { mode: 0o700 });
  return { folder, scratch, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
