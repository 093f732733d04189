// P19: what a unit of a fleet starts: git, and of it pushes and fetches. Counted from outside by strace, for one unit and for several, so that
// what a worker does once is not in it. Needs strace and a PostgreSQL; without them the rows are left out.
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { makeWorld } from './fleet-world.mjs';
import { startPostgres } from './postgres.mjs';

const MANY = 5;

export async function unit(folder) {
  const hasStrace = (process.env.PATH ?? '').split(delimiter).some(each => existsSync(join(each, 'strace')));
  const postgres = hasStrace ? await startPostgres(folder) : undefined;
  if (!postgres) {
    console.log('P19 is left out: it needs strace and a PostgreSQL');
    return [];
  }
  const world = makeWorld(folder, postgres);
  try {
    const [one, many] = [await traced(world, folder, 1), await traced(world, folder, MANY)];
    const each = key => (many[key] - one[key]) / (MANY - 1);
    const all = `of one alone ${one.git}`;
    return [
      row('git in a unit of a fleet', each('git'), all, 110),
      row('pushes of a unit', each('push'), `of one alone ${one.push}`, 5),
      row('fetches from the remote of a unit', each('fetch'), `of one alone ${one.fetch}`, 1),
    ];
  } finally {
    world.end();
    await postgres.close();
  }
}

function row(what, value, floor, limit) {
  return { id: 'P19', what, floor, ours: value.toFixed(1), value, unit: '', limit };
}

async function traced(world, folder, count) {
  for (let at = 0; at < count; at++) {
    const flags = ['--check', 'grep -q done work.txt', '--agent', 'claude', '--json'];
    world.ralph('fleet', 'submit', 'loop', 'Write it', ...flags);
  }
  const trace = join(folder, `trace-${count}`);
  const strace = [
    'strace',
    '-f',
    '-qq',
    '-s',
    '200',
    '-e',
    'trace=execve',
    '-e',
    'status=successful',
    '-o',
    trace,
  ];
  await world.worker(strace, '--once', '--slots', '1').over;
  const calls = readFileSync(trace, 'utf8')
    .split('\n')
    .filter(line => /execve\("[^"]*\/git", /.test(line));
  const has = (...words) => calls.filter(line => words.every(word => line.includes(word))).length;
  return { git: calls.length, push: has('"push"'), fetch: has('"fetch"', 'remote.git"') };
}
