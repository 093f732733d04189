/** How many columns a terminal needs for any text. */
import { loadBundled } from './package.ts';

let library: ((text: string) => number) | undefined;

/** Loaded when it is first needed: its tables take longer to set up than Node itself. */
export function stringWidth(text: string): number {
  library ??= loadBundled('string-width') as (text: string) => number;
  return library(text);
}
