// What Ralph costs next to the floor it stands on, as ratios taken in one interleaved run. One table, one JSON file; exit code 1 when a target is missed.
// `npm run bench [-- --quick] [--doc] [names]`; the names are those of the files in here. The JSON file keeps what the others found before; `--doc` puts the
// table of all that is in it into docs/reference/performance.md, with the names of what is missing or was measured quickly; `--doc=kept` measures nothing.
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
import { repo } from './repo.mjs';
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
    kept[name] = { quick, rows: found };
    writeFileSync(file, `${JSON.stringify({ node: process.version, measured: kept }, null, 2)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
if (args.some(arg => arg.startsWith('--doc'))) writeDoc();
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

/** Between its two marks. The fleet has a section of its own. */
function writeDoc() {
  const listed = Object.keys(benches).filter(name => name !== 'fleet');
  const missing = listed.filter(name => !kept[name] || kept[name].quick);
  const left = missing.map(name => `\`${name}\``).join(', ');
  const doc = new URL('../docs/reference/performance.md', import.meta.url);
  const [before, after] = readFileSync(doc, 'utf8').split(/(?<=<!-- bench -->\n)[\s\S]*(?=<!-- \/bench -->)/);
  const table = [
    `Node ${process.version}, ${platform()} ${arch()}, ${availableParallelism()} cores. A cross: missed.`,
    '',
    '| | what | against | ours | ratio | target |',
    '|---|---|---|--:|--:|--:|',
    ...listed
      .filter(name => !missing.includes(name))
      .flatMap(name => kept[name].rows)
      .map(row => {
        const goal = `${row.atLeast ? '≥' : '≤'} ${row.limit}`;
        const value = `${number(row.value)}${(row.unit ?? 'x') === 'x' ? ' ×' : ` ${row.unit}`}`;
        return `| ${row.id} | ${row.what} | ${row.floor} | ${row.ours} | ${row.pass ? '' : '✗ '}${value.trim()} | ${goal} |`;
      }),
    ...(missing.length > 0 ? ['', `Not measured on an idle machine for this version: ${left}.`] : []),
  ];
  writeFileSync(doc, `${before}${table.join('\n')}\n${after}`);
}

function number(value) {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}
