// Seeded faults in six small projects: which ones do the checks catch, and which of the others does `ralph mutate` name?
// `node bench/mutate.mjs` prints the table of docs/reference/mutate.md, `--doc` writes it there. A seeded fault counts as named when a survivor is on its line.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HERE = join(import.meta.dirname, 'mutate');
const BIN = join(import.meta.dirname, '../dist/bin/ralph.cjs');
const CHECKS = {
  js: { language: 'JavaScript', check: test => `node --test test/${test}` },
  py: { language: 'Python', check: test => `PYTHONPATH=. python3 test/${test} -f -q` },
  sh: { language: 'shell', check: test => `sh test/${test}` },
};
const GIT = {
  ...process.env,
  PYTHONDONTWRITEBYTECODE: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Bench',
  GIT_AUTHOR_EMAIL: 'bench@example.invalid',
  GIT_COMMITTER_NAME: 'Bench',
  GIT_COMMITTER_EMAIL: 'bench@example.invalid',
};

const rows = readdirSync(HERE).map(measure);
const sum = key => rows.reduce((total, row) => total + row[key], 0);
const total = Object.fromEntries(Object.keys(rows[0]).map(key => [key, sum(key)]));
const table = tableOf([...rows, { ...total, name: '**all**', language: '' }]);
if (process.argv.includes('--doc')) writeDoc(table);
console.log(table);

/** The project in a repository of its own, where the whole of its code is new. */
function measure(name) {
  const dir = mkdtempSync(join(tmpdir(), 'bench-mutate-'));
  try {
    cpSync(join(HERE, name), dir, { recursive: true });
    const faults = JSON.parse(readFileSync(join(dir, 'faults.json'), 'utf8'));
    rmSync(join(dir, 'faults.json'));
    const file = readdirSync(dir).find(each => /\.(js|py|sh)$/.test(each));
    const [test] = readdirSync(join(dir, 'test'));
    const { language, check } = CHECKS[file.split('.').at(-1)];
    writeFileSync(join(dir, 'package.json'), '{ "type": "module" }\n');
    git(dir, 'init', '--quiet');
    git(dir, 'add', 'package.json');
    git(dir, 'commit', '--quiet', '--message', 'start');
    const began = Date.now();
    if (!isGreen(dir, check(test))) throw new Error(`${name}: the checks are red without a fault`);
    const once = (Date.now() - began) / 1000;
    const missed = faults.filter(fault => !isCaught(dir, file, fault, check(test)));
    const report = mutate(dir, check(test));
    const source = readFileSync(join(dir, file), 'utf8');
    const unwatched = new Set(report.survivors.map(({ line }) => line));
    const named = missed.filter(({ from }) => unwatched.has(source.split(from)[0].split('\n').length));
    const silent = missed.filter(fault => !named.includes(fault));
    for (const { from, to } of silent) process.stderr.write(`${name}: not named: ${from} → ${to}\n`);
    const { mutants, survivors, seconds } = report;
    return {
      name,
      language,
      lines: source.split('\n').length - 1,
      faults: faults.length,
      caught: faults.length - missed.length,
      missed: missed.length,
      named: named.length,
      mutants,
      survivors: survivors.length,
      once,
      seconds,
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function isCaught(dir, file, { from, to }, check) {
  const path = join(dir, file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(from)) throw new Error(`${file}: there is no ${from}`);
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  const caught = !isGreen(dir, check);
  writeFileSync(path, source);
  return caught;
}

function isGreen(dir, check) {
  return spawnSync('sh', ['-c', check], { cwd: dir, env: GIT, timeout: 20_000 }).status === 0;
}

function mutate(dir, check) {
  const { stdout, stderr } = spawnSync(process.execPath, [BIN, 'mutate', '--check', check, '--json'], {
    cwd: dir,
    env: GIT,
    encoding: 'utf8',
  });
  if (!stdout.startsWith('{')) throw new Error(stderr);
  return JSON.parse(stdout);
}

function git(dir, ...args) {
  execFileSync('git', args, { cwd: dir, env: GIT });
}

function tableOf(all) {
  const percent = (part, whole) => (whole === 0 ? '–' : `${Math.round((100 * part) / whole)} %`);
  const lines = all.map(row => {
    const caught = `${row.caught} (${percent(row.caught, row.faults)})`;
    const named = `${row.named} of ${row.missed} (${percent(row.named, row.missed)})`;
    const label = row.language ? `${row.name}, ${row.language}` : row.name;
    const cells = [label, row.lines, row.faults, caught, named, row.mutants, row.survivors];
    return `| ${[...cells, row.once.toFixed(1), row.seconds.toFixed(1), (row.seconds / 60).toFixed(1)].join(' | ')} |`;
  });
  return [
    '| project | lines | seeded faults | caught by the checks | of the rest, named | mutants | survivors | checks once, s | added, s | added, minutes |',
    '| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |',
    ...lines,
  ].join('\n');
}

/** Between its two marks. */
function writeDoc(text) {
  const doc = new URL('../docs/reference/mutate.md', import.meta.url);
  const [before, after] = readFileSync(doc, 'utf8').split(/(?<=<!-- bench -->\n)[\s\S]*(?=<!-- \/bench -->)/);
  writeFileSync(doc, `${before}${text}\n${after}`);
}
