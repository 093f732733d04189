/** The commands that run other commands: what each of them would run. */
import { ENV, skipped, WRAPPERS } from '../domain/text/wrappers.ts';
import { afterGlobals, type Call, has, isStdin, operands, rowOf, rows, UNKNOWN, values } from './call.ts';
import { codeOf, shellTextsIn, startsOthers } from './code.ts';
import { composed, container, type Inner, NOTHING, podded, runs, ssh } from './inner.ts';
import { printed } from './printed.ts';

const SHELLS = /^(?:ba|z|da|k|mk|a|fi|c|tc)?sh$/;

export const isShell = (name: string) => SHELLS.test(name);

export function innerOf(call: Call, first: string): Inner {
  const { name, args } = call;
  if (isShell(name)) return shell(call);
  const simple = rowOf(WRAPPERS, name);
  if (simple) return runs(...skipped(args, simple));
  const special = rowOf(SPECIAL, name);
  if (special) return special(call);
  const texts = shellTextsIn(call);
  if (texts.length > 0) return { ...NOTHING, scripts: texts, guessed: true };
  // A script that is called by its path.
  return first.includes('/') && /\.(?:sh|bash|zsh)$|^\.{0,2}\/[^.]+$/.test(first)
    ? { ...NOTHING, files: [first] }
    : NOTHING;
}

/** `-c TEXT` (also among other flags), a file, or what comes on its stdin. */
function shell(call: Call): Inner {
  const { args, input } = call;
  const at = args.findIndex(word => /^-[a-zA-Z]*c[a-zA-Z]*$/.test(word) && !word.startsWith('--'));
  if (at >= 0) {
    const [text, ...positional] = args
      .slice(at + 1)
      .filter((word, index, all) =>
        index > 0 && !/^[-+]/.test(all[0] ?? '') ? true : !/^[-+][a-zA-Z]/.test(word),
      );
    return text === undefined ? NOTHING : { ...NOTHING, scripts: [text], positional };
  }
  const [file] = args.filter((word, index) => !/^[-+]/.test(word) && args[index - 1] !== '-o');
  if (file !== undefined && !args.includes('-s') && !isStdin(file)) return { ...NOTHING, files: [file] };
  return input === undefined ? { ...NOTHING, files: fedBy(call) } : { ...NOTHING, scripts: [input] };
}

/** The files that it gets on its stdin: `sh < a`, `cat a | sh`. */
export function fedBy({ reads, from }: Pick<Call, 'reads' | 'from'>): readonly string[] {
  const last = from.at(-1);
  return [...reads, ...(last?.name === 'cat' ? [...operands(last), ...last.reads] : [])];
}

const SPECIAL: Readonly<Record<string, (call: Call) => Inner>> = {
  command: call => (call.args.some(word => /^-[vV]/.test(word)) ? NOTHING : runs(...skipped(call.args, {}))),
  eval: ({ args }) => ({ ...NOTHING, scripts: [args.join(' ')], ownShell: false }),
  ...rows('source .', sourced),
  trap: ({ args }) => ({ ...NOTHING, scripts: args.slice(0, 1).filter(word => !word.startsWith('-')) }),
  alias: ({ args }) => ({ ...NOTHING, scripts: args.flatMap(word => /^[^=]+=(.*)$/s.exec(word)?.[1] ?? []) }),
  ...rows('su script', given),
  runuser: call => {
    const { scripts } = given(call);
    const { args } = call;
    const own = skipped(args, { valued: '-u -g -G -s --user --group --shell' });
    return scripts.length > 0 ? { ...NOTHING, scripts } : runs(...own);
  },
  ...rows('vim vi nvim ex', edited),
  sed: ({ args, input }) => ({
    ...NOTHING,
    scripts: [
      ...[...args, ...programLines(args, input)].flatMap(
        word => /(?:^|[;\d$}]\s*)e\s+(.+)$/.exec(word)?.[1] ?? [],
      ),
      ...(args.some(word => /(?:^|[;\d$}/])e$/.test(word)) ? (input?.split('\n', MOST_LINES) ?? []) : []),
    ],
    guessed: true,
  }),
  tar: call => ({
    ...NOTHING,
    scripts: [
      ...values(call, 'checkpoint-action').map(each => each.replace(/^exec=/, '')),
      ...values(call, 'to-command', 'use-compress-program', 'I'),
    ],
    guessed: true,
  }),
  flock: call => {
    const scripts = values(call, 'c', 'command');
    return scripts.length > 0
      ? { ...NOTHING, scripts }
      : runs(...skipped(call.args, { valued: '-w -E --timeout', skip: 1 }));
  },
  env,
  make,
  gmake: make,
  xargs,
  watch: ({ args }) => ({
    ...NOTHING,
    scripts: [skipped(args, { valued: '-n --interval' }).join(' ')],
    guessed: true,
  }),
  parallel,
  find,
  fd: call => {
    const at = call.args.findIndex(word => ['-x', '-X', '--exec', '--exec-batch'].includes(word));
    return at < 0 ? NOTHING : runs(...call.args.slice(at + 1), UNKNOWN);
  },
  ssh,
  ...rows('docker podman nerdctl', container),
  'docker-compose': composed,
  ...rows('kubectl oc', podded),
  nsenter: call => runs(...skipped(call.args, { valued: '-t --target -S -G' })),
  git,
  npm: call =>
    /^(?:exec|x)$/.test(afterGlobals(call)[0] ?? '') ? called(call, afterGlobals(call).slice(1)) : NOTHING,
  npx: call => called(call, call.args),
  ...rows('pnpm yarn', call =>
    /^(?:exec|dlx)$/.test(call.args[0] ?? '') ? runs(...skipped(call.args.slice(1), {})) : NOTHING,
  ),
  uv: call =>
    call.args[0] === 'run' ? runs(...skipped(call.args.slice(1), { valued: '--with --python' })) : NOTHING,
  poetry: call => (call.args[0] === 'run' ? runs(...call.args.slice(1)) : NOTHING),
  tmux: ({ args }) =>
    /^(?:new|new-session|send-keys|send|run-shell|run|split-window|new-window|neww|splitw)$/.test(
      args[0] ?? '',
    )
      ? { ...NOTHING, scripts: args.slice(1).filter(word => /\s/.test(word)) }
      : NOTHING,
  screen: call => runs(...skipped(call.args, { valued: '-S -X -p -t' })),
  ansible: call => ({ ...NOTHING, scripts: values(call, 'a', 'args'), place: 'remote' }),
};

