// Measuring: CPU seconds (user + system, children included) and wall seconds of commands, by the shell's own accounting.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = dirname(fileURLToPath(import.meta.url));
export const bin = join(here, '../dist/bin/ralph.cjs');
export const node = process.execPath;
export const env = {
  PATH: process.env.PATH,
  HOME: tmpdir(),
  RALPH_CACHE_DIR: join(tmpdir(), 'ralph-bench-cache'),
};

export function measure(argv, options = {}) {
  const began = process.hrtime.bigint();
  const { stdout, status } = spawnSync(
    'sh',
    ['-c', '"$@" >/dev/null 2>&1; code=$?; times; exit $code', 'sh', ...argv],
    { encoding: 'utf8', env, ...options },
  );
  const wall = Number(process.hrtime.bigint() - began) / 1e9;
  const [, children = ''] = stdout.trim().split('\n');
  const cpu = [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, m, s]) => sum + Number(m) * 60 + Number(s),
    0,
  );
  return { cpu, wall, status };
}

/** What a line of an agent's script does to have Ralph's own account read: behind the wall it cannot see that process itself. */
export const asks = (file, word = '-') =>
  `echo ${word} > '${file}.new'; mv '${file}.new' '${file}'; while [ -e '${file}' ]; do sleep 0.002; done`;

/** Runs a command; each time its agent asks, the CPU seconds of all threads of the command itself, its memory in kB, and the word it gave. */
export function accounts(argv, file, options = {}) {
  const [command, ...args] = argv;
  const child = spawn(command, args, { env, stdio: 'ignore', ...options });
  const found = [];
  const look = () => {
    if (!existsSync(file)) return;
    const proc = name => readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
    const cpu = readdirSync(`/proc/${child.pid}/task`)
      .map(id => Number(proc(`task/${id}/schedstat`).split(' ')[0]) / 1e9)
      .reduce((sum, each) => sum + each, 0);
    const memory = Number(/VmRSS:\s+(\d+)/.exec(proc('status'))?.[1]);
    found.push({ cpu, memory, word: readFileSync(file, 'utf8').trim() });
    rmSync(file);
  };
  const timer = setInterval(look, 1);
  return new Promise(resolve => {
    child.on('exit', () => {
      clearInterval(timer);
      resolve(found);
    });
  });
}

/** The same command so many times in one sample: the shell counts CPU in hundredths of a second. */
export function many(times, argv, options) {
  const { cpu, wall, status } = measure(
    ['sh', '-c', `i=0; while [ $i -lt ${times} ]; do "$@"; i=$((i+1)); done`, 'sh', ...argv],
    options,
  );
  return { cpu: cpu / times, wall: wall / times, status };
}

/** Runs several commands in turn, round by round, so that a noisy machine is noisy for all of them. Medians, and the least wall time: what is left of noise. */
export function interleaved(rounds, commands) {
  const results = Object.fromEntries(Object.keys(commands).map(name => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(commands)) results[name].push(run());
  }
  return Object.fromEntries(
    Object.entries(results).map(([name, list]) => [
      name,
      {
        cpu: median(list.map(r => r.cpu)),
        wall: median(list.map(r => r.wall)),
        least: Math.min(...list.map(r => r.wall)),
      },
    ]),
  );
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** A repository with one empty commit. */
export function freshRepo(folder) {
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@example.invalid', ...args], {
      cwd: folder,
      stdio: 'ignore',
    });
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '--message', 'start');
}

export const ms = seconds => `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0)} ms`;

export function script(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}
