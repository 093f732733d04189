/** Runs a loop, stops it by a signal, resumes it until it ends, and says what is left. */
import { spawn } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdtempSync, readFileSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { DURABLE } from '../../src/store/journal.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { listRuns } from '../../src/store/run-file.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import type { Repo } from '../rig/repo.ts';
import { type HeldGit, holdGit } from './hold-git.ts';
import { agentFolder, type Shape } from './shapes.ts';

/** When a process gets its signal: on the nth event that it prints, or its first of a type, after so many milliseconds, while a git that it started stands still, or not at all. */
export type Moment =
  | { readonly event: number }
  | { readonly type: string }
  | { readonly after: number }
  | HeldGit
  | undefined;

/** What a power cut does beyond a kill: a line half written, or the end of what was not flushed lost. */
export type Damage = 'none' | 'torn' | 'unflushed';

export interface Blow {
  readonly moment: Moment;
  readonly damage?: Damage;
  /** SIGKILL where there is none. Each further one is sent when Ralph has said that it received the last. */
  readonly signals?: readonly NodeJS.Signals[];
}

export interface CameTo {
  /** Equal for every run of a shape. */
  readonly outcome: unknown;
  /** How often it was really stopped. */
  readonly kills: number;
  /** The types of the events of the first process. */
  readonly events: readonly string[];
  /** Where it was resumed, each time. */
  readonly steps: readonly string[];
  readonly seconds: number;
  /** Copies the project to where it outlives the test; answers where. */
  keep(): string;
}

/** The same as of a run that nobody disturbed; where it is not, the difference is printed, and the project is kept to look at. */
export function expectSame({ outcome, steps, kills, keep }: CameTo, calm: CameTo, what: string): void {
  if (isDeepStrictEqual(outcome, calm.outcome)) return;
  const differ = differences(outcome, calm.outcome).slice(0, 5).join('; ');
  expect(outcome, `${differ}; ${what}; ${kills} stop(s), resumed at ${steps}; kept in ${keep()}`).toEqual(
    calm.outcome,
  );
}

function differences(is: unknown, should: unknown, at = ''): readonly string[] {
  if (isDeepStrictEqual(is, should)) return [];
  const parts = [is, should].map(each => (typeof each === 'object' && each !== null ? each : undefined));
  const [one, other] = parts as readonly (Readonly<Record<string, unknown>> | undefined)[];
  if (!one || !other) return [`${at}: ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`];
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].flatMap(key => differences(one[key], other[key], `${at}/${key}`));
}

function keepProject({ dir }: Repo): string {
  const kept = mkdtempSync(join(tmpdir(), 'ralph-chaos-kept-'));
  cpSync(dir, kept, { recursive: true, verbatimSymlinks: true });
  return kept;
}

export async function disturbed(shape: Shape, blows: readonly Blow[]): Promise<CameTo> {
  const project = shape.make();
  try {
    return await stoppedAndResumed(shape, project, blows);
  } catch (error) {
    throw new Error(`${JSON.stringify(blows)}; the project is kept in ${keepProject(project)}`, {
      cause: error,
    });
  }
}

async function stoppedAndResumed(shape: Shape, project: Repo, blows: readonly Blow[]): Promise<CameTo> {
  const bin = agentFolder(shape.lists);
  const env = testEnv({ path: [bin] });
  const began = performance.now();
  let [args, kills] = [shape.args, 0];
  let first: readonly string[] | undefined;
  const said: string[] = [];
  for (const blow of [...blows, { moment: undefined }] as readonly Blow[]) {
    const { damage = 'none' } = blow;
    const { stopped, events, stderr, code } = await once(project, { env, bin }, args, blow);
    first ??= events;
    said.push(stderr);
    if (!stopped || hasEnded(project)) {
      if (!stopped && code !== 0)
        throw new Error(`it ended with ${code} after ${kills} stop(s)\n${said.join('\n---\n')}`);
      return {
        ...outcomeOf(shape, project, said),
        kills,
        events: first,
        seconds: (performance.now() - began) / 1000,
        keep: () => keepProject(project),
      };
    }
    kills++;
    // Stopped before its first iteration: as for a user, there is nothing to resume.
    const events_ = ledger(project);
    if (events_ !== undefined) hurt(events_, damage);
    args = events_ !== undefined && hasBegun(events_) ? ['resume'] : shape.args;
  }
  throw new Error('unreachable');
}

interface Once {
  /** By a signal of ours: killed, or ended as interrupted. */
  readonly stopped: boolean;
  readonly code: number | null;
  readonly events: readonly string[];
  readonly stderr: string;
}

