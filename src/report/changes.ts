/** What a run changed since it began: the diff as it was kept after its last turn, and how much there is in each file. */

import { fenced } from '../domain/run/loop-prompt.ts';
import { diffSum, type FileDiff, filesOf } from '../domain/text/diffstat.ts';
import { readPart } from '../platform/files.ts';
import { clip, displayWidth, harmless } from '../platform/text.ts';
import type { RunPaths } from '../store/paths.ts';
import { counted } from './numbers.ts';
import { phrase } from './phrases.ts';
import type { Part, RunView } from './run-view.ts';
import { paint, type Style } from './style.ts';

/** As the run left it, or as the iteration `upTo` did. null: nothing was kept, because nothing changed, or because there is no repository. */
export function changesOf(
  { iterations, restores }: RunView,
  paths: RunPaths,
  most: number,
  upTo = Number.POSITIVE_INFINITY,
): Part | null {
  const isUndone = (number: number) =>
    restores.some(({ from, to }) => from < upTo && number > to && number <= from);
  for (const { number } of iterations.toReversed()) {
    if (number > upTo || isUndone(number)) continue;
    const found = partOf(paths.iteration(number).diff, most);
    if (found) return found;
  }
  return null;
}

/** What the user had changed before the run; null: nothing, or nobody looked. */
export function changesBefore(paths: RunPaths, most: number): Part | null {
  return partOf(paths.iteration(0).diff, most);
}

/** null: there is nothing in it. */
export function partOf(file: string, most: number, from: 'head' | 'tail' = 'head'): Part | null {
  const found = readPart(file, most, from);
  if (!found || found.bytes === 0) return null;
  return { text: found.text, left: Math.max(0, found.bytes - most), file };
}

const BAR = 30;
const MOST_FILES = 40;

/** As `git diff --stat` has it. */
export function statLines(files: readonly FileDiff[], style: Style): readonly string[] {
  const shown = files.slice(0, MOST_FILES);
  const width = Math.min(
    Math.max(...shown.map(({ name }) => displayWidth(phrase(name)))),
    Math.max(10, style.width - 20),
  );
  const room = Math.max(5, Math.min(BAR, style.width - width - 12));
  const largest = Math.max(room, ...shown.map(({ added, removed }) => added + removed));
  const bar = (count: number) => (count === 0 ? 0 : Math.max(1, Math.round((count / largest) * room)));
  const rows = shown.map(({ name, added, removed }) => {
    const label = clip(phrase(name), width);
    const signs = `${paint(style, 'green', '+'.repeat(bar(added)))}${paint(style, 'red', '-'.repeat(bar(removed)))}`;
    return ` ${label}${' '.repeat(width - displayWidth(label))} | ${String(added + removed).padStart(4)} ${signs}`;
  });
  const more = files.length - shown.length;
  return [...rows, ...(more > 0 ? [` … ${counted(more, 'more file')}`] : []), ` ${diffSum(files)}`];
}

const COLORS = { '+': 'green', '-': 'red', '@': 'cyan' } as const;

/** Nothing in it can do anything to a terminal. */
export function diffLines(text: string, style: Style): readonly string[] {
  return harmless(text.trimEnd())
    .split('\n')
    .map(line => {
      const color = COLORS[line[0] as keyof typeof COLORS];
      return color && !/^(?:\+\+\+|---) /.test(line) ? paint(style, color, line) : line;
    });
}

/** For a pull request: the sum, and the rest folded. */
export function changesInMarkdown({ text, left }: Part, title = ''): readonly string[] {
  const files = filesOf(text);
  const rest = left > 0 ? `\n… ${left} more bytes: ralph show\n` : '';
  return [
    '',
    '<details>',
    `<summary>${title}${diffSum(files)}</summary>`,
    '',
    fenced(harmless(`${text}${rest}`), 'diff'),
    '',
    '</details>',
  ];
}
