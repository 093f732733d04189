import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../src');

/** Whom each room may import, beside itself: the table of docs/architecture.md. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  domain: [],
  platform: ['domain'],
  store: ['domain', 'platform'],
  config: ['domain', 'platform', 'agents'],
  agents: ['domain', 'platform'],
  workspace: ['domain', 'platform', 'store'],
  proof: ['domain', 'platform', 'store', 'config', 'workspace'],
  report: ['domain', 'platform', 'store'],
  page: ['domain', 'report'],
  dashboard: ['domain', 'platform', 'store', 'report'],
  sandbox: ['domain', 'platform'],
  guard: ['domain', 'platform'],
  run: ['domain', 'platform', 'store', 'config', 'agents', 'proof', 'workspace'],
  parallel: ['domain', 'platform', 'store', 'workspace', 'proof', 'run'],
  opening: [
    'domain',
    'platform',
    'store',
    'config',
    'agents',
    'proof',
    'workspace',
    'sandbox',
    'hooks',
    'run',
    'parallel',
  ],
  fleet: ['domain', 'platform', 'store', 'config', 'workspace', 'run', 'parallel', 'opening'],
  forge: ['domain', 'platform', 'store', 'proof', 'workspace', 'run', 'report', 'parallel', 'opening'],
  hooks: ['domain', 'platform', 'store', 'agents', 'proof', 'workspace', 'guard'],
  cli: [
    'domain',
    'platform',
    'store',
    'config',
    'agents',
    'proof',
    'workspace',
    'report',
    'run',
    'parallel',
    'opening',
    'fleet',
    'forge',
    'hooks',
    'dashboard',
    'sandbox',
    'guard',
    'library',
  ],
  library: [
    'domain',
    'platform',
    'store',
    'config',
    'agents',
    'proof',
    'workspace',
    'report',
    'run',
    'parallel',
    'opening',
  ],
  'index.ts': [
    'domain',
    'platform',
    'store',
    'config',
    'agents',
    'proof',
    'workspace',
    'report',
    'run',
    'parallel',
    'opening',
    'library',
  ],
};

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name));
const roomOf = (file: string) => file.split('/')[0] ?? '';

/** Within `run/`: the loop knows no agent, and a turn knows no story. */
const BELOW: Record<string, readonly string[]> = {
  'run/turns': ['run/stories'],
  run: ['run/turns', 'run/stories'],
};

