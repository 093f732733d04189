// P16: a fleet. Units of scripted agents over four workers on a real PostgreSQL: units a second, what the database does for each, how long it
// takes to notice a worker that died, a cancel, a drain; and what 10,000 agents would ask of the database. `--units=100` for fewer.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { makeWorld } from './fleet-world.mjs';
import { median } from './measure.mjs';
import { startPostgres } from './postgres.mjs';

const WORKERS = 4;
const IDLE_SLOTS = 25;
/** Seconds. */
const IDLE_FOR = 15;
const AGENTS = 10_000;
/** Of the arithmetic: seconds of an iteration, and slots of a worker. */
const ITERATION = 120;
const SLOTS = 50;

export async function fleet(folder, quick) {
  const postgres = await startPostgres(folder);
  if (!postgres) {
    console.log('       P16 left out: no PostgreSQL is installed');
    return [];
  }
  const given = process.argv.find(arg => arg.startsWith('--units='))?.slice('--units='.length);
  const count = Number(given ?? (quick ? 40 : 1_000));
  const world = makeWorld(folder, postgres);
  try {
    const work = await workThrough(world, count);
    const idle = await idling(world);
    report(postgres, count, work, idle);
    const delays = await measureDelays(world, quick ? 1 : 3);
    return rowsOf(count, work, delays);
  } finally {
    world.end();
    await postgres.close();
  }
}

function submit({ ralph }) {
  const flags = ['--check', 'grep -q done work.txt', '--agent', 'claude', '--json'];
  return JSON.parse(ralph('fleet', 'submit', 'loop', 'Write it', ...flags)).unit;
}

/** One is submitted as users do it; the others are copies of its row. */
async function workThrough(world, count) {
  const { postgres } = world;
  const first = submit(world);
  const columns =
    'kind, title, owner, repo_url, base, config, needs, account, budget, priority, depends, min_version, state';
  await postgres.sql(
    `insert into ralph.unit (id, ${columns}) select id || '-' || n, ${columns} from ralph.unit, generate_series(2, $2::int) n where id = $1`,
    first,
    count,
  );
  writeFileSync(world.block, '');
  const workers = Array.from({ length: WORKERS }, () => world.worker([], '--once', '--slots', '4'));
  const turns = () => postgres.sql("select 1 from ralph.event where type = 'agent-started'");
  await until('all slots', async () => (await turns()).length === Math.min(count, WORKERS * 4));
  const held = (await cpuFor(postgres)) / WORKERS;
  rmSync(world.block);
  const [before, began] = [postgres.cpu(), Date.now()];
  await Promise.all(workers.map(({ over }) => over));
  const [cpu, seconds] = [postgres.cpu() - before, (Date.now() - began) / 1000];
  const [units] = await postgres.sql(
    `select count(*) filter (where state = 'done' and fence = 1)::int as done, sum(iterations)::int as iterations from ralph.unit`,
  );
  const [events] = await postgres.sql(
    'select count(*)::int as rows, sum(octet_length(line))::int as bytes from ralph.event',
  );
  const [files] = await postgres.sql(
    'select count(*)::int as rows, sum(octet_length(content))::int as bytes from ralph.artifact',
  );
  const [disk] = await postgres.sql('select pg_database_size(current_database())::float8 as bytes');
  return { ...units, cpu, held, seconds, events, files, disk: disk.bytes };
}

async function idling(world) {
  const { postgres } = world;
  const alone = await cpuFor(postgres);
  const workers = Array.from({ length: WORKERS }, () => world.worker([], '--slots', String(IDLE_SLOTS)));
  await until(
    'the workers',
    async () => (await postgres.sql('select 1 from ralph.worker')).length === WORKERS,
  );
  const together = await cpuFor(postgres);
  for (const { child } of workers) child.kill('SIGTERM');
  await Promise.all(workers.map(({ over }) => over));
  return Math.max(0, together - alone) / WORKERS;
}

/** Seconds of CPU in a second. */
async function cpuFor(postgres) {
  const before = postgres.cpu();
  await new Promise(resolve => setTimeout(resolve, IDLE_FOR * 1000));
  return (postgres.cpu() - before) / IDLE_FOR;
}

