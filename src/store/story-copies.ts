/** Copies of a story list, by their hash: in the run's folder for readers, and outside the project, where no agent reaches them. */
import { dirname } from 'node:path';
import { ensureFolder, readPart, writeAtomic } from '../platform/files.ts';
import type { RunPaths } from './paths.ts';

export function writeStoryCopy(paths: RunPaths, hash: string, text: string): void {
  for (const copy of [paths.state.stories(hash), paths.stories(hash)]) {
    ensureFolder(dirname(copy));
    writeAtomic(copy, text);
  }
}

const LONGEST = 8 * 1024 * 1024;

/** The caller compares it with the hash where that matters. undefined: there is none. */
export function readStoryCopy(paths: RunPaths, hash: string): string | undefined {
  return (readPart(paths.state.stories(hash), LONGEST) ?? readPart(paths.stories(hash), LONGEST))?.text;
}
