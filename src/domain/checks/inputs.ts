/**
 * What a check rests on: the files of the project that decide what its command runs. `npm test` rests on the script in `package.json`, on
 * `.npmrc` and on `node_modules/.bin`; `make test` on the Makefile; `pytest` on its ini files and on `conftest.py`. What the tools then
 * check (sources, tests) is not part of it: tests are protected with `protect`.
 */

import { parseObject } from '../text/json.ts';
import { readCommands, type SimpleCommand, type Words } from '../text/shell-words.ts';
import {
  below,
  expandVariables,
  FILE_FLAGS,
  flagValue,
  namedFiles,
  noteVariables,
  started,
  substitutions,
  upwards,
  type Variables,
} from './command-words.ts';
import {
  goModFingerprint,
  packageParts,
  scriptClosure,
  scriptsOf,
  tomlFingerprint,
} from './package-scripts.ts';
import { isTestFile } from './test-changes.ts';
import {
  configsOf,
  INTERPRETERS,
  isNamedAfter,
  isTool,
  LOOKERS,
  MANAGERS,
  RECIPES,
  RUNNERS,
  SHADOWS,
  toolName,
} from './tools.ts';

export interface CheckInputs {
  /**
   * From where the checks run, `~` is the home folder; `**` before a name: in every folder below, too; `*` behind it: files that are named
   * after that tool. Any other `*` or `?` may be part of the name, or a pattern. Some are not there: to create one is a change.
   */
  readonly paths: readonly string[];
  /** Programs that are looked up on the PATH. */
  readonly programs: readonly string[];
  /** The scripts that are run, by the `package.json` that has them. */
  readonly scripts: ReadonlyMap<string, readonly string[]>;
}

/** The text of a file by its path from where the checks run; undefined: there is none. */
export type Read = (path: string) => string | undefined;

export function findCheckInputs(commands: readonly string[], read: Read): CheckInputs {
  const search: Search = { read, paths: new Set(), programs: new Set(), scripts: new Map(), seen: new Set() };
  for (const command of commands) searchLine(search, command, { dir: '', viaNpm: false, depth: 0 });
  return {
    paths: [...search.paths].sort(),
    programs: [...search.programs].sort(),
    scripts: new Map([...search.scripts].map(([path, names]) => [path, [...names].sort()])),
  };
}

/** What is compared of a file, by a name behind its own: most are compared as they are. */
export function inputParts(
  path: string,
  text: string,
  scripts: CheckInputs['scripts'],
): Readonly<Record<string, string>> {
  const name = path.split('/').at(-1);
  if (name === 'package.json') return packageParts(text, scripts.get(path) ?? []);
  if (name === 'pyproject.toml' || name === 'Cargo.toml') return { '': tomlFingerprint(text) };
  return { '': name === 'go.mod' ? goModFingerprint(text) : text };
}

interface Search {
  readonly read: Read;
  readonly paths: Set<string>;
  readonly programs: Set<string>;
  readonly scripts: Map<string, Set<string>>;
  readonly seen: Set<string>;
}

interface At {
  /** From where the checks run: '' or ends with a slash. */
  readonly dir: string;
  /** A script of `package.json`: what is in `node_modules/.bin` comes first. */
  readonly viaNpm: boolean;
  readonly depth: number;
}

const DEEPEST = 6;
const PACKAGE_RUNNERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx']);

function searchLine(search: Search, line: string, at: At): void {
  const key = `${at.dir}\0${at.viaNpm}\0${line}`;
  if (at.depth > DEEPEST || search.seen.has(key)) return;
  search.seen.add(key);
  const vars: Variables = new Map([['PWD', ['.']]]);
  // A folder for each bracket that is open: what is behind it is where it was.
  const dirs = [at.dir];
  let before: Words = [];
  let left = at.dir;
  for (const command of readCommands(line.replace(/\$\(pwd\)|`pwd`/g, '.'))) {
    const { depth } = command;
    dirs.splice(depth + 1);
    while (dirs.length <= depth) dirs.push(dirs.at(-1) ?? at.dir);
    for (const words of expandVariables(command.words, vars)) {
      const dir = dirs[depth] ?? at.dir;
      const [program, to] = words.filter(
        (word, index) => index === 0 || word === '-' || !word.startsWith('-'),
      );
      noteVariables(words, vars);
      if (program === 'cd' || program === 'pushd' || program === 'popd') {
        dirs[depth] = program === 'popd' || to === '-' ? left : into(dir, to ?? '');
        left = dir;
      } else searchWords(search, { ...command, words }, before, { ...at, dir });
    }
    if (command.words.length > 0) before = command.words;
  }
}

