/**
 * Reads a shell script and gives every simple command in it as it would run: through variables, substitutions, pipes, here-documents,
 * loops, functions, and through the commands that run others (`wrappers.ts`). It never runs anything and never throws.
 */
import { forEachChild, parse, type Redirection, type SyntaxNode } from 'unbash';
import { type Assigned, type Call, UNKNOWN } from './call.ts';
import { printed } from './printed.ts';
import { folderFrom, type Notes, remember, setPositional } from './remember.ts';
import { type Expander, expandWord, type Scope, textOf } from './words.ts';
import { fedBy, innerOf, maybeNamed, maybeRuns } from './wrappers.ts';

type CommandNode = Extract<SyntaxNode, { readonly type: 'Command' }>;

export interface ScriptReading {
  readonly calls: readonly Call[];
  /** Why it cannot be judged; the guard then refuses. */
  readonly trouble?: string;
  /** A function that starts itself twice over. */
  readonly bombs: boolean;
}

export interface ShellWorld {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of a script that is run, where it can be had. */
  readScript(path: string, cwd: string | undefined): string | undefined;
}

const DEEPEST = 12;
const MOST_CALLS = 5_000;
const TOO_DEEP = 'it is nested too deeply to be judged';

interface Walk extends Notes {
  readonly world: ShellWorld;
  readonly calls: Call[];
  /** What a word does that is a function by now. */
  readonly functions: Map<string, SyntaxNode>;
  trouble: string | undefined;
  bombs: boolean;
}

interface At {
  readonly scope: Scope;
  readonly depth: number;
  readonly place: Call['place'];
  readonly guessed: boolean;
  readonly file?: string;
  /** What came before it in the pipeline. */
  readonly from: readonly Call[];
  /** The names of what comes behind it. */
  readonly into: readonly string[];
  /** Words that may be a command or may be words: what they may run in their turn is not asked. */
  readonly isGuess?: true;
  /** What the shell that runs it gets on its stdin, where that can be known. */
  readonly input?: string | undefined;
}

export function readShell(script: string, world: ShellWorld): ScriptReading {
  const walk: Walk = {
    world,
    calls: [],
    files: new Map(),
    downloads: new Map(),
    functions: new Map(),
    trouble: undefined,
    bombs: false,
  };
  const scope: Scope = { vars: new Map(), cwd: world.cwd };
  readScript(walk, script, {
    scope,
    depth: 0,
    place: 'here',
    guessed: false,
    from: [],
    into: [],
  });
  const { calls, bombs, trouble } = walk;
  return { calls, bombs, ...(trouble !== undefined && { trouble }) };
}

function readScript(walk: Walk, script: string, at: At): void {
  if (at.depth > DEEPEST) {
    walk.trouble ??= TOO_DEEP;
    return;
  }
  const { errors, commands } = parse(script);
  const [error] = errors ?? [];
  // What another machine's shell makes of it is not ours to know.
  if (error && at.guessed) return;
  if (error && at.place === 'here') walk.trouble ??= `it cannot be read as shell: ${error.message}`;
  for (const statement of commands) visit(walk, statement, at);
}

function visit(walk: Walk, node: SyntaxNode, at: At): void {
  if (walk.calls.length > MOST_CALLS) {
    walk.trouble ??= 'it has too many commands to be judged';
    return;
  }
  switch (node.type) {
    case 'Command':
      command(walk, node, at);
      break;
    case 'Pipeline':
      pipeline(walk, node.commands, at);
      break;
    case 'Subshell':
      visit(walk, node.body, { ...at, scope: copy(at.scope) });
      break;
    case 'Function':
      if (startsItself(node)) walk.bombs = true;
      walk.functions.set(node.name.value, node.body);
      visit(walk, node.body, { ...at, scope: copy(at.scope) });
      break;
    case 'For':
      loop(walk, node, at);
      break;
    case 'Redirected': {
      const files = redirected(walk, node.redirects, at);
      visit(walk, node.command, { ...at, input: files.input ?? at.input });
      bare(walk, files, [], at);
      break;
    }
    case 'CommandExpansion':
    case 'ProcessSubstitution':
    case 'ArithmeticCommandExpansion':
      for (const statement of node.script?.commands ?? [])
        visit(walk, statement, { ...at, scope: copy(at.scope), from: [], into: [] });
      break;
    default:
      forEachChild(node, child => visit(walk, child, at));
  }
}

/** Variables are set, files written or read, without a command. */
function bare(walk: Walk, files: Files, assigned: readonly Assigned[], at: At): void {
  for (const { name, value } of assigned) at.scope.vars.set(name, value);
  if (assigned.length + files.writes.length + files.reads.length === 0) return;
  const { place, from, into } = at;
  walk.calls.push({
    name: '',
    args: [],
    written: '',
    assigned,
    ...files,
    cwd: at.scope.cwd,
    place,
    from,
    into,
  });
}