/** `-S TEXT` is split into words, also among other flags. */
function env(call: Call): Inner {
  const { args } = call;
  const [folder] = values(
    { ...call, args: args.slice(0, args.length - skipped(args, ENV).length) },
    'C',
    'chdir',
  );
  const where = folder === undefined ? {} : { folder };
  const at = args.findIndex(word => /^-[a-zA-Z]*S|^--split-string\b/.test(word));
  if (at < 0) return { ...runs(...skipped(args, ENV)), ...where };
  const own = (args[at] ?? '').replace(/^--split-string=?|^-[a-zA-Z]*?S/, '');
  return { ...NOTHING, ...where, scripts: [[own, ...args.slice(at + 1)].join(' ').replaceAll('\\_', ' ')] };
}

const MOST_LINES = 2_000;

/** What it is ordered to do without a file of the project: each line, and what stands behind a colon or in `$(shell …)`. */
function make(call: Call): Inner {
  const files = values(call, 'f', 'file', 'makefile').filter(file => file === '' || isStdin(file));
  const texts = [...values(call, 'E', 'eval'), ...(files.length > 0 ? [call.input ?? ''] : [])];
  const lines = texts.join('\n').split('\n', MOST_LINES);
  const recipes = lines.map(text => text.replace(/^[^\t]*?:[^;]*;?|^\t/, '').replace(/^[@+-]+/, ''));
  const asked = lines.flatMap(text =>
    [...text.matchAll(/\$\(shell ([^)]*)\)/g)].map(found => found[1] ?? ''),
  );
  const shells = call.args.flatMap(word => /^SHELL:*=(.*)$/s.exec(word)?.[1] ?? []);
  return {
    ...NOTHING,
    scripts: [...recipes, ...asked, ...shells].filter(text => text.trim() !== ''),
    guessed: true,
  };
}

/** Programs that only print, compare or look for what they are given. */
const READERS = new Set(
  'echo printf cat tee grep egrep fgrep zgrep rg ag ack jq yq gh glab man apropos whatis which type help test [ [[ true false : expr logger say ls wc head tail sort uniq diff cmp comm tr cut column fold fmt nl rev tac strings file stat basename dirname touch mkdir cp mv ln read export declare typeset local readonly unset set shift return exit cd pushd popd'.split(
    ' ',
  ),
);

/**
 * Of a program that nobody knows here: it may run what it is given, from any of its words on, or as a text. Of one that is known, the texts:
 * most have flags that take a command, and a list of those ends somewhere.
 */
