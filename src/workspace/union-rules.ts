/**
 * The one rule for merging that a repository may have a say in: `merge=union`, which takes the lines of both sides and runs nothing. What has
 * landed says which files have it. Every other rule, a driver above all, would run a program or hide what conflicts.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Git } from '../platform/git.ts';
import { readAll } from './own-objects.ts';

/** What `merge` gives where git sees these rules; undefined: there are none. */
export async function withUnionRules<T>(
  git: Git,
  commit: string,
  merge: (there: Git) => Promise<T>,
): Promise<T | undefined> {
  const rules = await rulesIn(git, commit);
  if (rules.length === 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'ralph-merge-'));
  try {
    for (const [path, text] of rules) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return await merge(git.at(folder).with({ GIT_WORK_TREE: folder }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function rulesIn(git: Git, commit: string): Promise<readonly (readonly [string, string])[]> {
  const listed = await git.list(['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit]);
  const paths = listed.records.filter(path => /(^|\/)\.gitattributes$/.test(path) && isPlain(path));
  const texts: (readonly [string, string])[] = [];
  for (const path of paths) {
    const text = (await readAll(git, ['cat-file', 'blob', `${commit}:${path}`]))?.toString('utf8') ?? '';
    texts.push([path, unionOnly(text)]);
  }
  return texts.some(([, text]) => text.includes(UNION)) ? texts : [];
}

function isPlain(path: string): boolean {
  return path.split('/').every(part => part !== '' && part !== '.' && part !== '..');
}

const UNION = 'merge=union';

/** Of each line what it says of merging: `union`, or that it is not. Names that stand for several rules stay names. */
export function unionOnly(text: string): string {
  const names = [...text.matchAll(/^\[attr\](\S+)/gm)].map(([, name = '']) => name);
  const kept = (rule: string) => {
    if (rule === UNION || names.includes(rule.replace(/^[-!]/, ''))) return [rule];
    return /^[-!]?merge(=|$)|^binary$/.test(rule) ? ['!merge'] : [];
  };
  return text
    .split(/\r?\n/)
    .map(line => {
      const [, pattern = '', rules = ''] = /^\s*("(?:[^"\\]|\\.)*"|\S+)\s+(.*)$/.exec(line) ?? [];
      const words = pattern.startsWith('#') ? [] : rules.split(/\s+/).flatMap(kept);
      return words.length === 0 ? '' : `${pattern} ${words.join(' ')}\n`;
    })
    .join('');
}
