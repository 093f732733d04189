/** Runs a loop, kills it when it is told to, resumes it until it ends, and says what it came to. */
import { spawn } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, testEnv } from '../rig/ralph.ts';
import type { Repo } from '../rig/repo.ts';
import { agentFolder, type Shape } from './shapes.ts';

/** When a process is killed: on the nth event that it tells, after so many milliseconds, or not at all. */
export type Moment = { readonly event: number } | { readonly after: number } | undefined;

/** What a power cut does beyond a kill: a line half written, or the end of what was not flushed lost. */
export type Damage = 'none' | 'torn' | 'unflushed';

export interface Blow {
  readonly moment: Moment;
  readonly damage?: Damage;
}

export interface CameTo {
  /** Equal for every run of a shape. */
  readonly outcome: unknown;
  /** How often it was really cut off. */
  readonly kills: number;
  /** The types of the events of the first process. */
  readonly events: readonly string[];
  /** Where it went on, each time. */
  readonly steps: readonly string[];
  readonly seconds: number;
}

export async function disturbed(shape: Shape, blows: readonly Blow[]): Promise<CameTo> {
  const project = shape.make();
  const env = testEnv({ path: [agentFolder(shape.lists)] });
  const began = performance.now();
  let [args, kills] = [shape.args, 0];
  let first: readonly string[] | undefined;
  const said: string[] = [];
  for (const { moment, damage = 'none' } of [...blows, { moment: undefined }]) {
    const { killed, events, stderr, code } = await once(project, env, args, moment);
    first ??= events;
    said.push(stderr);
    if (!killed || hasEnded(project)) {
      if (!killed && code !== 0)
        throw new Error(`it ended with ${code} after ${kills} kill(s)\n${said.join('\n---\n')}`);
      return {
        ...outcomeOf(shape, project, said),
        kills,
        events: first,
        seconds: (performance.now() - began) / 1000,
      };
    }
    kills++;
    // Killed before there was a run: as for a user, there is nothing to resume.
    const events_ = ledger(project);
    args = events_ === undefined ? shape.args : ['resume'];
    if (events_ !== undefined) hurt(events_, damage);
  }
  throw new Error('unreachable');
}

interface Once {
  readonly killed: boolean;
  readonly code: number | null;
  readonly events: readonly string[];
  readonly stderr: string;
}

function once(
  project: Repo,
  env: Record<string, string>,
  args: readonly string[],
  moment: Moment,
): Promise<Once> {
  const child = spawn(process.execPath, [BIN, ...args, '--events', '-'], {
    cwd: project.dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const events: string[] = [];
  let [buffer, stderr] = ['', ''];
  const kill = () => child.kill('SIGKILL');
  child.stderr.setEncoding('utf8').on('data', chunk => {
    stderr += chunk;
  });
  child.stdout.setEncoding('utf8').on('data', chunk => {
    buffer += chunk;
    const lines = buffer.split('\n');
    buffer = lines.pop() ?? '';
    for (const line of lines) events.push(JSON.parse(line).type);
    if (moment && 'event' in moment && events.length >= moment.event) kill();
  });
  const timer = moment && 'after' in moment ? setTimeout(kill, moment.after) : undefined;
  return new Promise(resolve => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ killed: signal === 'SIGKILL', code, events, stderr });
    });
  });
}

/** Killed after its last word: there is nothing to resume. */
function hasEnded(project: Repo): boolean {
  const path = ledger(project);
  return (
    path !== undefined && /"type":"run-ended".*\n$/.test(readFileSync(path, { encoding: 'utf8', flag: 'a+' }))
  );
}

/** The ledger of the run that can be resumed. */
function ledger(project: Repo): string | undefined {
  const runs = project.path('.ralph/runs');
  try {
    const id = readdirSync(runs)
      .sort()
      .findLast(name => readdirSync(join(runs, name)).includes('run.json'));
    return id && join(runs, id, 'events.jsonl');
  } catch {
    return undefined;
  }
}

