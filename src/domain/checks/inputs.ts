/**
 * What a check rests on: the files of the project that decide what its command runs. `npm test` rests on the script in `package.json`, on
 * `.npmrc` and on `node_modules/.bin`; `make test` on the Makefile; `pytest` on its ini files and on `conftest.py`. What the tools then
 * check (sources, tests) is not part of it: tests are protected with `protect`.
 */

import { parseObject } from '../text/json.ts';
import { simpleCommands, type Words } from '../text/shell-words.ts';
import { below, FILE_FLAGS, flagValue, namedFiles, started, upwards } from './command-words.ts';
import {
  goModFingerprint,
  packageParts,
  scriptClosure,
  scriptsOf,
  tomlFingerprint,
} from './package-scripts.ts';
import {
  configsOf,
  INTERPRETERS,
  isNamedAfter,
  LOOKERS,
  MANAGERS,
  RECIPES,
  SHADOWS,
  toolName,
} from './tools.ts';

export interface CheckInputs {
  /**
   * From where the checks run, `~` is the home folder; `**` before a name: in every folder below, too; `*` behind it: files that are named
   * after that tool. Some are not there: to create one is a change.
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
  let { dir } = at;
  for (const words of simpleCommands(line)) {
    const command = started(words.map(word => word.replace(/^\$\(|^`/, '')));
    const [program, ...args] = command.words;
    const viaNpm = at.viaNpm || command.passed.some(each => PACKAGE_RUNNERS.has(each));
    for (const path of command.passed) addProgram(search, path, { ...at, dir });
    if (program === 'cd' || program === 'pushd')
      dir = below(dir, args.find(arg => !arg.startsWith('-')) ?? '') ?? dir;
    else if (program !== undefined) searchCommand(search, program, args, { ...at, dir, viaNpm });
  }
}

function searchCommand(search: Search, program: string, args: Words, at: At): void {
  const tool = toolName(program);
  addProgram(search, program, at);
  const dir = below(at.dir, flagValue(args, FOLDER_FLAGS[tool] ?? []) ?? '') ?? at.dir;
  const here = { ...at, dir, depth: at.depth + 1 };
  for (const path of configsOf(tool)) addConfig(search, dir, path);
  if (isNamedAfter(tool)) search.paths.add(`${dir}**/${tool}*`);
  if (!LOOKERS.has(tool)) for (const path of namedFiles(args)) add(search, dir, path);
  if (Object.hasOwn(MANAGERS, tool)) searchManager(search, tool, args, here);
  if (Object.hasOwn(RECIPES, tool)) searchRecipes(search, tool, args, here);
  if (INTERPRETERS.has(tool)) searchInterpreter(search, tool, args, here);
  if (tool === 'uv' || tool === 'poetry' || tool === 'pipenv' || tool === 'hatch' || tool === 'bundle') {
    const at = args.findIndex(arg => arg === 'run' || arg === 'exec');
    const [inner, ...rest] =
      at === -1 ? [] : args.slice(at + 1).filter((arg, index) => index > 0 || !arg.startsWith('-'));
    if (inner !== undefined) searchCommand(search, inner, rest, here);
  }
}

/** A configuration, and those that it names in turn: what it extends, what it has run first. */
function addConfig(search: Search, dir: string, path: string): void {
  add(search, dir, path);
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
  if (args.some(arg => WORKSPACES.test(arg))) add(search, at.dir, '**/package.json');
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
  const named = flagValue(args, ['-f', '--file', '--makefile', '--justfile', '-c']);
  for (const file of named === undefined ? recipes.files : [named]) {
    add(search, at.dir, file);
    for (const line of (search.read(`${at.dir}${file}`) ?? '').split('\n')) {
      const included = /^[-s]?(?:include|import)\s+(.+)/.exec(line)?.[1];
      for (const path of included === undefined ? [] : included.split(/\s+/))
        add(search, at.dir, unquoted(path));
      const command = recipes.line.exec(line)?.[1];
      if (command !== undefined)
        searchLine(search, command.replace(/\$[({]MAKE[)}]/g, 'make'), { ...at, viaNpm: false });
    }
    if (tool.endsWith('make')) addGoals(search, args, at.dir, search.read(`${at.dir}${file}`) ?? '');
  }
}

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
  const code = SHELLS.has(tool) ? args.findIndex(arg => /^-\w*c$/.test(arg)) : -1;
  if (code !== -1) {
    searchLine(search, args[code + 1] ?? '', at);
    return;
  }
  if (tool === 'python' && args.includes('-m')) {
    const [module, ...rest] = args.slice(args.indexOf('-m') + 1);
    for (const name of ['.py', '/__init__.py', '/__main__.py']) add(search, at.dir, `${module}${name}`);
    for (const path of SHADOWS) add(search, at.dir, path);
    if (module !== undefined) searchCommand(search, module, rest, at);
    return;
  }
  if (args.includes('--test') || args[0] === 'test') return;
  const skipped = args[0] === 'run' && (tool === 'deno' || tool === 'bun') ? args.slice(1) : args;
  const script = skipped.find(
    (arg, index) => !arg.startsWith('-') && !FILE_FLAGS.includes(skipped[index - 1] ?? ''),
  );
  if (script === undefined || /^(-e|--eval)$/.test(skipped[0] ?? '')) return;
  add(search, at.dir, script);
  const beside = script.replace(/[^/]*$/, '');
  if (tool === 'python') for (const path of SHADOWS) add(search, at.dir, `${beside}${path}`);
}

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'fish']);

function add(search: Search, dir: string, path: string): void {
  if (path.startsWith('~/')) search.paths.add(path);
  if (path === '' || path.startsWith('~') || /[\s$*?{}]/.test(path.replace(/^\*\*\//, ''))) return;
  const whole = path.startsWith('**/') ? `${dir}${path}` : below(dir, path)?.replace(/\/$/, '');
  if (whole) search.paths.add(whole);
}
