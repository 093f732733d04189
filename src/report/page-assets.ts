/** The page's script and style, which the build puts into the package. */
import { readFileSync } from 'node:fs';
import { packageFile } from '../platform/package.ts';
import type { PageAssets } from './html.ts';

/** Throws when Ralph was taken apart. */
export function readPageAssets(): PageAssets {
  const read = (name: string) => readFileSync(packageFile('dist/page', name), 'utf8');
  return { script: read('page.js'), style: read('page.css') };
}
