/** A parallel run that is killed and stopped again and again lands the same as one that is left alone: nothing unchecked, nothing twice, nothing lost. */
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { lookAt } from '../../src/store/overview.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { listRuns } from '../../src/store/run-file.ts';
import { beginWithSubmodule, eitherSide } from '../rig/conflicts.ts';
import {
  type LaneRig,
  landedFiles,
  laneRig,
  type ParallelResult,
  plain,
  resultIn,
  whatLanded,
} from '../rig/lanes.ts';
import { type Finished, startRalph } from '../rig/ralph.ts';
import { generator } from './generator.ts';

/** In all: `npm run chaos -- --parallel --runs 500` asks for more. */
const KILLS = Number(process.env.RALPH_CHAOS_PARALLEL ?? 16);
const SEED = Number(process.env.RALPH_CHAOS_SEED ?? 1);
const IN_ONE_RUN = 8;
const LANES = 4;

/** Two that conflict in every way that files can; two that are green alone and red together, one that stands on the first, one for itself. */
function project(): LaneRig {
  const ids = ['US-001', 'US-002', 'US-003', 'US-004', 'US-005', 'US-006'];
  const rig = laneRig(
    ids.map(id => plain(id, { priority: 1, ...(id === 'US-005' && { dependsOn: ['US-001'] }) })),
    { LANE_SECONDS: '0.1' },
  );
  beginWithSubmodule(rig.project);
  for (const [side, [id, other]] of [
    ['US-001', 'US-002'] as const,
    ['US-002', 'US-001'] as const,
  ].entries()) {
    const { implement, decide } = eitherSide(id, other, side === 0 ? 0 : 1);
    rig.does(id, 'implement', implement);
    rig.does(id, 'merge-fix', decide);
    rig.does(id, 'review-fix', decide);
  }
  // Where the other one has landed before it begins, or before its review, it sees that at once.
  const both = 'test -f work/US-003 && test -f work/US-004 && touch work/both; true';
  for (const id of ['US-003', 'US-004']) {
    rig.does(id, 'implement', `mkdir -p work; echo ${id} > work/${id}; ${both}`);
    rig.does(id, 'merge-fix', both);
    rig.does(id, 'review-fix', both);
  }
  rig.does('US-005', 'implement', 'mkdir -p work; echo 5 > work/US-005');
  return rig;
}

const CHECK = 'test ! -f work/US-003 || test ! -f work/US-004 || test -f work/both';
const FLAGS = ['--agent', 'claude', '--json', '--parallel', String(LANES), '--check', CHECK, '-n', '100'];

interface CameTo {
  readonly result: ParallelResult;
  readonly kills: number;
  readonly seconds: number;
}

interface Stop {
  /** Milliseconds after its start, or after its first worktree was made: between that and its first agent. */
  readonly after: number;
  readonly from?: 'worktree';
  readonly signal: NodeJS.Signals;
}

/** Half of them leave no time for anything. */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGKILL', 'SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'];

async function run(rig: LaneRig, stops: readonly Stop[]): Promise<CameTo> {
  const began = Date.now();
  let kills = 0;
  const runs = projectPaths(rig.project.dir);
  for (let part = 0; ; part++) {
    const looks = listRuns(runs).map(id => lookAt(id, runPaths(runs, id)));
    // It was over, and only then stopped: what it came to is on its ledger, and not on the screen.
    const over = looks.find(({ state }) => state.result?.success)?.state.result;
    if (over?.lanes) return { result: { ...over, lanes: over.lanes }, kills, seconds: 0 };
    // One that was killed or stopped before any agent was asked is begun anew, as a user would.
    const canResume = looks.some(({ overview }) => overview.resumable);
    const said = `what an agent has worked on can be resumed: ${JSON.stringify(looks.map(({ overview }) => overview))}`;
    expect(canResume || rig.turns().length === 0, said).toBe(true);
    const args = canResume ? ['resume', '--json'] : ['prd', 'run', ...FLAGS];
    const { process: child, finished } = startRalph(args, rig.options);
    const stop = stops[part];
    const cancel = stop && strike(rig, stop, () => child.kill(stop.signal));
    const end = await finished;
    cancel?.();
    const isStopped = end.signal !== null || end.code === 130;
    if (stop && isStopped) kills++;
    else return { result: resultOf(end), kills, seconds: (Date.now() - began) / 1000 };
  }
}

/** Returns how it is called off. */
function strike({ project }: LaneRig, { after, from }: Stop, kill: () => void): () => void {
  let timer: NodeJS.Timeout;
  const later = () => {
    timer = setTimeout(kill, after);
  };
  const worktrees = project.path('.ralph/worktrees');
  const isOfRun = (name: string) => !name.startsWith('.') && readdirSync(`${worktrees}/${name}`).length > 0;
  const look = () => {
    if (existsSync(worktrees) && readdirSync(worktrees).some(isOfRun)) later();
    else timer = setTimeout(look, 2);
  };
  if (from === 'worktree') look();
  else later();
  return () => clearTimeout(timer);
}

