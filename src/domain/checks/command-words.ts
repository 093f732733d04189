/** The words of a command, and paths in them: no file is looked at. */

import { simpleCommands, type Words } from '../text/shell-words.ts';
import { skipped } from '../text/wrappers.ts';
import { starterOf } from './tools.ts';

/** The command behind those that only start it, their names, and the folder that they choose. */
export function started(words: Words): {
  readonly words: Words;
  readonly passed: Words;
  readonly dir: string;
} {
  const passed: string[] = [];
  let dir = '';
  let left = words;
  for (;;) {
    const first = left.findIndex(word => !ASSIGNMENT.test(word) && !KEYWORDS.has(word));
    left = first === -1 ? [] : left.slice(first);
    const [name = '', ...rest] = left;
    const starter = starterOf(name);
    if (!starter) return { words: left, passed, dir };
    passed.push(name);
    left = skipped(rest, starter);
    const own = rest.slice(0, rest.length - left.length);
    if (name !== 'env') continue;
    dir = flagValue(own, ['-C', '--chdir']) ?? dir;
    if (own.includes('-S')) left = [...simpleCommands(left[0] ?? '').flat(), ...left.slice(1)];
  }
}

const ASSIGNMENT = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/;

export type Variables = Map<string, Words>;

/** What a command says of variables: assignments, and the words of a `for`. */
export function noteVariables(words: Words, vars: Variables): void {
  const [, name = '', isIn, ...list] = words.slice(Math.max(0, words.indexOf('for')));
  if (isIn === 'in') vars.set(name, list);
  for (const word of words) {
    const [, set, value = ''] = ASSIGNMENT.exec(word) ?? [];
    if (set !== undefined) vars.set(set, [value]);
  }
}

const MOST_VALUES = 64;
/** What is longer names no file: variables that double one another would have no end. */
const LONGEST_WORD = 10_000;

/** The words with what is known of variables in them, once for each value; what is not known stays. */
export function expandVariables(words: Words, vars: Variables): readonly Words[] {
  const each = words.map((word, index) => {
    const values = valuesOf(word, vars);
    // A command that is in a variable is several words.
    return index === 0 && word.startsWith('$') ? values.map(value => simpleCommands(value).flat()) : values;
  });
  const most = each.reduce((max, { length }) => Math.max(max, length), 1);
  return Array.from({ length: most }, (_, nth) => each.flatMap(values => values[nth % values.length] ?? []));
}

function valuesOf(word: string, vars: Variables): Words {
  const named = [...word.matchAll(/\$(?:\{(\w+)\}|(\w+))/g)].map(found => found[1] ?? found[2] ?? '');
  return [...new Set(named)].reduce<Words>(
    (words, name) => {
      const values = vars.get(name);
      if (!values) return words;
      const here = new RegExp(`\\$(?:\\{${name}\\}|${name}(?!\\w))`, 'g');
      return words
        .flatMap(each => {
          const room = (LONGEST_WORD - each.length) / (each.match(here)?.length ?? 1);
          return values.filter(({ length }) => length <= room).map(value => each.replace(here, () => value));
        })
        .slice(0, MOST_VALUES);
    },
    [word],
  );
}

/** The commands whose output becomes part of a word. */
export function substitutions(word: string): Words {
  return [...word.matchAll(/\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`/g)].map(
    found => found[1] ?? found[2] ?? '',
  );
}

const KEYWORDS: ReadonlySet<string> = new Set([
  'if',
  'then',
  'else',
  'elif',
  'fi',
  'while',
  'until',
  'do',
  'done',
  '!',
  '{',
  '}',
  'coproc',
]);

/** What these name is a file, where it looks like one. */
export const FILE_FLAGS =
  '--config -c --project -p --rcfile --file -f --makefile --justfile --manifest-path -r --require --import --loader --experimental-loader --env-file --env-file-if-exists --experimental-config-file --test-global-setup --setupFiles'.split(
    ' ',
  );

/** Files that flags name: those that look like one. */
export function namedFiles(args: Words): readonly string[] {
  return FILE_FLAGS.flatMap(flag => flagValue(args, [flag]) ?? []).filter(value => /[./]/.test(value));
}

export function flagValue(args: Words, flags: readonly string[]): string | undefined {
  for (const [index, arg] of args.entries()) {
    if (flags.includes(arg)) return args[index + 1];
    const flag = flags.find(each => arg.startsWith(`${each}=`));
    if (flag !== undefined) return arg.slice(flag.length + 1);
    if (flags.includes('-C') && /^-C./.test(arg)) return arg.slice(2);
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
  if (to.startsWith('~')) return undefined;
  const parts: string[] = [];
  for (const part of (to.startsWith('/') ? to : `${dir}${to}`).split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  const joined = parts.join('/');
  return to.startsWith('/') ? `/${joined}/` : joined === '' ? '' : `${joined}/`;
}
