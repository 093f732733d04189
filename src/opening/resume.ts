/** Makes a run that was cut off or had stopped this process's own, and repairs what its end has left behind. */
import { existsSync, renameSync } from 'node:fs';
import type { Settings } from '../config/settings-shape.ts';
import type { Resumption } from '../domain/event.ts';
import { doubtsOf, trustWith } from '../domain/ledger-trust.ts';
import { NOTHING_YET, type Past } from '../domain/past.ts';
import { needsAgent } from '../domain/past-iteration.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { ensureFolder, readSlice, writePrivate } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { endOwned } from '../platform/process.ts';
import { loadPast } from '../store/checkpoint.ts';
import { hadLines } from '../store/head.ts';
import { readMessages, removeMessage } from '../store/inbox.ts';
import { adoptOldFiles, putLedgerBack } from '../store/keep-folder.ts';
import { readLease, releaseLease, writeLease } from '../store/lease.ts';
import { repairTorn } from '../store/ledger-end.ts';
import type { IterationPaths, RunPaths } from '../store/paths.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { type Given, isRunning, type RunFile, readRunFile } from '../store/run-file.ts';
import { ownerOfRun } from '../store/run-record.ts';
import { ledgerTrust } from '../store/trust.ts';
import { policyOf } from '../stories/standing.ts';
import { promptSource, specSource } from '../turns/prompt-source.ts';
import { accumulatedDiff } from '../workspace/diff.ts';
import { clearGitLocks } from '../workspace/git-lock.ts';
import { withLock } from '../workspace/lock.ts';
import { hasWorktree, openWorktree } from '../workspace/worktree.ts';
import { promptKind, type RunKind, taskKind } from './kind.ts';
import { listAgain, type StoryLane, storiesKind } from './stories-kind.ts';

export type ResumableFile = RunFile & { readonly given: Given };

export interface ResumedRun {
  readonly file: ResumableFile;
  readonly paths: RunPaths;
  readonly past: Past;
  /** What the user should know of how it continues. */
  readonly repairs: Pick<Resumption, 'repaired' | 'changes' | 'diff'>;
}

export interface ClaimedRun {
  readonly file: ResumableFile;
  /** For a run that is not opened after all. */
  release(): void;
}

/** Of two that try at the same time one gets it; the other is told who has it. */
export async function claimRun(paths: RunPaths, id: string): Promise<ClaimedRun | Problem> {
  if (!existsSync(paths.folder)) return { where: id, what: 'no such run', fix: '`ralph status` lists them' };
  ensureFolder(paths.state.folder);
  return withLock(paths.state.lock, async () => {
    const file = readRunFile(paths);
    if (!file?.given || isRunning(paths, file) || file.command === 'session') return whyNot(paths, file, id);
    const holder = writeLease(paths);
    return { file: { ...file, given: file.given }, release: () => releaseLease(paths, holder) };
  });
}

function whyNot(paths: RunPaths, file: RunFile | undefined, id: string): Problem {
  const because = (what: string, fix = 'start a new run'): Problem => ({ where: id, what, fix });
  if (!file) return because('it was cut off while it was being created, so there is nothing to resume');
  if (file.command === 'session')
    return because('a loop inside a session continues in its host', 'open the session again there');
  if (!file.given)
    return because('it was started by a program or by an older Ralph, and cannot be resumed here');
  const { pid } = readLease(paths)?.process ?? file.process ?? {};
  return because(
    `it is running${pid === undefined ? '' : ` (process ${pid})`}`,
    `\`ralph log ${id} --follow\` shows it, \`ralph cancel ${id}\` stops it`,
  );
}

export interface Recovered {
  readonly past: Past;
  readonly repaired: readonly string[];
  /** Why it cannot be believed as it is: a sentence each. */
  readonly doubts: readonly string[];
  /** Why it cannot be resumed at all. */
  readonly lost?: string;
}

/** Ends what the dead process left running, repairs its ledger, and reads it. Old messages no longer count, but for words to the agent and answers. */
export async function recoverRun(paths: RunPaths): Promise<Recovered> {
  const repaired: string[] = [];
  const orphans = await endOwned(ownerOfRun(paths));
  if (orphans > 0) repaired.push(`${orphans} process(es) of the run were still running: ended`);
  adoptOldFiles(paths);
  if (putLedgerBack(paths)) repaired.push('the ledger was gone: it was put back from the state folder');
  const trust = ledgerTrust(paths);
  const torn = existsSync(paths.events) ? repairTorn(paths.events) : 0;
  if (torn > 0) repaired.push(`the last line of the ledger was not complete: ${torn} bytes were cut off`);
  for (const { id, kind } of readMessages(paths))
    if (kind !== 'tell' && kind !== 'answer') removeMessage(paths, id);
  const { past, problems } = loadPast(paths);
  if (!past.head && hadLines(paths)) return { ...NOTHING_LEFT, repaired };
  return { past, repaired, doubts: doubtsOf(trustWith(trust, problems)) };
}

