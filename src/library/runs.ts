/** Runs that are there: listed, read, followed, steered. Loaded when it is first asked for. */
import { resolve } from 'node:path';
import { parentOf } from '../domain/lanes/board.ts';
import { type KnownEntry, knownEntry, type RawEntry } from '../domain/run/ledger-entry.ts';
import type { LedgerTrust } from '../domain/run/ledger-trust.ts';
import type { RunOverview } from '../domain/run/overview.ts';
import type { LoopResult } from '../domain/run/result.ts';
import type { DiscardResult } from '../opening/discard.ts';
import type { LandResult } from '../opening/land.ts';
import { systemClock } from '../platform/clock.ts';
import type { Env } from '../platform/git.ts';
import { environment } from '../platform/shell.ts';
import { hasMark } from '../platform/spawn.ts';
import { VERSION } from '../platform/version.ts';
import { FORMATS_OF_ALL, type ReportFormat, reportAll, reportRun } from '../report/create-report.ts';
import { followLedger, readRun } from '../report/read-run.ts';
import { overviewIn } from '../store/child-runs.ts';
import type { Message } from '../store/inbox.ts';
import { openJournal } from '../store/journal.ts';
import { type ProjectPaths, projectAt, type RunPaths, runPaths } from '../store/paths.ts';
import { findRun, listRuns as listIds } from '../store/run-file.ts';
import { send } from '../store/send.ts';
import { laterState } from '../store/state.ts';
import { LoopConfigError, type ResumeConfig, type RunOptions } from './config.ts';
import { openAgain, orThrow } from './open.ts';

/** A line of a ledger: an event that this version knows, or one that it does not. */
export type LedgerLine = KnownEntry | UnknownLine;