/** Every module a file imports, statically or later. */
function importsOf(file: string): readonly string[] {
  const source = readFileSync(join(SRC, file), 'utf8');
  return [...source.matchAll(/(?<![.\w])(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1] ?? '');
}

test('every room only imports what the table allows', () => {
  const offences = files.flatMap(file =>
    importsOf(file)
      .filter(target => target.startsWith('.'))
      .map(target => relative(SRC, resolve(SRC, dirname(file), target)))
      .filter(
        target => roomOf(target) !== roomOf(file) && !MAY_IMPORT[roomOf(file)]?.includes(roomOf(target)),
      )
      .map(target => `${file} imports ${target}`),
  );
  expect(offences).toEqual([]);
});

test('in run/ the loop imports no turn, and a turn no story', () => {
  const inner = files.filter(file => roomOf(file) === 'run');
  expect(inner.length).toBeGreaterThan(30);
  const offences = inner.flatMap(file =>
    importsOf(file)
      .map(target => relative(SRC, resolve(SRC, dirname(file), target)))
      .filter(target => BELOW[dirname(file)]?.includes(dirname(target)))
      .map(target => `${file} imports ${target}`),
  );
  expect(offences).toEqual([]);
});

/** Without those that import types only: they are gone when the program runs. */
function valueImportsOf(file: string): readonly string[] {
  const source = readFileSync(join(SRC, file), 'utf8');
  return [...source.matchAll(/^(?:import|export)\s+(?!type\b)([^;']*?)\s*from\s+'(\.[^']+)'/gm)]
    .filter(([, names = '']) => !/^\{(?:\s*type\s+[^,}]+,?)+\s*\}$/.test(names.trim()))
    .map(match => relative(SRC, resolve(SRC, dirname(file), match[2] ?? '')));
}

/** The first way from a file back to itself. */
function cycleFrom(
  file: string,
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const seen = new Set<string>();
  const walk = (at: string, path: readonly string[]): readonly string[] | undefined => {
    for (const next of graph.get(at) ?? []) {
      if (next === file) return [...path, at, file];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = walk(next, [...path, at]);
      if (found) return found;
    }
    return undefined;
  };
  return walk(file, []);
}

test('no file imports itself by way of others, types aside', () => {
  const graph = new Map(files.map(file => [file, valueImportsOf(file)]));
  expect([...graph.values()].flat().length).toBeGreaterThan(1_000);
  expect(files.flatMap(file => cycleFrom(file, graph)?.join(' → ') ?? [])).toEqual([]);
});

test('the domain is pure: no node module, no package, no clock, no chance', () => {
  const offences = files
    .filter(file => roomOf(file) === 'domain')
    .flatMap(file => {
      const source = readFileSync(join(SRC, file), 'utf8');
      const outside = importsOf(file).filter(
        target => !target.startsWith('.') || roomOf(join(dirname(file), target)) !== 'domain',
      );
      const impure =
        source.match(/\b(Date\.now|new Date|Math\.random|performance\.|process\.|setTimeout|console\.)/g) ??
        [];
      return [...outside, ...impure].map(what => `${file}: ${what}`);
    });
  expect(offences).toEqual([]);
});

/** The folders of `agents/`: one for each. */
const AGENTS = readdirSync(join(SRC, 'agents'), { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(entry => entry.name);

/** Who may name agents outside of their folders, and why a new agent need not change it. */
const MAY_NAME_AGENTS: Record<string, string> = {
  'cli/commands/demo.ts': 'the scripted agent speaks the stream of one of them',
  'library/simulation.ts': 'the same',
  'cli/commands/init.ts': "seed 001's question, in its own words",
  'cli/commands/prd/plan.ts': 'a sentence of help on the plugin that is a skill, too',
  'domain/session/context-alert.ts': 'names of models, which many agents use',
  'domain/text/feedback.ts': "seed 002's advice to the agent, in its own words",
  'domain/text/secret-letters.ts': 'an entity of HTML',
  'domain/turn/trouble.ts': 'the words of a reference page',
  'platform/package.ts': "the folders of Ralph's own package",
  'sandbox/srt.ts': 'folders that the runtime leaves open are named so',
  'store/session-file.ts': "seed 000's place for the state of a loop",
  'guard/place.ts': 'the same place, which the guard protects',
};

test('no file outside of agents/ names an agent, but in examples: all lists come from the registry', () => {
  const names = AGENTS.filter(name => name !== 'generic');
  const word = new RegExp(`(?<![\\w-])(?:${names.join('|')})(?![\\w-])`, 'gi');
  const naming = files
    .filter(file => roomOf(file) !== 'agents')
    .filter(file => {
      const source = readFileSync(join(SRC, file), 'utf8');
      const code = source
        .replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
        .replace(/&amp;/g, '')
        .replace(/^ {2}ralph .*$|ralph hook \S+ Stop/gm, ''); // examples in help
      return code.match(word) !== null;
    });
  expect(naming.sort()).toEqual(Object.keys(MAY_NAME_AGENTS).sort());
});

test('docs/architecture.md has the same table', () => {
  const page = readFileSync(join(SRC, '../docs/architecture.md'), 'utf8').split('## Figures')[0] ?? '';
  const rooms = Object.keys(MAY_IMPORT);
  const rows = [...page.matchAll(/^\| `([\w.]+)\/?` \| [^|]* \| ([^|]*) \|$/gm)].map(
    ([, room = '', words = '']) => {
      const named = words.replace(/^everything but /, '').split(', ');
      const may = words.startsWith('everything but')
        ? rooms.filter(each => each !== room && !named.includes(each))
        : named.filter(each => each !== 'nothing');
      return [room, may.sort()];
    },
  );
  const rules = Object.entries(MAY_IMPORT).map(([room, may]) => [room, [...may].sort()]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(rules));
});

test('adapters never import each other', () => {
  const adapters = AGENTS.map(name => `agents/${name}/adapter.ts`);
  const offences = adapters.flatMap(file =>
    importsOf(file)
      .map(target => relative(SRC, resolve(SRC, dirname(file), target)))
      .filter(target => target !== file && adapters.includes(target))
      .map(target => `${file} imports ${target}`),
  );
  expect(offences).toEqual([]);
});

/** Programs of their own that are started beside Ralph. */
const PROGRAMS = ['sandbox/srt-host.ts', 'sandbox/inside.ts', 'library/sim/scripted-agent.ts'];

test('only the command line prints, and only the platform starts processes', () => {
  const offences = files
    .filter(file => !PROGRAMS.includes(file))
    .flatMap(file => {
      const source = readFileSync(join(SRC, file), 'utf8');
      const room = roomOf(file);
      const prints = room !== 'cli' && /process\.(stdout|stderr|exit)\b|console\.\w+\(/.test(source);
      const spawns = room !== 'platform' && source.includes("'node:child_process'");
      return [...(prints ? [`${file} prints`] : []), ...(spawns ? [`${file} spawns`] : [])];
    });
  expect(offences).toEqual([]);
});

test('no function is longer than 60 lines', () => {
  const script = join(SRC, '../scripts/figures.mjs');
  const figures = JSON.parse(execFileSync(process.execPath, [script, '--json'], { encoding: 'utf8' }));
  const functions = figures.functions as readonly { readonly name: string; readonly lines: number }[];
  const long = functions.filter(({ lines }) => lines > 60).map(({ name }) => name.replace(/:\d+/, ''));
  expect(functions.length).toBeGreaterThan(1000);
  expect(long.sort()).toEqual([]);
});
