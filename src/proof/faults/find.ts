/** The faults that the changed lines of a project allow. */
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTestFile } from '../../domain/checks/test-changes.ts';
import type { ChangedFile } from '../../workspace/changed-lines.ts';
import { LARGE, shownPath } from '../../workspace/repository.ts';
import type { FileMutants } from './choose.ts';
import { mutateJavaScript } from './javascript.ts';
import { LANGUAGES, type Language } from './languages.ts';
import { mutateLines } from './lines.ts';
import { type Mutant, type Mutator, toMutants } from './mutant.ts';

export interface Found extends FileMutants {
  /** How many of its lines have changed. */
  readonly lines: number;
}

/** Whether there is a mutator for it, and it is no test. */
export function isMutable(file: string): boolean {
  return mutatorOf(file) !== undefined && !isTestFile(file) && !NOT_WRITTEN.test(file);
}

/** Declarations hold no code, and nobody tests what a program has written. */
const NOT_WRITTEN =
  /\.d\.[cm]?ts$|[.-]min\.[cm]?js$|\.(?:pb|gen)\.go$|_pb2\.py$|(^|\/)(?:node_modules|vendor|third_party)\//;

function mutatorOf(file: string): Mutator | undefined {
  if (/\.(?:[cm]?[jt]s|[jt]sx)$/.test(file)) return mutateJavaScript;
  const language = languageOf(file);
  return language && mutateLines(language);
}

function languageOf(file: string): Language | undefined {
  return LANGUAGES.find(({ files }) => files.test(file));
}

/** What a file allows, or why it is left out. */
export function findMutants(cwd: string, { file, ranges }: ChangedFile): Found | string {
  const left = (why: string) => `${shownPath(file)} was skipped: ${why}`;
  const path = join(cwd, file);
  const stat = lstatSync(path, { throwIfNoEntry: false });
  // A link leads to a file that may not be in the copy.
  if (!stat?.isFile()) return left('it is not a regular file');
  if (stat.size > LARGE) return left('it is larger than 1 MB');
  const bytes = readFileSync(path);
  const source = bytes.toString('utf8');
  if (bytes.includes(0)) return left('it is binary');
  if (!Buffer.from(source).equals(bytes)) return left('it is not UTF-8');
  if (languageOf(file)?.deletes?.test(source))
    return left('it deletes folders, and with a fault in it that could be any folder');
  const lines = ranges.reduce((sum, [from, to]) => sum + Math.min(to, lineCount(source)) - from + 1, 0);
  const mutants = mutantsIn(source, file, ranges);
  return 'trouble' in mutants
    ? left(`it cannot be parsed: ${mutants.trouble}`)
    : { file, source, lines, mutants };
}

/** Pure: the faults in those lines of a source. */
export function mutantsIn(
  source: string,
  file: string,
  ranges: ChangedFile['ranges'],
): readonly Mutant[] | { readonly trouble: string } {
  const edits = mutatorOf(file)?.(source, file) ?? [];
  if ('trouble' in edits) return edits;
  return toMutants(source, edits).filter(({ line }) =>
    ranges.some(([from, to]) => from <= line && line <= to),
  );
}

function lineCount(source: string): number {
  return source.split('\n').length - (source.endsWith('\n') ? 1 : 0);
}