/** A line of another version, or of somebody else: shown, and nothing is made of it. */
export interface UnknownLine {
  readonly seq: number;
  readonly at: string;
  readonly type: 'unknown';
  /** As it stands there. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** A ledger, read whole and verified. */
export interface Ledger {
  readonly run: string;
  readonly lines: readonly LedgerLine[];
  /** Whether it is what Ralph wrote here: the hash of every line, its end, and what the run was given. */
  readonly trust: LedgerTrust;
  /** `trust.kind` is `intact`. */
  readonly isIntact: boolean;
  /** Bytes of a last line that was cut off while it was written. */
  readonly torn: number;
}

/** What became of words or orders to a run. */
export interface Steered {
  readonly done: boolean;
  /** For people. */
  readonly message: string;
}

/** A run that is there, running or not. Nothing is held open but what `follow` reads. */
export interface RunHandle extends AsyncDisposable {
  readonly id: string;
  /** Its folder in the project. */
  readonly folder: string;
  /** How it stands now. */
  overview(): RunOverview;
  /** Everything that happened up to now. */
  ledger(): Ledger;
  /** Everything that happened, and what happens until the run ends, its process is gone, or the handle is disposed of. */
  follow(): AsyncIterable<LedgerLine>;
  /** undefined: it has not ended. */
  result(): LoopResult | undefined;
  report(format?: ReportFormat): string;
  /** Words for the agent, in its next prompt, once. */
  tell(text: string): Steered;
  /** What you decide, for the story that asked. */
  answer(story: string, text: string): Steered;
  /** Between two steps, until it is continued. */
  pause(): Steered;
  continue(): Steered;
  /** Ends it now; gently: when the step that it is in is done. */
  cancel(how?: { readonly gently?: boolean }): Steered;
  /** Continues a run that has stopped or was cut off, in this process. */
  resume(config?: Omit<ResumeConfig, 'run'>, options?: Omit<RunOptions, 'cwd' | 'env'>): Promise<LoopResult>;
}

/** Where to look for runs. */
export interface RunsOptions {
  /** Instead of the environment of this process. */
  readonly env?: Env;
}

/** What a report is of, and how it is written. */
export interface ReportOptions extends RunsOptions {
  /** A run, or part of its id; default: the latest. */
  readonly run?: string;
  /** Every run of the project, instead of one. */
  readonly all?: boolean;
  /** Default: md. */
  readonly format?: ReportFormat;
}

/** Which work to land, and how. */
export interface LandOptions extends RunsOptions {
  /** A run, or part of its id; default: the latest. */
  readonly run?: string;
  /** Says what would be done, and does nothing. */
  readonly dryRun?: boolean;
  /** Although the ledger of the run has been changed. */
  readonly acceptChanges?: boolean;
  /** Ends the checks: then nothing is changed. */
  readonly signal?: AbortSignal;
}

/** Which work to throw away, and how. */
export interface DiscardOptions extends Omit<LandOptions, 'signal'> {
  /** Also files in a worktree that git ignores and that are nowhere else: nothing brings them back. */
  readonly force?: boolean;
}

function placeAt(cwd: string, env: Env): ProjectPaths {
  const later = laterState(env);
  if (later) throw new LoopConfigError([later]);
  return projectAt(resolve(cwd), env);
}

export async function landHere(cwd: string, options: LandOptions): Promise<LandResult> {
  const { signal: abort = new AbortController().signal } = options;
  const { landRun } = await import('../opening/land.ts');
  return orThrow(await landRun({ ...(await endedOf('land', cwd, options)), abort, begins() {} }));
}

export async function discardHere(cwd: string, options: DiscardOptions): Promise<DiscardResult> {
  const { force = false } = options;
  const { discardRun } = await import('../opening/discard.ts');
  return orThrow(await discardRun({ ...(await endedOf('discard', cwd, options)), force }));
}

async function endedOf(
  order: string,
  cwd: string,
  { run, env = environment(), dryRun: isDry = false, acceptChanges = false }: Omit<LandOptions, 'signal'>,
) {
  refuseInside(order, env);
  const project = placeAt(cwd, env);
  const { findLandable } = await import('../opening/fetched-unit.ts');
  const id = orThrow(await findLandable({ project, env }, run));
  return { project, env, id, isDry, acceptChanges };
}

export function overviews(cwd: string, { env = environment() }: RunsOptions): readonly RunOverview[] {
  const project = placeAt(cwd, env);
  return listIds(project)
    .filter(id => parentOf(id) === undefined)
    .map(id => overviewIn(project, id));
}

export function ledgerOf(cwd: string, run: string | undefined, { env = environment() }: RunsOptions): Ledger {
  const project = placeAt(cwd, env);
  return readWhole(project, orThrow(findRun(project, run)));
}

export function reportOf(
  cwd: string,
  { run, all, format = 'md', env = environment() }: ReportOptions,
): string {
  const project = placeAt(cwd, env);
  const world = { project, env, version: VERSION };
  if (!all) return reportRun(format, orThrow(findRun(project, run)), world).text;
  if (FORMATS_OF_ALL.includes(format)) return reportAll(format, world);
  const fix = `one of ${FORMATS_OF_ALL.join(', ')}`;
  throw new LoopConfigError([{ where: `format ${format}`, what: 'not available for all runs', fix }]);
}

export function handleOf(
  cwd: string,
  run: string | undefined,
  { env = environment() }: RunsOptions,
): RunHandle {
  const project = placeAt(cwd, env);
  const id = orThrow(findRun(project, run));
  const paths = runPaths(project, id);
  const closing = new AbortController();
  const steer = (order: Message): Steered => steerRun(project, id, order, env);
  return {
    id,
    folder: paths.folder,
    overview: () => overviewIn(project, id),
    ledger: () => readWhole(project, id),
    follow: () => follow(paths, closing.signal),
    result: () => readRun(id, paths).result ?? undefined,
    report: format => reportOf(project.root, { run: id, env, ...(format && { format }) }),
    tell: text => steer({ kind: 'tell', text }),
    answer: (story, text) => steer({ kind: 'answer', story, text }),
    pause: () => steer({ kind: 'pause' }),
    continue: () => steer({ kind: 'continue' }),
    cancel: ({ gently = false } = {}) => steer({ kind: 'cancel', gently }),
    async resume(config = {}, options = {}) {
      const again = await openAgain({ ...config, run: id }, { ...options, cwd: project.root, env });
      return again.run();
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
    },
  };
}

/** What an agent or a check starts is not the user, whatever it says. */
function refuseInside(order: string, env: Env): void {
  if (!hasMark(env) && !hasMark(process.env)) return;
  const what = 'an agent or a check of a run has started this program, and only the user may steer runs';
  throw new LoopConfigError([{ where: order, what }]);
}

function steerRun(project: ProjectPaths, id: string, order: Message, env: Env): Steered {
  refuseInside(order.kind, env);
  const { done, message } = orThrow(send(project, id, order, systemClock.now()));
  return { done, message };
}

function readWhole(project: ProjectPaths, run: string): Ledger {
  const lines: LedgerLine[] = [];
  const { integrity } = readRun(run, runPaths(project, run), entry => lines.push(lineOf(entry)));
  const { trust, torn } = integrity;
  return { run, lines, trust, isIntact: trust.kind === 'intact', torn };
}

function lineOf(entry: RawEntry): LedgerLine {
  const { seq, at } = entry;
  return knownEntry(entry) ?? { seq, at, type: 'unknown', raw: { ...entry } };
}

async function* follow(paths: RunPaths, closing: AbortSignal): AsyncGenerator<LedgerLine> {
  const journal = openJournal(paths);
  try {
    for await (const entries of followLedger(journal, paths, closing)) yield* entries.map(lineOf);
  } finally {
    journal.close();
  }
}