type Files = Pick<Call, 'writes' | 'reads' | 'input'>;

function copy({ vars, cwd }: Scope): Scope {
  return { vars: new Map(vars), cwd };
}

function pipeline(walk: Walk, commands: readonly SyntaxNode[], at: At): void {
  const start = walk.calls.length;
  const names = commands.map(node => (node.type === 'Command' ? (node.name?.value ?? '') : ''));
  commands.forEach((node, index) => {
    const scope = commands.length > 1 ? copy(at.scope) : at.scope;
    const from = [...at.from, ...walk.calls.slice(start)];
    visit(walk, node, { ...at, scope, from, into: [...names.slice(index + 1), ...at.into] });
  });
}

/** Its body is read for every word of its list: that is how a path hides in a variable. */
function loop(walk: Walk, node: Extract<SyntaxNode, { readonly type: 'For' }>, at: At): void {
  const by = expander(walk, at);
  for (const word of node.wordlist ?? []) visit(walk, word, at);
  const list = node.wordlist?.flatMap(word => expandWord(word, by)).slice(0, 16);
  for (const value of list?.length ? list : [UNKNOWN]) {
    at.scope.vars.set(node.name.value, value);
    visit(walk, node.body, at);
  }
}

function expander(walk: Walk, at: At): Expander {
  const { scope } = at;
  return {
    scope,
    env: walk.world.env,
    outputOf(part) {
      const inner: Walk = { ...walk, calls: [], trouble: undefined };
      for (const statement of part.script?.commands ?? [])
        visit(inner, statement, { ...at, scope: copy(scope), depth: at.depth + 1, from: [], into: [] });
      const last = inner.calls.at(-1);
      return last && inner.calls.every(call => call === last || last.from.includes(call))
        ? printed(last)
        : undefined;
    },
  };
}

function command(walk: Walk, node: CommandNode, at: At): void {
  // Substitutions run before the command that they are in.
  forEachChild(node, child => visit(walk, child, at));
  const by = expander(walk, at);
  const assigned = assignments(node, by);
  const words = [...(node.name ? expandWord(node.name, by) : []), ...argumentsOf(node, by)];
  const files = redirected(walk, node.redirects, at);
  if (words.length === 0) {
    bare(walk, files, assigned, at);
    return;
  }
  const previous = at.from.at(-1);
  const input = files.input ?? (previous ? printed(previous) : (substituted(node.args, by) ?? at.input));
  const written = [
    ...node.prefix.filter(part => part.type === 'Assignment'),
    ...(node.name ? [node.name] : []),
    ...node.args,
  ]
    .map(part => part.text)
    .join(' ');
  const { place, from, into, file } = at;
  const about = {
    assigned,
    ...files,
    input,
    written,
    cwd: at.scope.cwd,
    place,
    from,
    into,
    ...(file !== undefined && { file }),
  };
  run(walk, words, about, at);
  const [name = '', ...args] = words;
  const body = walk.functions.get(name);
  if (body) {
    const scope = copy(at.scope);
    setPositional(scope, words);
    walk.functions.delete(name); // one that calls itself is read once
    visit(walk, body, { ...at, scope, input });
    walk.functions.set(name, body);
  }
  const passed = { ...at, from: [], into: [], input: printed({ ...about, name, args }) ?? input };
  const targets = node.redirects.flatMap(each => ('target' in each && each.target) || []);
  for (const { script } of substitutions([...node.args, ...targets], '>'))
    for (const statement of script?.commands ?? [])
      visit(walk, statement, { ...passed, scope: copy(at.scope) });
}

/** What it would read from `<(…)`. */
function substituted(words: readonly SyntaxNode[], by: Expander): string | undefined {
  const [first] = substitutions(words, '<');
  return first && by.outputOf(first);
}

function substitutions(words: readonly SyntaxNode[], operator: '<' | '>') {
  const parts = words.flatMap(word => (word.type === 'Word' ? (word.parts ?? []) : []));
  return parts.flatMap(part =>
    part.type === 'ProcessSubstitution' && part.operator === operator ? [part] : [],
  );
}

function assignments(node: CommandNode, by: Expander): readonly Assigned[] {
  return node.prefix.flatMap(part => {
    if (part.type !== 'Assignment') return [];
    const { value } = part;
    return [
      {
        name: part.name,
        value:
          value.type === 'Word' ? textOf(value, by) : value.elements.map(each => textOf(each, by)).join(' '),
      },
    ];
  });
}

function argumentsOf(node: CommandNode, by: Expander): readonly string[] {
  return node.args.flatMap(part => {
    if (part.type === 'Word') return expandWord(part, by);
    return [`${part.name}=${part.value.type === 'Word' ? textOf(part.value, by) : UNKNOWN}`];
  });
}