export function maybeRuns(call: Call): Inner {
  const { name, args, input = '' } = call;
  const code = codeOf(call);
  if (READERS.has(name) || isShell(name) || rowOf(WRAPPERS, name)) return NOTHING;
  if (code !== undefined && !startsOthers(code)) return NOTHING;
  const isKnown = rowOf(SPECIAL, name) !== undefined;
  const starts = args.flatMap((word, at) => (/^(?:[\w.-]*\/)*[a-z][\w.+-]*$/.test(word) ? [at] : []));
  const texts = args.flatMap((word, at) =>
    isMessage(word, args[at - 1]) ? [] : textsOf(word, args[at - 1]),
  );
  const lines = isKnown ? [] : [input, ...input.split('\n', MOST_LINES).flatMap(line => textsOf(line))];
  const program = programLines(args, input).flatMap(line => [...textsOf(line), ...endsOf(line)]);
  return {
    ...NOTHING,
    commands: isKnown ? [] : starts.slice(0, MOST_STARTS).map(at => args.slice(at)),
    scripts: guesses([...texts, ...lines, ...program]),
  };
}

/** What it reads from `<(…)` is a program of its own kind, more often than not. */
function programLines(args: readonly string[], input = ''): readonly string[] {
  return args.some(word => word.includes(UNKNOWN)) ? input.split('\n', MOST_LINES) : [];
}

