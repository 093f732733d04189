// P7: what Ralph costs in repositories of 1,000, 10,000 and 100,000 files, as CPU (children included) against git in the same run; and what stories side by
// side cost there and keep. RALPH_BENCH_REPO=/path measures a clone of that one instead.
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, many, measure, median, ms, node, script } from './measure.mjs';

const USER = ['-c', 'user.name=b', '-c', 'user.email=b@example.invalid', '-c', 'core.fsync=none'];

export function repo(folder, quick) {
  return inEach(folder, quick, iterations);
}

export function stories(folder, quick) {
  return inEach(folder, quick, storiesIn);
}

function inEach(folder, quick, measured) {
  const given = process.env.RALPH_BENCH_REPO;
  if (given)
    return measured(
      world(folder, work => cloned(work, given)),
      given,
    );
  const sizes = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];
  return sizes.flatMap(files => {
    const place = join(folder, `${files}`);
    try {
      return measured(
        world(place, work => made(work, files)),
        `${files} files`,
      );
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
}

function git(work, ...args) {
  return execFileSync('git', [...USER, ...args], {
    cwd: work,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

function made(work, files) {
  git(work, 'init', '--quiet');
  for (let at = 0; at < files; at++) {
    if (at % 100 === 0) mkdirSync(join(work, `d${at / 100}`));
    writeFileSync(join(work, `d${Math.floor(at / 100)}`, `f${at}.txt`), `${at}\n`.repeat(50));
  }
}

function cloned(work, from) {
  git(work, 'clone', '--quiet', '--no-local', '--depth=1', `file://${from}`, '.');
}

function world(folder, make) {
  const [work, state] = [join(folder, 'work'), join(folder, 'state')];
  for (const each of [work, state]) mkdirSync(each, { recursive: true });
  make(work);
  writeFileSync(join(work, 'tasks.md'), '- [ ] one\n- [ ] two\n- [ ] three\n');
  writeFileSync(join(work, '.gitignore'), '.ralph/\n');
  commitAll(work, 'bench');
  git(work, 'config', 'user.name', 'b');
  git(work, 'config', 'user.email', 'b@example.invalid');
  const agent = script(
    join(folder, 'agent'),
    '#!/bin/sh\ncat >/dev/null\ndate +%N >> "made-$RALPH_LANE_INDEX"\n[ -n "$BENCH_CLAIM" ] && echo "<promise>COMPLETE</promise>"\necho working\n',
  );
  return { folder, work, state, agent };
}

function iterations(world, what) {
  const { work } = world;
  const again = 'rm -f .git/index; git read-tree HEAD; git status --porcelain';
  const cold = many(5, ['sh', '-c', again], { cwd: work });
  const first = ralph(world, ['Change a file.', '--max-iterations', '1']);
  const each = perIteration(world);
  const committing = withCommits(work, () => perIteration(world));
  const look = ['one git status', floorOf(() => many(20, ['git', 'status', '--porcelain'], { cwd: work }))];
  const add = ['one git worktree add', floorOf(() => addWorktree(world))];
  const tree = ralph(world, ['Change a file.', '--max-iterations', '1', '--worktree=bench']).cpu - one(world);
  return [
    against(`a further iteration, ${what}`, each, look, 2.5),
    against(`a further iteration with a commit, ${what}`, committing, look, 6),
    against(`--worktree, ${what}`, tree, add, 1.2),
    against(`the first run ever, ${what}`, first.cpu, ['a git status with a cold index', cold.cpu], 3),
    {
      ...{
        id: 'P7',
        what: `memory of the first run, ${what}`,
        floor: 'nothing',
        ours: `${first.memory.toFixed(0)} MB`,
      },
      ...{ value: first.memory, limit: 150, unit: 'MB' },
    },
  ];
}

function storiesIn(world, what) {
  const { work, state } = world;
  // What a project costs once is no story's.
  ralph(world, ['Change a file.', '--max-iterations', '1']);
  // Lanes begin with what is committed, and are refused beside changes that are not.
  commitAll(work, 'before the stories');
  const add = ['one git worktree add', floorOf(() => addWorktree(world))];
  const before = sizeOf(state);
  const { cpu } = ralph(world, ['--tasks', 'tasks.md', '--parallel', '3'], { BENCH_CLAIM: '1' }, DONE);
  const landed = git(work, 'ls-tree', '--name-only', 'HEAD').match(/^made-\d$/gm)?.length;
  if (landed !== 3) throw new Error(`${landed ?? 0} of 3 stories have landed`);
  const kept = (sizeOf(state) - before) / 3;
  const whole = sizeOf(join(work, '.git'));
  return [
    against(`a trivial story of three at a time, ${what}`, cpu / 3, add, 4),
    {
      ...{ id: 'P7', what: `kept of a lane, ${what}`, floor: `.git ${(whole / 1e6).toFixed(1)} MB` },
      ...{ ours: `${(kept / 1e3).toFixed(0)} kB`, value: (100 * kept) / whole, limit: 1, unit: '%' },
    },
  ];
}

function against(what, ours, [words, floor], limit) {
  return {
    ...{ id: 'P7', what: `${what}, CPU`, floor: `${words} ${ms(floor)}`, ours: ms(ours) },
    ...{ value: ours / floor, limit },
  };
}

const DONE = 0;
/** Out of iterations: the agent claims nothing. */
const STOPPED = 1;

/** CPU seconds, and the most memory of one process in MB. A run that ends otherwise than it should measures nothing. */
function ralph({ folder, work, state, agent }, args, more = {}, code = STOPPED) {
  const [report, said] = [join(folder, 'time'), join(folder, 'said')];
  const argv = [
    ...['sh', '-c', 'exec "$@" >"$0" 2>&1', said],
    '/usr/bin/time',
    '-f',
    '%M',
    '-o',
    report,
    node,
    bin,
    'loop',
    ...args,
    '--check',
    'true',
    '--agent',
    agent,
  ];
  const { cpu, status } = measure([...argv, '--quiet'], {
    cwd: work,
    env: { ...env, ...more, XDG_STATE_HOME: state },
  });
  if (status !== code)
    throw new Error(`ralph loop ${args.join(' ')}: exit code ${status}\n${readFileSync(said, 'utf8')}`);
  return { cpu, memory: Number(readFileSync(report, 'utf8').trim().split('\n').at(-1)) / 1024 };
}

function perIteration(world) {
  const run = n => ralph(world, ['Change a file.', '--max-iterations', String(n), '--stuck-after', '0']).cpu;
  return median([0, 1, 2].map(() => (run(6) - run(1)) / 5));
}

function one(world) {
  return median([0, 1, 2].map(() => ralph(world, ['Change a file.', '--max-iterations', '1']).cpu));
}

function floorOf(run) {
  return median([0, 1, 2, 3, 4].map(() => run().cpu));
}

function addWorktree({ folder, work }) {
  const place = join(folder, 'added');
  const result = measure(['git', 'worktree', 'add', '--quiet', '--detach', place], { cwd: work });
  git(work, 'worktree', 'remove', '--force', place);
  return result;
}

function commitAll(work, message) {
  git(work, 'add', '--all');
  git(work, 'commit', '--quiet', '--allow-empty', '--message', message);
}

function withCommits(work, run) {
  const file = join(work, '.ralph/settings.json');
  writeFileSync(file, JSON.stringify({ scm: { command: 'git', tasks: ['commit'] } }));
  // What is there before a run is the user's, and in none of its commits.
  commitAll(work, 'before');
  const result = run();
  rmSync(file);
  return result;
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce(
      (sum, entry) =>
        sum + (lstatSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
}