/** `before`: what stands before it, perhaps in a pipe. */
function searchWords(search: Search, command: SimpleCommand, before: Words, at: At): void {
  for (const text of [...command.texts, ...command.words.flatMap(substitutions)])
    searchLine(search, text, { ...at, depth: at.depth + 1 });
  const { words, passed, dir } = started(command.words.map(word => word.replace(/^`|`$/g, '')));
  const [program, ...args] = words;
  const viaNpm = at.viaNpm || passed.some(each => PACKAGE_RUNNERS.has(each));
  for (const path of passed) addProgram(search, path, at);
  if (program === undefined) return;
  const here = { ...at, viaNpm, dir: into(at.dir, dir) };
  // `sh < run.sh`, `cat run.sh | sh`
  if (INTERPRETERS.has(toolName(program)) && (args.includes('-s') || args.every(arg => arg.startsWith('-'))))
    for (const path of [...command.reads, ...(before[0] === 'cat' ? before.slice(1) : [])])
      add(search, here.dir, path);
  searchCommand(search, program, args, here);
}

/** `to` from `dir`; where nobody can know it, `dir`. */
function into(dir: string, to: string): string {
  return /[$`]/.test(to) ? dir : (below(dir, to) ?? dir);
}

function searchCommand(search: Search, program: string, args: Words, at: At): void {
  const tool = toolName(program);
  addProgram(search, program, at);
  const dir = into(at.dir, flagValue(args, FOLDER_FLAGS[tool] ?? []) ?? '');
  const here = { ...at, dir, depth: at.depth + 1 };
  for (const path of configsOf(tool)) addConfig(search, dir, path);
  if (isNamedAfter(tool)) search.paths.add(`${dir}**/${tool}*`);
  if (!LOOKERS.has(tool)) for (const path of namedFiles(args)) add(search, dir, path);
  if (Object.hasOwn(MANAGERS, tool)) searchManager(search, tool, args, here);
  if (Object.hasOwn(RECIPES, tool)) searchRecipes(search, tool, args, here);
  if (INTERPRETERS.has(tool)) searchInterpreter(search, tool, args, here);
  if (RUNNERS.has(tool) || !(isTool(tool) || LOOKERS.has(tool))) searchInner(search, tool, args, here);
  const isRun = tool === 'find' ? /^-(?:exec|ok)(?:dir)?$/ : undefined;
  const found = isRun ? args.findIndex(arg => isRun.test(arg)) : -1;
  if (found !== -1) searchRun(search, args.slice(found + 1), here);
}

/** What another program may run: behind a mark, from the name of a tool on, or as a text. */
function searchInner(search: Search, tool: string, args: Words, at: At): void {
  const isMark = RUNNERS.has(tool) ? /^(?:run|exec|--)$/ : /^--$/;
  const mark = args.findIndex(arg => isMark.test(arg));
  const known = args.findIndex(arg => isTool(toolName(arg)));
  const behind = args.slice(mark + 1);
  if (mark !== -1) searchRun(search, behind.slice(behind.findIndex(arg => !arg.startsWith('-'))), at);
  if (known !== -1) searchRun(search, args.slice(known), at);
  const texts = tool === 'eval' ? [args.join(' ')] : args.filter(arg => /\s/.test(arg));
  for (const text of tool === 'trap' ? args.slice(0, 1) : texts) searchLine(search, text, at);
}

function searchRun(search: Search, [program, ...args]: Words, at: At): void {
  if (program !== undefined && at.depth <= DEEPEST) searchCommand(search, program, args, at);
}

/** A configuration, and those that it names in turn: what it extends, what it has run first. */
function addConfig(search: Search, dir: string, path: string): void {
  if (path.startsWith('**/')) search.paths.add(`${dir}${path}`);
  else add(search, dir, path);
  const text = path.startsWith('**/') || path.startsWith('~') ? undefined : search.read(`${dir}${path}`);
  for (const [, values = ''] of text?.matchAll(NAMES_MORE) ?? [])
    for (const [, named = ''] of values.matchAll(
      /(?:["'\s]|^)(?:<rootDir>\/)?(\.{0,2}[\w@./-]+)(?:["'\s]|$)/g,
    ))
      if (search.read(`${dir}${below('', named)?.replace(/\/$/, '')}`) !== undefined) add(search, dir, named);
}

const NAMES_MORE =
  /\b(?:extends|preset|setupFiles\w*|global(?:Setup|Teardown)|require|import|loader|resolver|transform|(?:test)?[rR]unner|testEnvironment|reporters?|plugins|from|yarnPath)\b["']?\s*[:=(]?\s*(\[[^\]]*\]|[^\n;,]*)/g;

/** The folder in which a tool works, where a flag says so. */
const FOLDER_FLAGS: Readonly<Record<string, readonly string[]>> = {
  npm: ['--prefix', '-C'],
  pnpm: ['-C', '--dir'],
  yarn: ['--cwd'],
  bun: ['--cwd'],
  make: ['-C', '--directory'],
  gmake: ['-C', '--directory'],
  just: ['-d', '--working-directory'],
  go: ['-C'],
  cargo: ['-C'],
  gradle: ['-p', '--project-dir'],
};

/** A program of the project, or one that a package brings. */
function addProgram(search: Search, program: string, { dir, viaNpm }: At): void {
  if (/^[\w.+-]+$/.test(program)) search.programs.add(program);
  if (program.includes('/')) add(search, dir, program);
  else if (viaNpm || PACKAGE_RUNNERS.has(program)) addBin(search, dir, program);
  else if (/^[\w.-]+$/.test(program) && search.read(`${dir}node_modules/.bin/${program}`) !== undefined)
    addBin(search, dir, program);
}

function addBin(search: Search, dir: string, program: string): void {
  for (const each of upwards(dir)) add(search, each, `node_modules/.bin/${program}`);
}

const RUNS: ReadonlySet<string> = new Set(['run', 'run-script', 'rum', 'urn']);
const SCRIPT_NAMES: Readonly<Record<string, string>> = {
  t: 'test',
  tst: 'test',
  test: 'test',
  start: 'start',
  stop: 'stop',
  restart: 'restart',
};
const EXECUTES: ReadonlySet<string> = new Set(['exec', 'x', 'dlx']);
const WORKSPACES = /^(-w|-ws|-r|--workspaces?|--recursive|--filter|-F|workspaces?)(=|$)/;

function searchManager(search: Search, tool: string, args: Words, at: At): void {
  const dirs = [...new Set([at.dir, nearest(search, at.dir)])];
  for (const dir of dirs) {
    add(search, dir, 'package.json');
    for (const path of MANAGERS[tool] ?? []) addConfig(search, dir, path);
  }
  addBin(search, at.dir, 'sh');
  if (args.some(arg => WORKSPACES.test(arg))) search.paths.add(`${at.dir}**/package.json`);
  const words = args.filter((arg, index) => !arg.startsWith('-') && !TAKES_VALUE.has(args[index - 1] ?? ''));
  const [first = '', second] = words;
  if (EXECUTES.has(first)) {
    const rest = args.slice(args.indexOf(first) + 1).filter(arg => arg !== '--');
    addBin(search, at.dir, second ?? '');
    if (second !== undefined)
      searchCommand(search, second, rest.slice(rest.indexOf(second) + 1), { ...at, viaNpm: true });
    return;
  }
  const name = RUNS.has(first)
    ? second
    : (SCRIPT_NAMES[first] ?? (tool === 'npm' || tool === 'bun' ? undefined : first));
  if (name === undefined || name === '' || (tool === 'bun' && first === 'test')) return;
  for (const dir of dirs) searchScript(search, name, dir, at);
}

const TAKES_VALUE: ReadonlySet<string> = new Set([
  '--prefix',
  '-C',
  '--dir',
  '--cwd',
  '-w',
  '--workspace',
  '--filter',
  '-F',
]);

function searchScript(search: Search, name: string, dir: string, at: At): void {
  const path = `${dir}package.json`;
  const names = search.scripts.get(path) ?? new Set();
  search.scripts.set(path, names.add(name));
  const scripts = scriptsOf(parseObject(search.read(path) ?? '') ?? {});
  for (const each of scriptClosure(scripts, [name]))
    searchLine(search, scripts[each] ?? '', { dir, viaNpm: true, depth: at.depth });
  // `yarn vitest` without such a script is the program of a package.
  if (!Object.hasOwn(scripts, name)) addBin(search, dir, name);
}

/** The folder of the `package.json` that a package manager finds from here. */
function nearest(search: Search, dir: string): string {
  return upwards(dir).find(each => search.read(`${each}package.json`) !== undefined) ?? dir;
}

function searchRecipes(search: Search, tool: string, args: Words, at: At): void {
  const recipes = RECIPES[tool];
  if (!recipes) return;
  const joined = args.find(arg => /^-f./.test(arg))?.slice(2);
  const named = flagValue(args, ['-f', '--file', '--makefile', '--justfile', '-c']) ?? joined;
  for (const file of named === undefined ? recipes.files : [named]) {
    searchRecipeFile(search, recipes.line, file, at);
    if (tool.endsWith('make')) addGoals(search, args, at.dir, search.read(`${at.dir}${file}`) ?? '');
  }
}

function searchRecipeFile(search: Search, isCommand: RegExp, file: string, at: At): void {
  add(search, at.dir, file);
  const text = search.read(`${at.dir}${file}`) ?? '';
  if (at.depth > DEEPEST || search.seen.has(`${at.dir}\0${file}`)) return;
  search.seen.add(`${at.dir}\0${file}`);
  const vars = new Map([['MAKE', 'make']]);
  for (const [, name = '', value = ''] of text.matchAll(/^(?:export +)?(\w+)[ \t]*[:?+!]*=[ \t]*(.*)$/gm))
    vars.set(name, value.slice(0, LONGEST_VALUE));
  const known = (line: string) =>
    line
      .replace(/\$\((\w+)\)|\$\{(\w+)\}/g, (all, a, b) => vars.get(a ?? b) ?? all)
      .replace(/\$[({]wildcard ([^)}]*)[)}]/g, '$1')
      .slice(0, LONGEST_LINE);
  for (const line of text.split('\n').map(each => known(known(each.slice(0, LONGEST_LINE))))) {
    const included = /^[-s]?(?:include|import)\s+(.+)/.exec(line)?.[1];
    for (const path of included === undefined ? [] : included.split(/\s+/))
      searchRecipeFile(search, isCommand, unquoted(path), { ...at, depth: at.depth + 1 });
    const command = isCommand.exec(line)?.[1];
    // For the shell a variable has two signs.
    if (command !== undefined) searchLine(search, command.replaceAll('$$', '$'), { ...at, viaNpm: false });
  }
}

const LONGEST_VALUE = 1_000;
const LONGEST_LINE = 10_000;

/** A file with the name of a target that makes none has make do nothing at all. */
function addGoals(search: Search, args: Words, dir: string, text: string): void {
  const rules = new Map<string, { readonly needs: Words; readonly recipe: string }>();
  for (const [, names = '', needs = '', recipe = ''] of text.matchAll(RULE))
    for (const name of names.trim().split(/\s+/))
      rules.set(name, { needs: needs.trim().split(/\s+/), recipe });
  const [first = ''] = [...rules.keys()].filter(name => !name.startsWith('.'));
  const named = args.filter(arg => rules.has(arg));
  const left = named.length > 0 ? [...named] : [first];
  const seen = new Set<string>(rules.get('.PHONY')?.needs);
  for (let goal = left.pop(); goal !== undefined; goal = left.pop()) {
    const rule = rules.get(goal);
    if (!rule || seen.has(goal)) continue;
    seen.add(goal);
    left.push(...rule.needs);
    const makesIt = rule.recipe.includes('$@') || rule.recipe.split(/[^\w.-]+/).includes(goal);
    if (!makesIt && /^[\w-]+$/.test(goal)) add(search, dir, goal);
  }
}

const RULE = /^([^\s:=#][^:=\n]*):(?![=:])([^\n=]*)((?:\n\t[^\n]*)*)/gm;

const unquoted = (path: string) => path.replace(/^['"]|['"]$/g, '');

/** The script file, or what `-c` and `-m` say. */
function searchInterpreter(search: Search, tool: string, args: Words, at: At): void {
  const isShell = SHELLS.has(tool);
  const code = isShell ? args.findIndex(arg => /^-\w*c\w*$/.test(arg)) : -1;
  if (code !== -1) {
    const rest = args.slice(code + 1);
    const [text = '', ...given] = rest.slice(rest.findIndex(arg => !/^[-+]/.test(arg)));
    searchLine(
      search,
      text.replace(/\$\{?(\d)\}?/g, (all, nth) => given[nth] ?? all),
      at,
    );
    return;
  }
  if (tool === 'python' && args.includes('-m')) {
    const [module = '', ...rest] = args.slice(args.indexOf('-m') + 1);
    const path = module.replaceAll('.', '/');
    for (const name of ['.py', '/__init__.py', '/__main__.py']) add(search, at.dir, `${path}${name}`);
    for (const each of SHADOWS) add(search, at.dir, each);
    if (module !== '') searchCommand(search, module, rest, at);
    return;
  }
  const script = tool === 'node' ? flagValue(args, ['--run']) : undefined;
  if (script !== undefined) searchManager(search, 'npm', ['run', script], at);
  if (args.includes('--test') || args[0] === 'test' || isOnlyRead(tool, args)) return;
  const isRun = args[0] === 'run' && (tool === 'deno' || tool === 'bun');
  searchScriptFile(search, tool, isRun ? args.slice(1) : args, at);
}

/** `sh -n a.sh`: the file is what is checked. */
function isOnlyRead(tool: string, args: Words): boolean {
  return (
    args.includes(SHELLS.has(tool) ? '-n' : tool === 'php' ? '-l' : '--check') ||
    (args[0] === '-c' && /^(?:node|perl|ruby)$/.test(tool))
  );
}

/** The first word that is no flag and no value of one: which that is, the file that is there says. */
function searchScriptFile(search: Search, tool: string, args: Words, at: At): void {
  const isCode = SHELLS.has(tool) ? /(?!)/ : (CODE_FLAGS[tool] ?? /^(?:-\w*e|--eval|-p|--print)$/);
  for (const [index, arg] of args.entries()) {
    const last = args[index - 1] ?? '';
    if (isCode.test(arg)) return;
    if (arg.startsWith('-') || FILE_FLAGS.includes(last)) continue;
    add(search, at.dir, arg);
    const isThere = search.read(`${at.dir}${below('', arg)?.replace(/\/$/, '') ?? ''}`) !== undefined;
    if (!isThere) for (const name of MAIN_FILES[tool] ?? []) add(search, at.dir, `${arg}${name}`);
    if (tool === 'python') for (const path of SHADOWS) add(search, at.dir, arg.replace(/[^/]*$/, path));
    if (isThere || !last.startsWith('-')) return;
  }
}

const CODE_FLAGS: Readonly<Record<string, RegExp>> = { python: /^-c$/, php: /^-r$/ };
/** What is run where a folder is named, or a file without its extension. */
const MAIN_FILES: Readonly<Record<string, readonly string[]>> = {
  node: ['.js', '/index.js'],
  bun: ['.ts', '.js', '/index.ts', '/index.js'],
  python: ['/__main__.py'],
};

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'fish']);

/** A file, or those that a pattern fits. */
function add(search: Search, dir: string, path: string): void {
  if (path.startsWith('~/')) search.paths.add(path);
  // What nobody can call a file, such as code.
  if (path === '' || path.startsWith('~') || path.includes('\n') || /[^/]{256}/.test(path)) return;
  // Tests are what is checked.
  if (/[*?]/.test(path) && isTestFile(path)) return;
  const whole = below(dir, path.replace(/\*{2,}/g, '*'))?.replace(/\/$/, '');
  if (whole) search.paths.add(whole);
}
