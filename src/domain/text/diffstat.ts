/** A unified diff, file by file, and how much changed in each. */

export interface FileDiff {
  readonly name: string;
  /** From the first place of a change on; of a file that is no text, what git says of it. */
  readonly lines: readonly string[];
  readonly added: number;
  readonly removed: number;
}

/** How much changed in a file. */
export type FileSum = Pick<FileDiff, 'name' | 'added' | 'removed'>;

export function filesOf(diff: string): readonly FileDiff[] {
  return diff
    .split(/^(?=diff --git )/m)
    .filter(piece => piece.trim() !== '')
    .map(piece => {
      const lines = piece.replace(/\n$/, '').split('\n');
      const at = lines.findIndex(line => line.startsWith('@@'));
      const body = at === -1 ? [] : lines.slice(at);
      return {
        name: / b\/(.*?)"?$/.exec(lines[0] ?? '')?.[1] ?? lines[0] ?? '',
        lines: at === -1 ? lines : body,
        added: body.filter(line => line.startsWith('+')).length,
        removed: body.filter(line => line.startsWith('-')).length,
      };
    });
}

/** `3 files changed, 12 insertions, 4 deletions`. */
export function diffSum(files: readonly FileSum[]): string {
  const sum = (of: (file: FileSum) => number) => files.reduce((all, file) => all + of(file), 0);
  const say = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
  return [
    `${say(files.length, 'file')} changed`,
    say(
      sum(({ added }) => added),
      'insertion',
    ),
    say(
      sum(({ removed }) => removed),
      'deletion',
    ),
  ].join(', ');
}
