// What Ralph costs next to the floor it stands on, as ratios taken in one interleaved run. One table, one JSON file; exit code 1 when a target is missed.
// `npm run bench [-- --quick] [--doc] [names]`; the names are those of `benches` below. The JSON file keeps what the others found before. `--doc` puts what was
// measured into its section of docs/reference/performance.md, and leaves the other sections; `--doc=kept` measures nothing, and takes all that is in the file.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { best } from './best.mjs';
import { clean } from './clean.mjs';
import { containment } from './containment.mjs';
import { fleet } from './fleet.mjs';
import { growth } from './growth.mjs';
import { guard } from './guard.mjs';
import { hooks } from './hooks.mjs';
import { lanes, spend } from './lanes.mjs';
import { latency } from './latency.mjs';
import { loop } from './loop.mjs';
import { packaged } from './package.mjs';
import { parallel } from './parallel.mjs';
import { programs } from './programs.mjs';
import { repo, stories } from './repo.mjs';
import { sandbox } from './sandbox.mjs';
import { scale } from './scale.mjs';
import { start } from './start.mjs';
import { stream } from './stream.mjs';
import { tokens } from './tokens.mjs';
import { unit } from './unit.mjs';
import { verify } from './verify.mjs';

const benches = {
  start,
  loop,
  stream,
  hooks,
  guard,
  programs,
  repo,
  stories,
  scale,
  growth,
  parallel,
  latency,
  tokens,
  sandbox,
  containment,
  clean,
  lanes,
  spend,
  unit,
  verify,
  best,
  package: packaged,
  fleet,
};
const args = process.argv.slice(2);
const quick = args.includes('--quick');
const names = args.filter(arg => !arg.startsWith('-'));
const unknown = names.filter(name => !(name in benches));
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}

const file = new URL('./results.json', import.meta.url);
const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')).measured ?? {}) : {};
const rows = [];
for (const [name, bench] of Object.entries(benches)) {
  if (args.includes('--doc=kept') || (names.length > 0 && !names.includes(name))) continue;
  const folder = mkdtempSync(join(tmpdir(), 'ralph-bench-'));
  try {
    const found = (await bench(folder, quick)).map(row => ({ ...row, pass: passes(row) }));
    for (const row of found) console.log(line(row));
    rows.push(...found);
    kept[name] = { quick, measured: machine(), rows: found };
    writeFileSync(file, `${JSON.stringify({ node: process.version, measured: kept }, null, 2)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
if (args.includes('--doc=kept')) writeDoc(Object.keys(kept));
else if (args.includes('--doc')) writeDoc(names.length > 0 ? names : Object.keys(benches));
const missed = rows.filter(row => !row.pass);
console.log(`${rows.length - missed.length} of ${rows.length} targets reached; bench/results.json`);
process.exitCode = missed.length > 0 ? 1 : 0;

function passes({ value, limit, atLeast }) {
  return atLeast ? value >= limit : value <= limit;
}

function line({ id, what, floor, ours, value, unit = 'x', limit, atLeast, pass }) {
  const goal = `${atLeast ? '>=' : '<='} ${limit}`;
  return `${pass ? 'ok    ' : 'MISSED'} ${id.padEnd(4)}${what.padEnd(52)}${`${number(value)} ${unit}`.padStart(11)}  ${goal.padEnd(8)}  ${ours} against ${floor}`;
}

/** With which program and where: a figure of another commit is seen. */
function machine() {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const git = ['describe', '--always', '--dirty', '--exclude=*'];
  const commit = execFileSync('git', git, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  return `Ralph ${version} (${commit}), Node ${process.version}, ${platform()} ${arch()}, ${availableParallelism()} cores.`;
}

/** Each bench between two marks of its own. What was measured quickly stays out, and the fleet has words instead. */
function writeDoc(wanted) {
  const doc = new URL('../docs/reference/performance.md', import.meta.url);
  let text = readFileSync(doc, 'utf8');
  for (const name of wanted.filter(name => name !== 'fleet' && kept[name]?.quick === false)) {
    const [before, rest] = text.split(`<!-- bench ${name} -->\n`);
    const end = `<!-- /bench ${name} -->`;
    if (rest === undefined) throw new Error(`docs/reference/performance.md has no section for ${name}`);
    text = `${before}<!-- bench ${name} -->\n${table(kept[name])}\n${rest.slice(rest.indexOf(end))}`;
  }
  writeFileSync(doc, text);
}

function table({ measured, rows }) {
  const lines = rows.map(row => {
    const goal = `${row.atLeast ? '≥' : '≤'} ${row.limit}`;
    const value = `${number(row.value)}${(row.unit ?? 'x') === 'x' ? ' ×' : ` ${row.unit}`}`;
    return `| ${row.what} | ${row.floor} | ${row.ours} | ${row.pass ? '' : '✗ '}${value.trim()} | ${goal} |`;
  });
  return [measured, '', '| | against | ours | ratio | target |', '|---|---|--:|--:|--:|', ...lines].join(
    '\n',
  );
}

function number(value) {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}
