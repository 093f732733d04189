/** The words of a command, and paths in them: no file is looked at. */

import type { Words } from '../text/shell-words.ts';
import { STARTERS } from './tools.ts';

/** The command behind those that only start it, and their names. */
export function started(words: Words): { readonly words: Words; readonly passed: Words } {
  const passed: string[] = [];
  let left = words;
  for (;;) {
    while (left[0] !== undefined && (/^[A-Za-z_]\w*=/.test(left[0]) || KEYWORDS.has(left[0])))
      left = left.slice(1);
    const skip = STARTERS[left[0] ?? ''];
    if (!skip || !Object.hasOwn(STARTERS, left[0] ?? '')) return { words: left, passed };
    passed.push(left[0] ?? '');
    left = left.slice(1);
    while (left[0] !== undefined && skip.test(left[0])) left = left.slice(1);
  }
}

const KEYWORDS: ReadonlySet<string> = new Set([
  'if',
  'then',
  'else',
  'elif',
  'fi',
  'while',
  'do',
  'done',
  '!',
  '{',
  '}',
]);

/** What these name is a file, where it looks like one. */
export const FILE_FLAGS =
  '--config -c --project -p --rcfile --file -f --makefile --justfile --manifest-path -r --require --import --loader --experimental-loader --env-file --setupFiles'.split(
    ' ',
  );

/** Files that flags name: those that look like one. */
export function namedFiles(args: Words): readonly string[] {
  return FILE_FLAGS.flatMap(flag => flagValue(args, [flag]) ?? []).filter(
    value => /[./]/.test(value) && !/\s/.test(value),
  );
}

export function flagValue(args: Words, flags: readonly string[]): string | undefined {
  for (const [index, arg] of args.entries()) {
    if (flags.includes(arg)) return args[index + 1];
    const flag = flags.find(each => arg.startsWith(`${each}=`));
    if (flag !== undefined) return arg.slice(flag.length + 1);
  }
  return undefined;
}

/** `a/b/` and all above it, down to where the checks run. */
export function upwards(dir: string): readonly string[] {
  const parts = dir.split('/').filter(part => part !== '');
  if (parts.includes('..')) return [dir];
  return [...parts.map((_, index) => `${parts.slice(0, parts.length - index).join('/')}/`), ''];
}

/** `to` as it is meant in `dir`; '' or with a slash at its end. Absolute paths stay. */
export function below(dir: string, to: string): string | undefined {
  if (to === '' || to === '.') return dir;
  if (to.includes('$') || to.startsWith('~')) return undefined;
  const parts: string[] = [];
  for (const part of (to.startsWith('/') ? to : `${dir}${to}`).split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  const joined = parts.join('/');
  return to.startsWith('/') ? `/${joined}/` : joined === '' ? '' : `${joined}/`;
}
