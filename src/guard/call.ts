/** One simple command as it would run, with everything a rule may ask of it. Pure. */

/** Stands in a word for what cannot be known before it runs. */
export const UNKNOWN = '\uFFFC';
/** Stands in a word for a variable that nothing has set: it may well be empty. */
export const UNSET = '\uFFFB';

export interface Call {
  /** Without its folder; `UNKNOWN` where it cannot be known. */
  readonly name: string;
  readonly args: readonly string[];
  /** The same words as they were written, for what expansion has hidden. */
  readonly written: string;
  /** Absolute; undefined where it cannot be known. */
  readonly cwd: string | undefined;
  /** In a container or on another machine the files are not ours. */
  readonly place: 'here' | 'remote' | 'container';
  /** `NAME=value` in front of it. */
  readonly assigned: readonly Assigned[];
  readonly writes: readonly string[];
  readonly reads: readonly string[];
  /** What it gets on its stdin, where that can be known. */
  readonly input: string | undefined;
  /** The commands before it in its pipeline. */
  readonly from: readonly Call[];
  /** The names of those behind it. */
  readonly into: readonly string[];
  /** The script on the disk in which it stands. */
  readonly file?: string;
  /** Words that may be a command or may be words. */
  readonly isGuess?: true;
}

export interface Assigned {
  readonly name: string;
  readonly value: string;
}

/** Whether one of these flags is given: `r` for -r, also among others (-rf), `recursive` for --recursive and its beginnings. */
export function has(call: Call, ...names: readonly string[]): boolean {
  return flagsOf(call).some(word =>
    names.some(name =>
      name.length === 1
        ? isShort(word, name)
        : isLong(word, name) || word === `-${name}` || word.startsWith(`-${name}=`),
    ),
  );
}

function flagsOf({ args }: Call): readonly string[] {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).filter(word => word.startsWith('-') && word !== '-');
}

function isShort(word: string, name: string): boolean {
  return /^-[^-]/.test(word) && (word.split('=')[0] ?? '').slice(1).includes(name);
}

function isLong(word: string, name: string): boolean {
  const given = /^--([^=]+)/.exec(word)?.[1];
  return given !== undefined && (given === name || (given.length > 3 && name.startsWith(given)));
}

/** The words that are no flags. */
export function operands({ args }: Call): readonly string[] {
  const end = args.indexOf('--');
  if (end < 0) return args.filter(word => !word.startsWith('-') || word === '-');
  return [...args.slice(0, end).filter(word => !word.startsWith('-')), ...args.slice(end + 1)];
}

/** The values of a flag: `-o file`, `-ofile`, `--output file`, `--output=file`. */
export function values({ args }: Call, ...names: readonly string[]): readonly string[] {
  return args.flatMap((word, at) => {
    for (const name of names) {
      const flag = name.length === 1 ? `-${name}` : `--${name}`;
      if (word === flag || (name.length > 1 && word === `-${name}`)) return [args[at + 1] ?? ''];
      if (word.startsWith(`${flag}=`)) return [word.slice(flag.length + 1)];
      if (name.length === 1 && word.startsWith(flag) && !word.startsWith('--')) return [word.slice(2)];
    }
    return [];
  });
}

/** Flags of the program itself that stand before its subcommand and have a value. */
const GLOBAL: Readonly<Record<string, readonly string[]>> = {
  git: ['-C', '-c', '--git-dir', '--work-tree', '--namespace', '--exec-path'],
  docker: ['-H', '--host', '-c', '--context', '--config', '-l', '--log-level'],
  kubectl: ['-n', '--namespace', '--context', '--cluster', '--kubeconfig', '-s', '--server', '--user'],
  helm: ['-n', '--namespace', '--kube-context', '--kubeconfig'],
  aws: ['--profile', '--region', '--endpoint-url', '--output', '--query'],
  gcloud: ['--project', '--account', '--configuration', '--format'],
  npm: ['--prefix', '-C', '-w', '--workspace', '--registry', '--userconfig'],
  terraform: ['-chdir'],
  gh: ['-R', '--repo'],
};

/** The subcommand and what follows it, without the flags before it. */
export function afterGlobals(call: Call): readonly string[] {
  const withValue = GLOBAL[call.name === 'podman' ? 'docker' : call.name] ?? [];
  let at = 0;
  for (let word = call.args[at]; word?.startsWith('-'); word = call.args[at]) {
    at += withValue.includes(word) ? 2 : 1;
  }
  return call.args.slice(at);
}

/** Whether it is called with this subcommand, `a|b` for one of several. */
export function sub(call: Call, ...path: readonly string[]): boolean {
  const words = afterGlobals(call).filter(word => !word.startsWith('-'));
  return path.every((name, at) => name.split('|').includes(words[at] ?? ''));
}

/** The operands behind the subcommand. */
export function behind(call: Call, depth = 1): readonly string[] {
  return operands({ ...call, args: afterGlobals(call) }).slice(depth);
}

/** It as one line. */
export function line({ name, args }: Pick<Call, 'name' | 'args'>): string {
  return [name, ...args].join(' ');
}

/** By program: words of a call that show it, flags (in one text) that show it, or a test. */
export type Signs = Readonly<Record<string, RegExp | string | ((call: Call) => boolean)>>;

/** undefined where the table has no row for the program. */
export function shows(call: Call, signs: Signs): boolean | undefined {
  const sign = rowOf(signs, call.name);
  if (sign instanceof RegExp) return sign.test(call.args.join(' '));
  return typeof sign === 'string' ? has(call, ...sign.split(' ')) : sign?.(call);
}

/** A test of the first word that is no flag. */
export const verb = (names: RegExp) => (call: Call) => names.test(operands(call)[0] ?? '');

/** A file that is what the command gets on its stdin, or from a substitution. */
export function isStdin(file: string): boolean {
  return file.includes(UNKNOWN) || /^(?:-|\/dev\/(?:stdin|fd\/\d+)|\/proc\/[^/]+\/fd\/\d+)$/.test(file);
}

/** The same row for several names. */
export function rows<Row>(names: string, row: Row): Readonly<Record<string, Row>> {
  return Object.fromEntries(names.split(' ').map(name => [name, row]));
}

/** A name may be that of something every object has. */
export function rowOf<Row>(table: Readonly<Record<string, Row>>, name: string): Row | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
