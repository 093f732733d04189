/** A run at a glance, from its ledger, without reading all of it. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Board } from '../domain/board.ts';
import { boardUsage, type LaneOutcome, laneOutcome } from '../domain/board-sums.ts';
import type { RunEvent } from '../domain/event.ts';
import { pick } from '../domain/fields.ts';
import { parseObject, stringAt } from '../domain/json.ts';
import { knownEntry, type RawEntry } from '../domain/ledger-entry.ts';
import { type LedgerTrust, trustWith } from '../domain/ledger-trust.ts';
import { provenWords } from '../domain/proof.ts';
import { type AskedQuestion, openQuestions } from '../domain/question.ts';
import { type Raise, raiseOf, usedBy } from '../domain/resume-command.ts';
import { isProven, type StopReason } from '../domain/stop-reason.ts';
import type { Usage } from '../domain/usage.ts';
import { fileSize, readSlice, tryTo } from '../platform/files.ts';
import { readPast } from './checkpoint.ts';
import { hadLines } from './head.ts';
import { hashOf } from './ledger-end.ts';
import type { RunPaths } from './paths.ts';
import { isRunning, type RunFile, readRunFile } from './run-file.ts';
import { listSessions } from './session-file.ts';
import { ledgerTrust } from './trust.ts';

/** How a run stands. */
export type RunState =
  | 'running'
  | 'waiting'
  | 'paused'
  /** An in-session loop whose host has ended: it is still there to be resumed. */
  | 'closed'
  | 'done'
  | 'stopped'
  | 'crashed';

/** A run at a glance. */
export interface RunOverview {
  readonly id: string;
  readonly state: RunState;
  readonly command: string;
  readonly agent: string | null;
  /** What it is about; null: nobody wrote it down. */
  readonly title: string | null;
  /** What it ran in; null: nothing, or it is not known. */
  readonly sandbox: string | null;
  readonly startedAt: string | null;
  readonly stopReason: StopReason | null;
  readonly iteration: number;
  /** What the iteration is for, in `ralph prd`: `review US-002`. */
  readonly story: string | null;
  /** Until when it waits, in milliseconds since 1970; null: it does not wait. */
  readonly until: number | null;
  readonly maxIterations: number | null;
  readonly cost: number | null;
  readonly checks: { readonly passed: number; readonly failed: number };
  /** What was proven and how, in one line; null: it has not ended. */
  readonly proof: string | null;
  /** `ralph resume` can continue it; with a raised limit, where that is what stopped it. */
  readonly resumable: boolean;
  /** Its ledger is gone, with all that it has done and spent. */
  readonly isLost: boolean;
  /** What its stories ask, and nobody has answered. */
  readonly questions: readonly Pick<AskedQuestion, 'story' | 'question'>[];
  /** How to raise the limit that stopped it; null: no limit did, or it is not known. */
  readonly raise: Raise | null;
  /** Whether its ledger is what Ralph wrote, by its end. */
  readonly ledger: LedgerTrust;
  /** Of a parallel run: where each piece of work stands; null: it is none. */
  readonly lanes: readonly LaneOutcome[] | null;
}

const WINDOW = 64 * 1024;

export function overviewOf(id: string, paths: RunPaths): RunOverview {
  const file = readRunFile(paths);
  const size = fileSize(paths.events);
  const started = find(lines(paths, 0, Math.min(size, WINDOW)), 'run-started');
  let window = Math.min(size, WINDOW);
  let recent = lines(paths, size - window, window);
  // An agent may have said a great deal since the last step of the loop: look further back until one shows.
  while (window < size && !recent.some(isStep)) {
    window = Math.min(size, window * 8);
    recent = lines(paths, size - window, window);
  }
  const turning = recent.findLast(event => event.type === 'run-ended' || event.type === 'run-resumed');
  const ended = turning?.type === 'run-ended' ? turning : undefined;
  const begun = find(recent, 'iteration-started');
  const iteration = begun?.iteration ?? find(recent, 'iteration-ended')?.iteration ?? 0;
  const isLive = isRunning(paths, file);
  const state = stateOf(ended, isLive ? liveState(recent) : deadState(id, paths, file));
  const checks = ended ? lastChecks(ended) : checksSince(recent);
  const board = file?.given?.crew === undefined ? undefined : readPast(paths).past.board;
  return {
    id,
    state,
    resumable: (state === 'stopped' || state === 'crashed') && canResume(paths, file, ended !== undefined),
    isLost: isLost(paths),
    questions: file?.command === 'prd' && !ended?.result.success ? questionsIn(paths) : [],
    raise: (ended && raiseIn(ended, recent, started?.maxIterations)) ?? null,
    command: file?.command ?? 'unknown',
    agent: started?.agent ?? null,
    title: started?.title ?? null,
    sandbox: started?.sandbox ?? null,
    startedAt: file?.startedAt ?? null,
    stopReason: ended?.result.stopReason ?? null,
    iteration: ended ? ended.result.iterations.length : iteration,
    story: ended || begun?.story === undefined ? null : `${begun.mode} ${begun.story}`,
    until: state === 'waiting' ? (find(recent, 'waiting')?.until ?? null) : null,
    maxIterations: (find(recent, 'run-resumed') ?? started)?.maxIterations ?? null,
    cost: (ended ? ended.result.totalCost : usageIn(recent, board)?.cost) ?? null,
    lanes: board?.lanes.map(laneOutcome) ?? null,
    checks,
    ledger: trustWith(ledgerTrust(paths), brokenLinks(paths, size - window, window)),
    proof: ended
      ? provenWords({
          ...ended.result,
          success: isProven(ended.result.stopReason),
          passed: checks.passed,
          sandbox: started?.sandbox,
        })
      : null,
  };
}

