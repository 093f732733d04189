/** Where the programs are that Ralph starts beside itself: next to the bundle, or next to the modules of the library. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From the source, as the tests run it, the built one is used. */
const PLACES = ['./NAME.cjs', './NAME.js', '../../dist/bin/NAME.cjs'];

export function programPath(name: 'srt-host' | 'inside'): string {
  const paths = PLACES.map(place => fileURLToPath(new URL(place.replace('NAME', name), import.meta.url)));
  return paths.find(path => existsSync(path)) ?? paths[0] ?? name;
}
