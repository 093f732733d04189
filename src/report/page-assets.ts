/** The page's script and style, which the build puts into the package. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootAbove } from '../platform/package.ts';
import type { PageAssets } from './html.ts';

/** Throws when Ralph was taken apart. */
export function readPageAssets(): PageAssets {
  const root = rootAbove(import.meta.filename);
  if (root === undefined) throw new Error("Ralph's own page is not here: install Ralph again");
  const read = (name: string) => readFileSync(join(root, 'dist/page', name), 'utf8');
  return { script: read('page.js'), style: read('page.css') };
}