function once(
  project: Repo,
  { env, bin }: { readonly env: Record<string, string>; readonly bin: string },
  args: readonly string[],
  { moment, signals = ['SIGKILL'] }: Blow,
): Promise<Once> {
  const isHeld = moment !== undefined && 'git' in moment;
  const held = isHeld ? holdGit({ bin, project }, moment, () => strike()) : undefined;
  const child = spawn(process.execPath, [BIN, ...args, '--events', '-'], {
    cwd: project.dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const events: string[] = [];
  let [buffer, stderr] = ['', ''];
  let sent = 0;
  const strike = () => {
    if (sent === 0) child.kill(signals[sent++]);
  };
  child.stderr.setEncoding('utf8').on('data', chunk => {
    stderr += chunk;
    const heard = stderr.split('Received signal').length - 1;
    if (sent > 0 && heard >= sent && sent < signals.length) child.kill(signals[sent++]);
  });
  child.stdout.setEncoding('utf8').on('data', chunk => {
    buffer += chunk;
    const lines = buffer.split('\n');
    buffer = lines.pop() ?? '';
    for (const line of lines) events.push(JSON.parse(line).type);
    if (moment && 'event' in moment && events.length >= moment.event) strike();
    if (moment && 'type' in moment && events.includes(moment.type)) strike();
  });
  const timer = moment && 'after' in moment ? setTimeout(strike, moment.after) : undefined;
  return new Promise(resolve => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      held?.release();
      resolve({ stopped: signal !== null || (sent > 0 && code === 130), code, events, stderr });
    });
  });
}

/** Stopped after its last word: there is nothing to resume. */
function hasEnded(project: Repo): boolean {
  const path = ledger(project);
  return (
    path !== undefined &&
    /"type":"run-ended"(?!.*"stopReason":"interrupted").*\n$/.test(
      readFileSync(path, { encoding: 'utf8', flag: 'a+' }),
    )
  );
}

function hasBegun(events: string): boolean {
  return readFileSync(events, 'utf8').includes('"type":"iteration-started"');
}

/** The ledger of the run that can be resumed. */
function ledger(project: Repo): string | undefined {
  const at = projectPaths(project.dir);
  const id = listRuns(at).findLast(name => existsSync(runPaths(at, name).state.run));
  return id && runPaths(at, id).events;
}

const FLUSHED = new RegExp(`"type":"(${[...DURABLE].join('|')})"`);

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
    path === undefined
      ? ''
      : readFileSync(project.path(`.ralph/runs/${basename(dirname(path))}/progress.md`), {
          encoding: 'utf8',
          flag: 'a+',
        });
  return {
    steps: lines.filter(line => line.type === 'run-resumed').map(line => String(line.step)),
    outcome: {
      // What came of source control is in `kept`: here it holds the names of commits.
      result: timeless({ ...ended.result, scm: undefined, ...withoutWaste(ended.result, lines) }),
      ends: lines.filter(line => line.type === 'run-ended' && !isInterrupted(line)).length,
      iterations: lines.filter(isLastEnd).map(({ usage: _, ...line }) => timeless(line)),
      kept: lines.filter(line => line.type === 'scm').map(({ task, outcome }) => [task, outcome]),
      numbered: lines.every((line, index) => line.seq === index + 1),
      progress: progress.replace(/\d+\.\ds/g, '#s'),
      remains: shape.remains(project),
    },
  };
}

/** Success is not believed on resume: an iteration that ended a run which did not come to its own end is proven, and ends, once more. */
function isLastEnd(line: Line, at: number, lines: readonly Line[]): boolean {
  if (line.type !== 'iteration-ended') return false;
  const after = lines.slice(at + 1);
  const again = after.findIndex(({ type, iteration }) => type === line.type && iteration === line.iteration);
  return again === -1 || !after.slice(0, again).some(({ type }) => type === 'run-resumed');
}

/** An orderly stop is recorded as an end each time. */
function isInterrupted({ result }: Line): boolean {
  return (result as { stopReason?: unknown }).stopReason === 'interrupted';
}

interface Amount {
  readonly cost: number;
  readonly tokens: { readonly input: number; readonly output: number };
}

/** What a turn that was cut off had reported of its use is spent, and rightly in the total; nothing else may be. */
function withoutWaste(result: Record<string, unknown>, lines: readonly Line[]) {
  const { totalCost, totalTokens } = result as { totalCost: number; totalTokens: Amount['tokens'] };
  const waste: Amount[] = [];
  let turn: Amount | undefined;
  for (const { type, event, outcome } of lines as readonly (Line & {
    event?: Amount & { kind: string };
  })[]) {
    if (type === 'agent' && event?.kind === 'usage') turn = event;
    if (type === 'turn-ended' && !isCutOff(outcome)) turn = undefined;
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

function isCutOff(outcome: unknown): boolean {
  const { kind, by } = (outcome ?? {}) as { kind?: string; by?: string };
  return kind === 'ended' && by === 'interrupt';
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
  'uncountedCalls',
  'commit',
  'logFile',
  'logHash',
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