/** Without its ledger it would begin again at iteration 1, as if nothing had been spent. */
const NOTHING_LEFT = {
  past: NOTHING_YET,
  doubts: [],
  lost: 'its ledger is missing or empty: what it has done and spent is not known any more',
};

/** The kind of run that it was, with what it was given. */
export async function kindAgain(
  { file, paths, past }: Omit<ResumedRun, 'repairs'>,
  settings: Settings,
  env: Env,
  lane?: StoryLane,
): Promise<RunKind | readonly Problem[]> {
  const { given, cwd } = file;
  if (file.command === 'prd') return storiesAgain({ file, paths, past }, settings, env, lane);
  if (file.command === 'run') {
    const { promptFile } = given;
    const prompt = promptFile === undefined ? readTask(paths) : undefined;
    if (isProblem(prompt)) return [prompt];
    const source = promptSource({ prompt, promptFile }, cwd);
    return isProblem(source) ? [source] : promptKind({ source });
  }
  const task = readTask(paths);
  if (isProblem(task)) return [task];
  const gone = await missingWorktree(given.worktree, cwd, env);
  if (gone) return [gone];
  const { spec: name, worktree, startRef } = given;
  const spec = name === undefined ? undefined : { name, source: specSource(name, cwd) };
  return taskKind({ task, spec, worktree, startRef });
}

async function storiesAgain(
  { file, paths, past }: Omit<ResumedRun, 'repairs'>,
  settings: Settings,
  env: Env,
  lane: StoryLane | undefined,
): Promise<RunKind | readonly Problem[]> {
  const { ralphDir = 'ralph', worktree: name, from } = file.given;
  const gone = await missingWorktree(name, file.cwd, env);
  if (gone) return [gone];
  const worktree = name === undefined ? undefined : await openWorktree({ root: file.cwd, env, name });
  if (isProblem(worktree)) return [worktree];
  const prd = prdPaths(worktree?.cwd ?? file.cwd, ralphDir);
  const known = listAgain(prd, { id: file.id, paths }, past, policyOf(settings));
  if ('list' in known) return storiesKind({ prd, worktree, from, lane, ...known });
  worktree?.release();
  return known;
}

/** The same worktree or none: a new one would not hold the work. */
async function missingWorktree(
  name: string | undefined,
  root: string,
  env: Env,
): Promise<Problem | undefined> {
  if (name === undefined || (await hasWorktree({ root, env, name }))) return undefined;
  const what = 'it is gone, and with it the work of the run';
  return { where: `worktree ${name}`, what, fix: 'start a new run' };
}

const DIFF_KEPT = 200_000;
const DIFF_SHOWN = 2_000;

/** Clears the place of work for the next step, and keeps on record what a turn that was cut off had done there. */
export async function clearWorkplace(
  { file, paths, past }: Omit<ResumedRun, 'repairs'>,
  cwd: string,
  env: Env,
): Promise<Pick<Resumption, 'repaired' | 'diff'>> {
  const lived = { from: Date.parse(file.startedAt), to: past.time.latest };
  const repaired = await clearGitLocks({ cwd, env }, lived);
  const { open } = past;
  if (!open || !needsAgent(open)) return { repaired };
  const iteration = paths.iteration(open.number);
  setAside(iteration);
  const diff = await accumulatedDiff({ cwd, env, startRef: 'HEAD', maxChars: DIFF_KEPT });
  if (isProblem(diff) || diff.text === '') return { repaired };
  ensureFolder(iteration.folder);
  writePrivate(iteration.cutOff, diff.text);
  return { repaired, diff: diff.text.slice(0, DIFF_SHOWN) };
}

/** The next turn of the same number gets files of its own. */
function setAside(iteration: IterationPaths): void {
  for (let attempt = 1; ; attempt++) {
    const { agent, agentErrors } = attempt === 1 ? iteration : iteration.attempt(attempt);
    const there = [agent, agentErrors].filter(path => existsSync(path));
    if (there.length === 0) return;
    for (const path of there) renameSync(path, freeName(path));
  }
}

function freeName(path: string): string {
  let number = 1;
  while (existsSync(`${path}.cut-off-${number}`)) number++;
  return `${path}.cut-off-${number}`;
}

/** The user's prompt or task. */
export function readTask(paths: RunPaths): string | Problem {
  const text = readSlice(paths.task, 0, Number.MAX_SAFE_INTEGER);
  if (text !== '') return text;
  const what = 'the prompt or task that the run was started with is gone';
  return { where: paths.task, what, fix: 'start a new run' };
}