/** One command, and what it runs in its turn. */
function run(walk: Walk, words: readonly string[], about: Omit<Call, 'name' | 'args'>, at: At): void {
  const [first = '', ...args] = words;
  const name =
    first
      .split(/[\\/]/)
      .at(-1)
      ?.replace(/\.exe$/i, '') ?? '';
  const call: Call = { ...about, name, args, input: about.input ?? patchIn(walk, name, args, about) };
  walk.calls.push(call);
  remember(call, at.scope, walk, walk.world.env.HOME);
  maybe(walk, call, about, at);
  const inner = innerOf(call, first);
  const cwd =
    inner.folder === undefined ? about.cwd : folderFrom(about.cwd, inner.folder, walk.world.env.HOME);
  const deeper = {
    ...at,
    scope: inner.folder === undefined ? at.scope : { ...copy(at.scope), cwd },
    depth: at.depth + 1,
    place: inner.place ?? at.place,
    guessed: inner.guessed ?? false,
  };
  for (const argv of inner.commands) {
    if (deeper.depth > DEEPEST) walk.trouble ??= TOO_DEEP;
    else run(walk, argv, { ...about, cwd, place: deeper.place, assigned: [] }, deeper);
  }
  const scope = inner.ownShell ? copy(deeper.scope) : deeper.scope;
  const own = { ...deeper, scope, from: [], into: [], input: call.input };
  if (inner.ownShell) for (const { name, value } of about.assigned) own.scope.vars.set(name, value);
  if (inner.positional) setPositional(own.scope, inner.positional);
  for (const script of inner.scripts) readScript(walk, script, own);
  for (const named of inner.files) {
    const path = plainPath(named);
    const download = walk.downloads.get(path);
    if (download) walk.calls.push({ ...call, name: 'sh', args: [], from: [download] });
    const made = walk.files.get(path);
    if (made !== undefined) readScript(walk, made, own);
    const found = made === undefined ? walk.world.readScript(path, call.cwd) : undefined;
    if (found !== undefined)
      readScript(walk, found, { ...own, scope: copy(own.scope), guessed: true, file: path });
  }
}

const plainPath = (path: string) => path.replace(/^\.\//, '');

/** What a patch changes is in the file that is named. */
function patchIn(
  { files, world }: Walk,
  name: string,
  args: readonly string[],
  about: Pick<Call, 'reads' | 'from' | 'cwd'>,
): string | undefined {
  if (name !== 'patch' && !(name === 'git' && args.some(word => /^(?:apply|am)$/.test(word))))
    return undefined;
  const paths = [...fedBy(about), ...args].map(plainPath);
  const texts = paths.map(path => files.get(path) ?? world.readScript(path, about.cwd));
  const found = texts.filter(text => text !== undefined);
  return found.length > 0 ? found.join('\n') : undefined;
}

/** What may be a command, in its words and in its variables: only the worst of it counts, and what cannot be read is passed over. */
function maybe(walk: Walk, call: Call, about: Omit<Call, 'name' | 'args'>, at: At): void {
  if (at.isGuess || at.depth >= DEEPEST) return;
  const { commands, scripts } = maybeRuns(call);
  const guess: Walk = { ...walk, calls: [], trouble: undefined };
  const below = { ...at, depth: at.depth + 1, guessed: true, isGuess: true as const, from: [], into: [] };
  const own = () => ({ ...below, scope: copy(at.scope) });
  for (const argv of commands) run(guess, argv, { ...about, assigned: [] }, own());
  for (const script of [...scripts, ...maybeNamed(call)]) readScript(guess, script, own());
  walk.calls.push(...guess.calls.map(each => ({ ...each, isGuess: true as const })));
}

function redirected(walk: Walk, redirects: readonly Redirection[], at: At): Files {
  const by = expander(walk, at);
  const writes: string[] = [];
  const reads: string[] = [];
  let input: string | undefined;
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') input = redirect.body.text;
    else if (redirect.target) {
      const target = textOf(redirect.target, by);
      if (redirect.type === 'HereString') input = target;
      else if (redirect.operator === '<') {
        input ??= substituted([redirect.target], by);
        reads.push(target);
      } else if (!/[<>]&/.test(redirect.operator) || !/^(?:\d+|-)-?$/.test(target)) writes.push(target);
    }
  }
  return { writes, reads, input };
}

/** `f() { f | f & }`: it starts itself, in a pipe or in the background. */
function startsItself(node: Extract<SyntaxNode, { readonly type: 'Function' }>): boolean {
  const name = node.name.value;
  let found = false;
  const calls = (inside: SyntaxNode): boolean => {
    let is = inside.type === 'Command' && inside.name?.value === name;
    forEachChild(inside, child => {
      is ||= calls(child);
    });
    return is;
  };
  const look = (inside: SyntaxNode) => {
    if (inside.type === 'Pipeline' && inside.commands.length > 1 && inside.commands.some(calls)) found = true;
    if (inside.type === 'Statement' && inside.background === true && calls(inside)) found = true;
    forEachChild(inside, look);
  };
  look(node.body);
  return found;
}