/** A line from each of its words on: what stands before a command in another language is not known. */
function endsOf(line: string): readonly string[] {
  const starts = [...line.matchAll(/(?<=[^\w./~-])[\w./~]/g)].slice(0, MOST_STARTS);
  return starts.map(({ index }) => line.slice(index).replace(/[)"']+\s*$/, ''));
}

/** For people, or to be looked for. */
function isMessage(word: string, before = ''): boolean {
  const flag = /^--(?:message|title|body|notes?|description|grep|author|trailer|reason)\b/;
  return (
    /^-[SG]./.test(word) || flag.test(word) || flag.test(before) || /^-(?:[a-zA-Z]*m|[SG])$/.test(before)
  );
}

/** A word as a command: whole, in brackets, and where it is the value of a flag, behind the name of a setting of its own. */
function textsOf(word: string, before = ''): readonly string[] {
  if (!/\S\s+\S/.test(word)) return [];
  const value = word.replace(/^(?:--?[\w-]+=|-[a-zA-Z](?=\S))/, '');
  const isValue = value !== word || before.startsWith('-');
  const inner = [...value.matchAll(/[`({]\s*["']?([^"'`(){}]+)/g)].map(found => found[1] ?? '');
  return [value, ...inner].flatMap(text => {
    const bare = text.replace(/^(?:ext::)?[\s+:.|\\]*!?\s*(?:(?:shell|spawn|system|run|start)\s+)?/, '');
    return isValue ? [text, bare, bare.replace(/^[a-zA-Z][\w.-]*(?:=["']?|\s+)|["']$/g, '')] : [text, bare];
  });
}

/** More words than a wrapper has of its own. */
const MOST_STARTS = 12;

/** A command is at the beginning of its text; the rest of a long one would only keep the agent waiting. */
const LONGEST_GUESS = 4_000;

const guesses = (texts: readonly string[]) =>
  texts.map(text => text.slice(0, LONGEST_GUESS)).filter(text => /\S\s+\S/.test(text));

/** Variables that name a command for whoever reads them: an editor, a pager, what git connects with. */
export function maybeNamed(call: Call): readonly string[] {
  const { name, args, assigned } = call;
  const sets = /^(?:export|declare|typeset|readonly|env|sudo|cross-env)$/.test(name) ? args : [];
  const pairs = [...sets.filter(word => /^\w+=/.test(word)), ...(name === 'git' ? values(call, 'c') : [])];
  const named = [...pairs.map(each => each.replace(/^[^=]*=/, '')), ...assigned.map(each => each.value)];
  return guesses(named.map(value => value.replace(/^\s*(?:'[\w.]+=)?[|!]|'$/g, '')));
}

function called(call: Call, args: readonly string[]): Inner {
  const scripts = given({ ...call, args }).scripts;
  return scripts.length > 0 ? { ...NOTHING, scripts } : runs(...skipped(args, { valued: '-p --package' }));
}

/** `-c TEXT`, also among other flags. */
function given({ args }: Call): Inner {
  const at = args.findIndex(word => /^-[a-zA-Z]*c$/.test(word));
  const long = args.flatMap(word => /^--(?:command|call)=(.*)$/s.exec(word)?.[1] ?? []);
  return { ...NOTHING, scripts: [...(at < 0 ? [] : args.slice(at + 1, at + 2)), ...long] };
}

/** An editor that runs a command: `-c '!ls'`. */
function edited(call: Call): Inner {
  return {
    ...NOTHING,
    scripts: [...values(call, 'c', 'cmd'), ...(call.input?.split('\n', MOST_LINES) ?? [])].flatMap(
      each => /^:?!(.+)$/s.exec(each)?.[1] ?? [],
    ),
    guessed: true,
  };
}

function sourced(call: Call): Inner {
  const { args, input } = call;
  const [file = ''] = args;
  if (!isStdin(file)) return { ...NOTHING, files: args.slice(0, 1), ownShell: false };
  const given = input === undefined ? { files: fedBy(call) } : { scripts: [input] };
  return { ...NOTHING, ...given, ownShell: false };
}

/** A shell runs its words with each line that it gets, or the lines alone. */
function parallel(call: Call): Inner {
  const all = skipped(call.args, { valued: '-j --jobs' });
  const end = all.findIndex(word => word.startsWith(':::'));
  const words = end < 0 ? all : all.slice(0, end);
  const items = end < 0 ? (stdinOf(call)?.split('\n').filter(Boolean) ?? [UNKNOWN]) : all.slice(end + 1);
  const own = words.some(word => word.includes('{}')) ? words : [...words, '{}'];
  const commands = items.map(item => own.map(word => word.replaceAll('{}', item)));
  return {
    ...NOTHING,
    commands: words.length > 0 ? commands : [],
    scripts: commands.map(argv => argv.join(' ')),
    guessed: true,
  };
}

/** What it gets on its stdin, where that can be known. */
function stdinOf(call: Call): string | undefined {
  const from = call.from.at(-1);
  return call.input ?? (from && printed(from));
}

/** What it gets on its stdin becomes arguments; what `find` or a list names, where that is known. */
function xargs(call: Call): Inner {
  const own = skipped(call.args, {
    valued: '-n -I -P -d -L -a -s -E --max-args --max-procs --delimiter --replace',
  });
  const from = call.from.at(-1);
  const text = stdinOf(call);
  // Behind them are the flags of what it runs.
  const flags = { ...call, args: call.args.slice(0, call.args.length - own.length) };
  const mark = values(flags, 'I', 'replace')[0] ?? (has(flags, 'i', 'replace') ? '{}' : undefined);
  const isByLine = mark !== undefined || has(flags, 'd', 'delimiter', 'L', '0', 'null');
  const more =
    text !== undefined
      ? text.split(isByLine ? /[\n\0]+/ : /[\s\0]+/).filter(Boolean)
      : from?.name === 'find'
        ? foundBy(from)
        : from?.name === 'ls' && from.args.every(word => word.startsWith('-'))
          ? ['*']
          : [UNKNOWN];
  if (mark) return { ...NOTHING, commands: more.map(each => own.map(word => word.replaceAll(mark, each))) };
  return own.length > 0 ? runs(...own, ...more) : NOTHING;
}

/** What `find` would find: all below its folders, or something in them that cannot be known. */
export function foundBy(call: Call): readonly string[] {
  const starts = startsOf(call);
  return isFiltered(call) ? starts.map(path => `${path.replace(/\/$/, '')}/${UNKNOWN}`) : starts;
}

function startsOf({ args }: Call): readonly string[] {
  const end = args.findIndex(word => /^[-(!]/.test(word) && !/^-[HLPDO]/.test(word));
  const starts = (end < 0 ? args : args.slice(0, end)).filter(word => !word.startsWith('-'));
  return starts.length > 0 ? starts : ['.'];
}

/** Something in it narrows what it finds; `-type f` alone does not. */
function isFiltered({ args }: Call): boolean {
  return args.some(
    (word, at) =>
      args[at - 1] !== '!' &&
      args[at - 1] !== '-not' &&
      /^-(?:i?name|i?path|i?wholename|i?regex|[acm](?:time|min)|a?newer.*|size|empty|user|group|perm|inum|links|samefile|lname)$/.test(
        word,
      ),
  );
}

const name0 = ([first = '']: readonly string[]) => first.split('/').at(-1) ?? '';

function find(call: Call): Inner {
  const { args } = call;
  const commands = args.flatMap((word, at) => {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(word)) return [];
    const rest = args.slice(at + 1);
    const end = rest.findIndex(each => each === ';' || each === '+');
    const argv = end < 0 ? rest : rest.slice(0, end);
    return foundBy(call).map(found => {
      // Every file that is found is all that is in it.
      const [name = '', ...rest] =
        name0(argv) === 'rm' && !isFiltered(call) ? [argv[0] ?? '', '-r', ...argv.slice(1)] : argv;
      return [name, ...rest].map(each => each.replaceAll('{}', found));
    });
  });
  return { ...NOTHING, commands };
}

function git(call: Call): Inner {
  const [verb, ...rest] = afterGlobals(call);
  if (verb === 'bisect' && rest[0] === 'run') return runs(...rest.slice(1));
  if (verb === 'submodule' && rest[0] === 'foreach')
    return { ...NOTHING, scripts: [operands({ ...call, args: rest.slice(1) }).join(' ')] };
  const scripts = verb === 'rebase' ? values({ ...call, args: rest }, 'x', 'exec') : [];
  const aliases = values(call, 'c').flatMap(each => /^alias\.[^=]+=!(.*)$/s.exec(each)?.[1] ?? []);
  return { ...NOTHING, scripts: [...scripts, ...aliases] };
}