async function measureDelays(world, times) {
  const { postgres, block, beat } = world;
  // Turns of before have left theirs.
  rmSync(beat, { force: true });
  writeFileSync(block, '');
  let last = '';
  const turn = () =>
    until('a turn', () => {
      const name = existsSync(beat) ? readFileSync(beat, 'utf8').trim() : '';
      const isNew = name !== '' && name !== last;
      if (isNew) last = name;
      return isNew;
    });
  const workers = async () => (await postgres.sql('select 1 from ralph.worker')).length;
  let holder = world.worker([]);
  const [takeovers, cancels, drains] = [[], [], []];
  for (let time = 0; time < times; time++) {
    const unit = submit(world);
    await turn();
    const next = world.worker([]);
    await until('another worker', async () => (await workers()) === 2);
    const killed = Date.now();
    holder.child.kill('SIGKILL');
    const taken = () => postgres.sql('select 1 from ralph.unit where id = $1 and fence = 2', unit);
    await until('the take-over', async () => (await taken()).length > 0);
    takeovers.push((Date.now() - killed) / 1000);
    await postgres.sql("delete from ralph.worker where seen_at < now() - interval '5 seconds'");
    await turn();
    const sent = Date.now();
    world.ralph('fleet', 'cancel', unit);
    const ended = () => postgres.sql("select 1 from ralph.unit where id = $1 and state = 'cancelled'", unit);
    await until('the end of the unit', async () => (await ended()).length > 0);
    cancels.push(Math.max(0, statSync(beat).mtimeMs - sent) / 1000);
    submit(world);
    await turn();
    const asked = Date.now();
    next.child.kill('SIGTERM');
    await next.over;
    drains.push((Date.now() - asked) / 1000);
    await postgres.sql("update ralph.unit set state = 'cancelled', ended_at = now() where state = 'ready'");
    holder = world.worker([]);
  }
  holder.child.kill('SIGTERM');
  await holder.over;
  return { takeover: median(takeovers), cancel: median(cancels), drain: median(drains) };
}

async function until(what, holds) {
  const end = Date.now() + 180_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`still not: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** Seconds of CPU of an iteration, at most, without what workers cost that hold units: less than a tenth cannot be distinguished from noise. */
const workOf = ({ cpu, held, seconds, iterations }) =>
  Math.max(cpu - WORKERS * held * seconds, cpu / 10) / iterations;
const cores = work => (AGENTS / ITERATION) * workOf(work) + (AGENTS / SLOTS) * work.held;

/** What the figures mean for many more agents than were there. */
function report({ version }, count, work, idle) {
  const { cpu, held, iterations, seconds, events, files, disk } = work;
  const perDay = (AGENTS / ITERATION) * 86_400;
  const kb = bytes => `${(bytes / 1024).toFixed(1)} KB`;
  const lines = [
    ['PostgreSQL', `${version}, ${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)}`],
    [
      `${count} units over ${WORKERS} workers`,
      `${seconds.toFixed(0)} s, ${(count / seconds).toFixed(2)} units a second`,
    ],
    [
      'CPU of PostgreSQL a unit',
      `${((cpu / count) * 1000).toFixed(1)} ms; ${(workOf(work) * 1000).toFixed(1)} ms at most without the next line`,
    ],
    ['… a worker whose slots are all in a turn, a second', `${(held * 1000).toFixed(2)} ms`],
    [
      '… an idle worker, a second',
      `${(idle * 1000).toFixed(2)} ms; ${((idle / IDLE_SLOTS) * 1000).toFixed(3)} ms a slot of ${IDLE_SLOTS}`,
    ],
    [
      'rows an iteration',
      `${(events.rows / iterations).toFixed(1)} events, ${(files.rows / iterations).toFixed(1)} files`,
    ],
    [
      'bytes an iteration',
      `${kb(events.bytes / iterations)} of events, ${kb(files.bytes / iterations)} of files`,
    ],
    ['database on disk a unit', kb(disk / count)],
    [
      `${AGENTS} agents, an iteration in ${ITERATION} s`,
      `${(AGENTS / ITERATION).toFixed(0)} iterations a second`,
    ],
    [
      '… CPU for their work',
      `${((AGENTS / ITERATION) * workOf(work)).toFixed(2)} cores at most (with a claim and a release in each iteration)`,
    ],
    [
      `… CPU for ${AGENTS / SLOTS} workers of ${SLOTS} slots`,
      `${((AGENTS / SLOTS) * held).toFixed(2)} cores`,
    ],
    ['… rows a day', `${((perDay * (events.rows + files.rows)) / iterations / 1e6).toFixed(0)} million`],
    ['… bytes a day', `${((perDay * (events.bytes + files.bytes)) / iterations / 1024 ** 3).toFixed(0)} GB`],
  ];
  for (const [what, value] of lines) console.log(`       ${what.padEnd(54)}${value}`);
}

function rowsOf(count, work, { takeover, cancel, drain }) {
  const row = (what, floor, value, unit, limit, atLeast = false) => ({
    ...{
      id: 'P16',
      what,
      floor,
      ours: `${Number.isInteger(value) ? value : value.toFixed(2)} ${unit}`.trim(),
    },
    ...{ value, unit, limit, atLeast },
  });
  const seconds = [
    ['a worker that was killed is replaced', 'a heartbeat of 10 s', takeover, 12],
    ['from a cancel to the end of the agent', 'a look each 0.5 s', cancel, 2],
    ['a drain in a turn that does not end', 'its time to finish, 14 s', drain, 25],
  ].map(([what, floor, value, limit]) => row(what, floor, value, 's', limit));
  return [
    row('units that were done, each by one claim', `${count} submitted`, work.done, '', count, true),
    row(`PostgreSQL for ${AGENTS} agents`, 'one machine of 4 cores', cores(work), 'cores', 4),
    ...seconds,
  ];
}