/** What `ralph resume` needs is there: its ledger, its task, and of a run that has stopped its worktree. */
function canResume(paths: RunPaths, file: RunFile | undefined, hasEnded: boolean): boolean {
  if (!file?.given || file.command === 'session' || isLost(paths)) return false;
  const { worktree, promptFile, ralphDir, crew } = file.given;
  const root = rootOf(paths);
  const at = (...names: readonly string[]) => existsSync(join(root, ...names));
  // That of a run which was cut off is made again.
  if (worktree !== undefined && hasEnded && !at('.ralph', 'worktrees', worktree)) return false;
  if (file.command === 'prd')
    return worktree !== undefined || crew !== undefined || at(ralphDir ?? 'ralph', 'tasks.json');
  return promptFile === undefined ? fileSize(paths.task) > 0 : existsSync(resolve(root, promptFile));
}

/** Its ledger is gone, and there is no other copy: `ralph resume` refuses to begin again as if nothing had been spent. */
function isLost(paths: RunPaths): boolean {
  return fileSize(paths.events) === 0 && fileSize(paths.state.ledger) === 0 && hadLines(paths);
}

function usageIn(recent: readonly RunEvent[], board: Board | undefined): Usage | undefined {
  return board ? boardUsage(board) : find(recent, 'iteration-ended')?.usage;
}

function questionsIn(paths: RunPaths): RunOverview['questions'] {
  return openQuestions(readPast(paths).past.questions).map(each => pick(each, 'story', 'question'));
}

type Ended = RunEvent & { readonly type: 'run-ended' };

function stateOf(ended: Ended | undefined, open: RunState): RunState {
  return ended ? (ended.result.success ? 'done' : 'stopped') : open;
}

/** How a run stands that has not ended, and that nobody drives. */
export function deadState(id: string, paths: RunPaths, file = readRunFile(paths)): 'closed' | 'crashed' {
  const isThere =
    file?.command === 'session' &&
    listSessions(rootOf(paths)).some(each => 'state' in each && each.state.runId === id);
  return isThere ? 'closed' : 'crashed';
}

function rootOf({ folder }: RunPaths): string {
  return resolve(folder, '../../..');
}

function raiseIn(
  { result }: Ended,
  recent: readonly RunEvent[],
  maxIterations: number | undefined,
): Raise | undefined {
  const { lanes, stopReason } = result;
  const most = find(recent, 'run-resumed')?.maxIterations ?? maxIterations;
  const known = find(recent, 'judged')?.limits ?? (lanes && most ? { maxIterations: most } : undefined);
  const count = lanes?.reduce((sum, { iterations = 0 }) => sum + iterations, 0) ?? result.iterations.length;
  return raiseOf(stopReason, known, usedBy(result, count));
}

export function resumable(id: string, paths: RunPaths): boolean {
  return overviewOf(id, paths).resumable;
}

function liveState(recent: readonly RunEvent[]): RunState {
  const last = recent.findLast(event => event.type !== 'notice')?.type;
  return last === 'waiting' || last === 'paused' ? last : 'running';
}

function isStep(event: RunEvent): boolean {
  return event.type === 'run-ended' || event.type === 'iteration-started' || event.type === 'run-resumed';
}

function lines(paths: RunPaths, position: number, bytes: number): readonly RunEvent[] {
  if (bytes <= 0) return [];
  return readSlice(paths.events, position, bytes)
    .split('\n')
    .flatMap(line => {
      // the window cut it, or the machine did
      return tryTo(() => knownEntry(JSON.parse(line) as RawEntry) ?? []) ?? [];
    });
}

/** In the part that was looked at: what is shown follows from the end. */
function brokenLinks(paths: RunPaths, position: number, bytes: number): readonly string[] {
  const whole = readSlice(paths.events, position, bytes)
    .split('\n')
    .slice(position === 0 ? 0 : 1, -1);
  const isBroken = whole.some((line, at) => {
    const before = whole[at - 1];
    return before !== undefined && stringAt(parseObject(line), 'prev') !== hashOf(before);
  });
  return isBroken ? ['a line does not follow from the line before it'] : [];
}

function find<Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): Extract<RunEvent, { type: Type }> | undefined {
  return events.findLast((event): event is Extract<RunEvent, { type: Type }> => event.type === type);
}

function lastChecks({ result }: Ended): RunOverview['checks'] {
  const found: unknown = result.iterations.at(-1)?.checkResults;
  const checks = Array.isArray(found) ? found : []; // a damaged ledger may hold anything
  const passed = checks.filter(check => check?.passed === true).length;
  return { passed, failed: checks.length - passed };
}

function checksSince(events: readonly RunEvent[]): RunOverview['checks'] {
  const from = events.findLastIndex(event => event.type === 'iteration-started');
  const ended = events
    .slice(from + 1)
    .flatMap(event => (event.type === 'check-ended' ? [event.result.passed] : []));
  const passed = ended.filter(Boolean).length;
  return { passed, failed: ended.length - passed };
}