function resultOf(end: Finished): ParallelResult {
  expect(end.stdout, end.stderr).toContain('{"runId"');
  return resultIn(end.stdout);
}

function outcomeOf(rig: LaneRig, { result }: CameTo) {
  const { sub, ...all } = landedFiles(rig, 'ralph/demo');
  // Its commits, and where it is from, are others in each run.
  const files = Object.fromEntries(Object.entries(all).filter(([name]) => !/^(\.gitmod|sub\.)/.test(name)));
  return {
    stopReason: result.stopReason,
    isSubmoduleBoth: sub === all['sub.both']?.trim(),
    lanes: result.lanes.map(({ id, state }) => `${id} ${state}`),
    ...whatLanded(files),
    level: result.proof.level,
  };
}

function ledgerOf({ project: { path } }: LaneRig, run: string): readonly Record<string, unknown>[] {
  return readFileSync(path(`.ralph/runs/${run}/events.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
}

/** Neither what git puts where it cannot merge, nor a commit that changes nothing but Ralph's own files. */
function nothingUnsolvedOrEmpty(rig: LaneRig, commits: readonly string[]): void {
  const { git } = rig.project;
  for (const [name, text] of Object.entries(landedFiles(rig, 'ralph/demo'))) {
    expect(name, 'a name that git made up').not.toMatch(/~/);
    expect(text, name).not.toMatch(/^(<{7}|>{7}|={7})/m);
  }
  for (const commit of commits)
    expect(git('diff', '--name-only', `${commit}^1`, commit, '--', ':!ralph'), commit).not.toBe('');
}

/** I1, I2, I3, I5 by what is in the repository and on the ledger. */
function invariants(rig: LaneRig, { result }: CameTo): void {
  const { git } = rig.project;
  const events = ledgerOf(rig, result.runId);
  const landed = events.filter(({ type }) => type === 'landed');
  const green = new Set(
    events.filter(({ type, passed }) => type === 'candidate-checked' && passed).map(({ commit }) => commit),
  );
  for (const { commit, story } of landed) expect(green.has(commit), `${story} landed unchecked`).toBe(true);
  expect(new Set(landed.map(({ story }) => story)).size, 'something landed twice').toBe(landed.length);
  const chain = git('rev-list', '--first-parent', '--reverse', 'main..ralph/demo')
    .trim()
    .split('\n')
    .slice(-landed.length);
  expect(chain).toEqual(landed.map(({ commit }) => commit));
  nothingUnsolvedOrEmpty(rig, chain);
  const lost = git('fsck', '--unreachable', '--no-reflogs', '--no-progress')
    .split('\n')
    .flatMap(line => /^unreachable commit (\w+)/.exec(line)?.[1] ?? [])
    .filter(commit => git('log', '-1', '--format=%an', commit).trim() === 'Agent');
  expect(lost, 'commits of agents that no ref reaches').toEqual([]);
  expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  expect(git('status', '--porcelain')).toBe('');
}

function orphans({ project: { dir }, orders }: LaneRig): readonly string[] {
  return readdirSync('/proc').flatMap(pid => {
    try {
      const cwd = /^\d+$/.test(pid) ? readlinkSync(`/proc/${pid}/cwd`) : '';
      return cwd.startsWith(dir) || cwd.startsWith(orders)
        ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8')}`]
        : [];
    } catch {
      return [];
    }
  });
}

let calm: Promise<{ outcome: ReturnType<typeof outcomeOf>; seconds: number }> | undefined;
const calmly = () => {
  calm ??= (async () => {
    const rig = project();
    const came = await run(rig, []);
    invariants(rig, came);
    return { outcome: outcomeOf(rig, came), seconds: came.seconds };
  })();
  return calm;
};

test.each(Array.from({ length: Math.ceil(KILLS / IN_ONE_RUN) }, (_, at) => SEED + at))(
  'seed %i',
  { timeout: 900_000 },
  async seed => {
    const { outcome, seconds } = await calmly();
    expect(outcome.stopReason).toBe('all_stories_approved');
    const random = generator(seed);
    const stops: readonly Stop[] = [
      { from: 'worktree', after: random() * seconds * 10, signal: 'SIGKILL' },
      ...Array.from({ length: IN_ONE_RUN - 1 }, () => ({
        after: 150 + random() * seconds * 220,
        signal: SIGNALS[Math.floor(random() * SIGNALS.length)] ?? 'SIGKILL',
      })),
    ];
    const rig = project();
    const came = await run(rig, stops);
    try {
      expect(outcomeOf(rig, came), `stopped ${came.kills} times, ${JSON.stringify(stops)}`).toEqual(outcome);
      invariants(rig, came);
      expect(orphans(rig)).toEqual([]);
      process.stderr.write(`parallel seed ${seed}: ${came.kills} kills\n`);
    } catch (error) {
      // A campaign is long: it is said at once, and a copy can be looked at.
      const kept = `${tmpdir()}/ralph-chaos-${seed}-${process.pid}`;
      cpSync(rig.project.dir, kept, { recursive: true });
      process.stderr.write(`parallel seed ${seed}: ${kept}: ${came.result.detail}: ${error}\n`);
      throw error;
    }
  },
);
