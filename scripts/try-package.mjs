// `npm run try-package [NODE …]`: packs Ralph, installs it in a fresh folder with a fresh home on each version of Node, and uses it there.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeOf } from './nodes.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const wanted = process.argv.slice(2).map(Number);
const VERSIONS = wanted.length > 0 ? wanted : [20, 22, 24];
const PACKAGE = '@ralph-loop/ralph';
const AGENT = '#!/bin/sh\ncat > /dev/null\necho done > done.txt\necho "<promise>COMPLETE</promise>"\n';
const LIBRARY = `import { runLoop, defineAgent, listRuns } from '${PACKAGE}';
const agent = defineAgent('none', async () => ({ text: '<promise>COMPLETE</promise>', toolCalls: 1 }));
const { stopReason } = await runLoop({ task: 'x', checks: ['test -f done.txt'] }, { agent });
console.log(stopReason, (await listRuns('.')).length);
`;

const place = mkdtempSync(join(tmpdir(), 'ralph-package-'));
try {
  const packed = command('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', place], {
    cwd: root,
  });
  const [{ filename, version, size }] = JSON.parse(packed);
  console.log(`${filename}: ${Math.round(size / 1000)} KB`);
  for (const node of VERSIONS) tryOn(node, join(place, filename), version);
} finally {
  rmSync(place, { recursive: true, force: true });
}

function tryOn(wanted, file, version) {
  const [home, work] = ['home', 'work'].map(name => join(place, `${name}-${wanted}`));
  for (const folder of [home, work]) mkdirSync(folder);
  const bin = nodeOf(wanted);
  const path = [join(work, 'node_modules/.bin'), bin, process.env.PATH].join(':');
  const author = { GIT_AUTHOR_NAME: 'Test', GIT_AUTHOR_EMAIL: 'test@example.invalid' };
  const committer = { GIT_COMMITTER_NAME: 'Test', GIT_COMMITTER_EMAIL: 'test@example.invalid' };
  const env = { PATH: path, HOME: home, TMPDIR: place, GIT_CONFIG_NOSYSTEM: '1', ...author, ...committer };
  const run = (program, ...args) => command(program, args, { cwd: work, env });
  const node = run('node', '--version').trim();
  if (!node.startsWith(`v${wanted}.`))
    throw new Error(`Node ${wanted} was asked for, and ${node} is what runs`);
  writeFileSync(join(work, 'package.json'), '{ "private": true, "type": "module" }\n');
  command('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', file], { cwd: work });
  const installed = readdirSync(join(work, 'node_modules')).filter(name => !name.startsWith('.'));
  expect('what is installed', installed.join(), '@ralph-loop');
  expect('ralph --version', run('ralph', '--version').trim(), version);
  expect('ralph demo', /Stop reason: promise_accepted/.test(run('ralph', 'demo', '--no-color')), true);
  run('git', 'init', '--quiet');
  writeFileSync(join(work, '.gitignore'), 'node_modules\nagent\n');
  writeFileSync(join(work, 'agent'), AGENT);
  chmodSync(join(work, 'agent'), 0o755);
  run('git', 'add', '--all');
  run('git', 'commit', '--quiet', '--message', 'start');
  const loop = ['loop', 'Make it', '--agent', './agent', '--check', 'test -f done.txt', '--json'];
  expect('ralph loop', JSON.parse(run('ralph', ...loop)).stopReason, 'all_checks_passed');
  run('ralph', 'land');
  run('ralph', 'report', '-o', 'run.html');
  run('ralph', 'report', '--bundle', 'run.proof');
  run('ralph', 'verify', 'run.proof');
  writeFileSync(join(work, 'program.mjs'), LIBRARY);
  expect('the library', run('node', 'program.mjs').trim(), 'all_checks_passed 2');
  run('ralph', 'uninstall', '--all');
  const left = readdirSync(home, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  expect('what is left in the home', left.map(({ name }) => name).join(), '');
  console.log(
    `Node ${node}: installed, demo, loop, land, report, bundle, library, uninstall: all as it should be`,
  );
}

function expect(what, is, should) {
  if (is !== should)
    throw new Error(`${what}: ${JSON.stringify(is)}, and it should be ${JSON.stringify(should)}`);
}

function command(program, args, options) {
  const done = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, ...options });
  if (done.status === 0) return done.stdout;
  throw new Error(`${program} ${args.join(' ')}: exit code ${done.status}\n${done.stdout}${done.stderr}`);
}
