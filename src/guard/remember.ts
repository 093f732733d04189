/** What a command leaves behind for those after it. */
import { type Call, UNKNOWN, values } from './call.ts';
import { printed } from './printed.ts';
import type { Scope } from './words.ts';

export interface Notes {
  /** Files that the script itself has written, and what is in them where that can be known. */
  readonly files: Map<string, string>;
  /** Files that it has downloaded, and with what. */
  readonly downloads: Map<string, Call>;
}

/** What a command leaves behind for those after it: where one is, what variables hold, what is in a file. */
export function remember(call: Call, scope: Scope, notes: Notes, home: string | undefined): void {
  const { name, args } = call;
  if (['export', 'declare', 'typeset', 'local', 'readonly'].includes(name)) {
    for (const word of args) {
      const [, key, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
      const isName = args.some(each => /^-[a-zA-Z]*n/.test(each));
      if (key !== undefined) scope.vars.set(key, (isName ? scope.vars.get(value ?? '') : value) ?? '');
    }
  }
  if (name === 'read')
    for (const word of args)
      if (/^[A-Za-z_]\w*$/.test(word)) scope.vars.set(word, call.input?.trimEnd() ?? UNKNOWN);
  if (name === 'printf' && args[0] === '-v')
    scope.vars.set(args[1] ?? '', printed({ ...call, args: args.slice(2) }) ?? UNKNOWN);
  if (name === 'set' && args.includes('--'))
    setPositional(scope, ['sh', ...args.slice(args.indexOf('--') + 1)]);
  if (name === 'cd' || name === 'pushd')
    scope.cwd = folderFrom(
      scope.cwd,
      args.find(word => !/^-[PLe@-]+$/.test(word)),
      home,
    );
  for (const path of downloaded(call)) notes.downloads.set(path.replace(/^\.\//, ''), call);
  const text = call.writes.length > 0 || name === 'tee' ? printed(call) : undefined;
  if (text === undefined) return;
  for (const path of [...call.writes, ...(name === 'tee' ? args : [])])
    notes.files.set(path.replace(/^\.\//, ''), text);
}

/** `$0`, `$1` and so on, and all of them. */
export function setPositional({ vars }: Scope, words: readonly string[]): void {
  words.forEach((word, index) => {
    vars.set(String(index), word);
  });
  vars.set('@', words.slice(1).join(' '));
  vars.set('*', words.slice(1).join(' '));
}

/** The files into which it puts what it has downloaded. */
function downloaded(call: Call): readonly string[] {
  const { name, args, writes } = call;
  if (name !== 'curl' && name !== 'wget') return [];
  const named = values(call, ...(name === 'curl' ? ['o', 'output'] : ['O', 'output-document']));
  const byUrl =
    named.length === 0 &&
    (name === 'wget' || args.some(word => /^-[a-zA-Z]*O/.test(word) || word === '--remote-name'));
  const urls = byUrl ? args.flatMap(word => /^https?:\/\/.*\/([^/?#]+)/.exec(word)?.[1] ?? []) : [];
  return [...writes, ...named, ...urls];
}

/** Where somebody is who goes there. */
export function folderFrom(cwd: string | undefined, to = '~', home = UNKNOWN): string | undefined {
  const target = to.replace(/^~(?=\/|$)/, home);
  if (target === '-' || target.startsWith('~') || /[\uFFFB\uFFFC]/.test(target)) return undefined;
  if (target.startsWith('/')) return target;
  return cwd === undefined ? undefined : `${cwd}/${target}`;
}
