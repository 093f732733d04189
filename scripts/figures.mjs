#!/usr/bin/env node
// How large the source is and how far a typical change reaches.
//   node scripts/figures.mjs [--against REV] [--json | --doc]
// --against REV puts the figures of that commit beside them; --doc writes the table into docs/architecture.md.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseAst } from 'rolldown/parseAst';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DOC = join(ROOT, 'docs/architecture.md');
const TABLE = /(<!-- figures -->\n)[\s\S]*(<!-- end of figures -->)/;

/** Names whose spread over the files shows how far a change of that kind reaches. */
const SAMPLES = {
  agent: ['claude', 'codex', 'amp', 'opencode', 'gemini', 'copilot', 'qwen'],
  'stop reason': [
    'budget_exhausted',
    'rate_limited',
    'review_cap',
    'agent_failed',
    'disk_failed',
    'cancelled',
  ],
  setting: ['maxRetries', 'idleTimeout', 'hideEnv', 'checkRetries', 'protectNew', 'costlyAfter', 'atCap'],
};

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    json: { type: 'boolean', default: false },
    doc: { type: 'boolean', default: false },
  },
});
main();

function main() {
  const now = figuresOf(join(ROOT, 'src'));
  if (options.json) return console.log(JSON.stringify(now, null, 2));
  const table = tableOf(now, options.against === undefined ? undefined : figuresOfCommit(options.against));
  if (!options.doc) return console.log(`${table}\n${longestOf(now)}`);
  const page = readFileSync(DOC, 'utf8');
  if (!TABLE.test(page)) throw new Error(`${DOC} has no <!-- figures --> … <!-- end of figures -->`);
  writeFileSync(
    DOC,
    page.replace(TABLE, (_, start, end) => start + table + end),
  );
}

function figuresOfCommit(revision) {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-figures-'));
  try {
    const archive = execFileSync('git', ['archive', revision, 'src'], { cwd: ROOT, maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    return figuresOf(join(folder, 'src'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function figuresOf(src) {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(tsx?|css)$/.test(name))
    .map(name => readSource(src, name));
  const rooms = {};
  for (const { room, lines } of files) rooms[room] = (rooms[room] ?? 0) + lines;
  return {
    rooms,
    lines: files.reduce((sum, file) => sum + file.lines, 0),
    files: longestFirst(files.map(({ name, lines }) => ({ name, lines }))),
    functions: longestFirst(files.flatMap(file => file.functions)),
    reach: Object.fromEntries(Object.entries(SAMPLES).map(([kind, names]) => [kind, reachOf(files, names)])),
  };
}

function readSource(src, name) {
  const text = readFileSync(join(src, name), 'utf8');
  const isCode = !name.endsWith('.css');
  const program = isCode ? parseAst(text, { lang: name.endsWith('x') ? 'tsx' : 'ts' }, name) : undefined;
  const file = {
    name,
    room: name.split('/')[0],
    lines: lineAt(text, text.length) - 1,
    functions: [],
    words: new Set(),
  };
  if (program) visit(program, undefined, node => notice(node, file, text));
  return file;
}

function visit(node, parent, notice) {
  notice({ node, parent });
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof child?.type === 'string') visit(child, node, notice);
}

/** Functions with a body in braces; and every name and whole string, for the reach of a change. */
function notice({ node, parent }, file, text) {
  if (node.type === 'Identifier') file.words.add(node.name);
  if (node.type === 'Literal' && typeof node.value === 'string') file.words.add(node.value);
  if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return;
  if (node.body?.type !== 'BlockStatement') return;
  const name = node.id?.name ?? parent?.key?.name ?? parent?.id?.name ?? '(anonymous)';
  const first = lineAt(text, node.start);
  file.functions.push({
    name: `${file.name}:${first} ${name}`,
    lines: lineAt(text, node.end) - first + 1,
  });
}

function lineAt(text, offset) {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** In how many files each of these names stands, as a name or a whole string: the median and the most. */
function reachOf(files, names) {
  const counts = names
    .map(name => files.filter(file => file.words.has(name)).length)
    .filter(count => count > 0);
  return { median: quantile(counts, 0.5), most: Math.max(...counts) };
}

function tableOf(now, before) {
  const rooms = [...new Set([...Object.keys(before?.rooms ?? {}), ...Object.keys(now.rooms)])].sort();
  const rows = [
    ...rooms.map(room => [`\`${room}\``, figures => figures.rooms[room] ?? '–']),
    ['**lines of `src`**', figures => `**${figures.lines}**`],
    ['functions', figures => figures.functions.length],
    ['length of a function: median, 90 %, longest', figures => lengthsOf(figures.functions)],
    ['longest file', figures => figures.files[0].lines],
    ...Object.keys(SAMPLES).map(kind => [
      `files that name one ${kind}: median, most`,
      figures => `${figures.reach[kind].median}, ${figures.reach[kind].most}`,
    ]),
  ];
  const columns = before === undefined ? [now] : [before, now];
  const head = before === undefined ? ['', 'now'] : ['', options.against, 'now'];
  const lines = [
    head,
    head.map((_, at) => (at === 0 ? '---' : '--:')),
    ...rows.map(([label, of]) => [label, ...columns.map(of)]),
  ];
  return `${lines.map(cells => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

function lengthsOf(functions) {
  const lengths = functions.map(({ lines }) => lines);
  return [quantile(lengths, 0.5), quantile(lengths, 0.9), Math.max(...lengths)].join(', ');
}

function longestOf({ functions, files }) {
  const list = (title, items) =>
    [title, ...items.slice(0, 10).map(({ name, lines }) => `  ${String(lines).padStart(4)}  ${name}`)].join(
      '\n',
    );
  return `${list('longest functions', functions)}\n${list('longest files', files)}`;
}

function longestFirst(items) {
  return items.sort((one, other) => other.lines - one.lines);
}

function quantile(numbers, part) {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
