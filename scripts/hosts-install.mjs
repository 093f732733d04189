#!/usr/bin/env node
// Installs the pinned agent CLIs of test/rig/hosts/pins.json into a cache outside the project, two at a time.
//   node scripts/hosts-install.mjs [--force] [agent …]
// The cache is $RALPH_HOSTS_DIR, or ~/.cache/ralph-hosts: one folder per agent, each with its own package.json.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const AT_ONCE = 2;
const INSTALL_MS = 8 * 60_000;
const START_MS = 60_000;
const MARKER = 'ralph-host.json';

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  const pins = JSON.parse(await readFile(new URL('../test/rig/hosts/pins.json', import.meta.url), 'utf8'));
  const root = process.env.RALPH_HOSTS_DIR || join(homedir(), '.cache', 'ralph-hosts');
  const named = args.filter(word => !word.startsWith('-'));
  const unknown = named.filter(name => !(name in pins));
  if (unknown.length > 0) {
    console.error(`no such agent: ${unknown.join(', ')}; there are ${Object.keys(pins).join(', ')}`);
    return 2;
  }
  await mkdir(root, { recursive: true });
  const queue = named.length > 0 ? named : Object.keys(pins);
  const failed = [];
  const force = args.includes('--force');
  await inParallel(AT_ONCE, queue, async name => {
    const started = Date.now();
    try {
      const done = await installed(root, name, pins[name], force);
      console.log(`${name} ${pins[name].version}: ${done} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed.push(name);
      console.error(`${name} ${pins[name].version}: FAILED: ${error.message}`);
    }
  });
  if (failed.length === 0) return 0;
  console.error(`could not install: ${failed.join(', ')}`);
  return 1;
}

async function inParallel(count, items, work) {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: count }, worker));
}

/** Makes sure that the pinned version is in the cache, and says what that took. */
async function installed(root, name, pin, force) {
  const home = join(root, name);
  const marker = JSON.stringify({ ...pin, platform: `${process.platform}-${process.arch}` });
  const isThere = async () => (await readFile(join(home, MARKER), 'utf8').catch(() => '')) === marker;
  if (!force && (await isThere())) return 'already there';

  // Built aside and moved into place, so that a killed or concurrent install never leaves half an agent behind.
  const fresh = await mkdtemp(join(root, `.${name}-`));
  try {
    const manifest = { name: `ralph-host-${name}`, private: true, dependencies: pin.packages };
    await writeFile(join(fresh, 'package.json'), JSON.stringify(manifest));
    await npmInstall(fresh);
    await answersItsVersion(fresh, pin);
    await writeFile(join(fresh, MARKER), marker);
    await rm(home, { recursive: true, force: true });
    await rename(fresh, home);
    return 'installed';
  } catch (error) {
    if (error.code === 'ENOTEMPTY' && (await isThere())) return 'installed by another run meanwhile';
    throw error;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function npmInstall(cwd) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const flags = ['--no-audit', '--no-fund', '--no-package-lock', '--omit=dev', '--loglevel=error'];
  const { code, output } = await run(npm, ['install', '--prefix', cwd, ...flags], {
    cwd,
    timeout: INSTALL_MS,
  });
  if (code !== 0) throw new Error(`npm install ended with ${code}: ${tail(output)}`);
}

/** Some packages "install" with a stub in place of a missing binary: only a start shows that it is there. */
async function answersItsVersion(cwd, pin) {
  const home = await mkdtemp(join(tmpdir(), 'ralph-host-'));
  const bin = join(cwd, pin.bin);
  // A CLI that unpacks itself at its first start does it here, once, and not in every fresh home.
  const unpacked = Object.entries(pin.unpacked ?? {}).map(([name, folder]) => [name, join(cwd, folder)]);
  const path = `${dirname(bin)}${delimiter}${process.env.PATH}`;
  const env = { HOME: home, PATH: path, LANG: 'C.UTF-8', ...Object.fromEntries(unpacked) };
  try {
    const { code, output } = await run(bin, ['--version'], { cwd: home, env, timeout: START_MS });
    if (code !== 0 || !output.includes(pin.version)) {
      throw new Error(`installed, but --version ended with ${code}: ${tail(output)}`);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

function tail(text) {
  return text.trim().split('\n').slice(-12).join('\n') || '(no output)';
}