const FLUSHED =
  /"type":"(run-started|run-resumed|prepared|told|turn-ended|tampered|judged|scm-started|scm|iteration-ended|run-ended)"/;

function hurt(events: string, damage: Damage): void {
  if (damage === 'torn') appendFileSync(events, '{"seq":9999,"at":"2026-11-15T00:00:00.000Z","prev":"');
  if (damage !== 'unflushed') return;
  const lines = readFileSync(events, 'utf8').split('\n');
  const safe = lines.findLastIndex(line => FLUSHED.test(line));
  truncateSync(events, Buffer.byteLength(lines.slice(0, safe + 1).join('\n')) + (safe >= 0 ? 1 : 0));
}

interface Line {
  readonly type: string;
  readonly [key: string]: unknown;
}

function outcomeOf(shape: Shape, project: Repo, said: readonly string[]): Pick<CameTo, 'outcome' | 'steps'> {
  const path = ledger(project);
  const lines = (path === undefined ? [] : readFileSync(path, 'utf8').trim().split('\n')).map(
    line => JSON.parse(line) as Line,
  );
  const ended = lines.findLast(line => line.type === 'run-ended') as unknown as {
    result: Record<string, unknown>;
  };
  if (!ended) throw new Error(`there is no end in the ledger\n${said.join('\n---\n')}`);
  const progress =
    path === undefined ? '' : readFileSync(join(path, '../progress.md'), { encoding: 'utf8', flag: 'a+' });
  return {
    steps: lines.filter(line => line.type === 'run-resumed').map(line => String(line.step)),
    outcome: {
      result: timeless({ ...ended.result, ...withoutWaste(ended.result, lines) }),
      ends: lines.filter(line => line.type === 'run-ended').length,
      iterations: lines
        .filter(line => line.type === 'iteration-ended')
        .map(({ usage: _, ...line }) => timeless(line)),
      kept: lines.filter(line => line.type === 'scm').map(({ task, outcome }) => [task, outcome]),
      numbered: lines.every((line, index) => line.seq === index + 1),
      progress: progress.replace(/\d+\.\ds/g, '#s'),
      remains: shape.remains(project),
    },
  };
}

interface Amount {
  readonly cost: number;
  readonly tokens: { readonly input: number; readonly output: number };
}

/** What a turn that was cut off had told of its use is spent, and rightly in the total; nothing else may be. */
function withoutWaste(result: Record<string, unknown>, lines: readonly Line[]) {
  const { totalCost, totalTokens } = result as { totalCost: number; totalTokens: Amount['tokens'] };
  const waste: Amount[] = [];
  let turn: Amount | undefined;
  for (const { type, event } of lines as readonly (Line & { event?: Amount & { kind: string } })[]) {
    if (type === 'agent' && event?.kind === 'usage') turn = event;
    if (type === 'turn-ended') turn = undefined;
    if (type !== 'run-resumed' || !turn) continue;
    waste.push(turn);
    turn = undefined;
  }
  const sum = (part: (amount: Amount) => number) => waste.map(part).reduce((a, b) => a + b, 0);
  return {
    totalCost: totalCost - sum(({ cost }) => cost),
    totalTokens: [
      totalTokens.input - sum(({ tokens }) => tokens.input),
      totalTokens.output - sum(({ tokens }) => tokens.output),
    ],
  };
}

/** Ids and times differ from run to run; so does how often the agent was asked for a commit message. */
const LEFT_OUT = new Set([
  'runId',
  'run',
  'duration',
  'totalDuration',
  'elapsed',
  'worktreePath',
  'seq',
  'at',
  'ticks',
  'prev',
  'unreportedCalls',
  'logFile',
]);

function timeless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(timeless);
  if (typeof value === 'number') return Math.round(value * 1e6) / 1e6;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !LEFT_OUT.has(key))
      .map(([key, inner]) => [key, timeless(inner)]),
  );
}
