/** How many columns a terminal needs for any text. */
import { createRequire } from 'node:module';

let library: ((text: string) => number) | undefined;

/** Loaded when it is first needed: its tables take longer to set up than Node itself. */
export function stringWidth(text: string): number {
  library ??= createRequire(import.meta.url)('#string-width') as (text: string) => number;
  return library(text);
}
