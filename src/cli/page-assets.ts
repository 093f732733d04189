/** The page's script and style, which the build puts beside the bin. */
import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PageAssets } from '../report/html.ts';

export function readPageAssets(): PageAssets {
  // npm calls us through a link; the page lies beside the real file.
  const folder = join(dirname(realpathSync(process.argv[1] ?? '')), '../page');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { script: read('page.js'), style: read('page.css') };
}
