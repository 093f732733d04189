/** Reads a run back and opens it again where its ledger ends: one that was cut off, or had stopped. */
import { existsSync, renameSync } from 'node:fs';
import { mergeLayers } from '../config/load.ts';
import { holdsSecrets, shownSettings } from '../config/secrets.ts';
import type { Settings } from '../config/settings-shape.ts';
import { treeOf } from '../domain/run/best.ts';
import type { Resumption } from '../domain/run/event.ts';
import { doubtsOf, trustSentence, trustWith } from '../domain/run/ledger-trust.ts';
import { NOTHING_YET, needsAgent, type RunState } from '../domain/run/state.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import type { RemoteLanes } from '../parallel/lanes.ts';
import { ensureFolder, readSlice, writePrivate } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { endOwned } from '../platform/process.ts';
import { ownerName } from '../platform/spawn.ts';
import { VERSION } from '../platform/version.ts';
import { loadStories, policyOf } from '../run/stories/load.ts';
import { promptSource, specSource } from '../run/turns/prompt-source.ts';
import { loadState } from '../store/checkpoint.ts';
import { readMessages, removeMessage } from '../store/inbox.ts';
import { isRunning, readLease, releaseLease, writeLease } from '../store/lease.ts';
import { laterLedger, repairTorn } from '../store/ledger-end.ts';
import { repairMirror } from '../store/mirror.ts';
import {
  type IterationPaths,
  isRecorded,
  type ProjectPaths,
  projectPaths,
  type RunPaths,
  runPaths,
} from '../store/paths.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { type Given, ownerOfRun, type RunFile, readRunFile, writeRunFile } from '../store/run-file.ts';
import { isList } from '../store/tasks-file.ts';
import { accumulatedDiff } from '../workspace/diff.ts';
import { clearGitLocks } from '../workspace/git-lock.ts';
import { withLock } from '../workspace/lock.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import type { Place } from '../workspace/repository.ts';
import { openWorktree, whyNoWorktree } from '../workspace/worktree.ts';
import { sweptWorktreeAgain } from '../workspace/worktree-again.ts';
import type { Job, StoryLane } from './job.ts';
import { parallelStories } from './jobs/parallel-stories.ts';
import { bestOf, parallelTasks } from './jobs/parallel-tasks.ts';
import { promptJob } from './jobs/prompt.ts';
import { listAgain, storiesJob } from './jobs/stories.ts';
import { taskJob } from './jobs/task.ts';

export type ResumableFile = RunFile & { readonly given: Given };

/** A run as its own files tell of it. */
export interface ReadRun {
  readonly file: ResumableFile;
  readonly paths: RunPaths;
  readonly past: RunState;
  /** Why its ledger cannot be believed as it is: a sentence each. */
  readonly doubts: readonly string[];
}

export interface ResumedRun extends Omit<ReadRun, 'doubts'> {
  /** What the user should know of how it continues. */
  readonly repairs: Pick<Resumption, 'repaired' | 'changes' | 'diff' | 'touched'>;
  /** Gives the run up again: when it has ended, or is not opened after all. */
  release(): void;
}

/** What a run that is opened again continues with. */
export interface Continued {
  readonly settings: Settings;
  /** Settings from flags that are given now. */
  readonly flags?: Readonly<Record<string, unknown>>;
  /** What is different in the settings since it began. */
  readonly changes?: readonly string[];
}

export interface Extra<With extends Continued> {
  readonly project: ProjectPaths;
  readonly env: Env;
  /** It is one of the stories of a parallel run. */
  readonly lane?: StoryLane | undefined;
  /** Its lanes and its branch are elsewhere. */
  readonly elsewhere?: RemoteLanes | undefined;
  /** What it continues with, or why it must not: also whether its doubts are put up with. */
  continueWith(run: ReadRun): Promise<With | readonly Problem[]>;
}

export interface Reopened<With extends Continued> {
  readonly job: Job;
  readonly resumed: ResumedRun;
  readonly ready: With;
}

/** Makes the run this process's own, repairs what its end has left behind, and makes its job again. */
export async function reopen<With extends Continued>(
  id: string,
  extra: Extra<With>,
): Promise<Reopened<With> | readonly Problem[]> {
  const paths = runPaths(extra.project, id);
  const claimed = await claimRun(paths, id);
  if (isProblem(claimed)) return [claimed];
  let isOpen = false;
  try {
    // Where the project is now: it may have been moved.
    const file = { ...claimed.file, cwd: extra.project.root };
    const opened = await openAgain(file, paths, extra);
    isOpen = 'job' in opened;
    return 'job' in opened ? { ...opened, resumed: { ...opened.resumed, release: claimed.release } } : opened;
  } finally {
    if (!isOpen) claimed.release();
  }
}

async function openAgain<With extends Continued>(before: ResumableFile, paths: RunPaths, extra: Extra<With>) {
  const { id, cwd, given } = before;
  const { env } = extra;
  const { past, repaired, doubts, lost } = await recoverRun(paths);
  if (lost !== undefined) return [{ where: id, what: lost, fix: 'start a new run' }];
  // A later Ralph has worked on it meanwhile: the results of its lanes cannot be read.
  const later = (past.board?.lanes ?? [])
    .flatMap(({ runs }) => runs)
    .flatMap(run => laterLedger(run, runPaths(extra.project, run).events) ?? []);
  if (later.length > 0) return later;
  const ready = await extra.continueWith({ file: before, paths, past, doubts });
  if (!('settings' in ready)) return ready;
  const { settings, flags = {}, changes = [] } = ready;
  // One that was deleted under a run which was cut off; a run that ended has said where its work is.
  const { worktree } = given;
  const swept =
    !past.result && worktree !== undefined
      ? await sweptWorktreeAgain({ root: cwd, env, name: worktree }, past.last?.judged?.snapshot)
      : undefined;
  const job = await jobAgain({ file: before, paths, past }, settings, extra);
  if (!('enter' in job)) return job;
  const redact = createRedactor(env);
  const isShown = !holdsSecrets(flags, redact);
  const file = {
    ...{ ...before, version: VERSION, owner: ownerName(), config: shownSettings(settings, redact) },
    given: { ...given, flags: mergeLayers(given.flags, isShown ? flags : {}) },
  };
  writeRunFile(paths, file);
  const cleared = await clearWorkplace({ file, paths, past }, env);
  const said = [...repaired, ...(swept ? [swept] : []), ...doubts, ...cleared.repaired];
  return { job, ready, resumed: { file, paths, past, repairs: { ...cleared, repaired: said, changes } } };
}

interface Claimed {
  readonly file: ResumableFile;
  release(): void;
}

/** Of two that try at the same time one gets it; the other hears who has it. */
async function claimRun(paths: RunPaths, id: string): Promise<Claimed | Problem> {
  if (!isRecorded(paths)) return whyNotHere(paths, id);
  return withLock(paths.state.lock, async () => {
    const file = readRunFile(paths);
    if (!file?.given || isRunning(paths) || file.command === 'session') return whyNot(paths, file, id);
    const holder = writeLease(paths);
    return { file: { ...file, given: file.given }, release: () => releaseLease(paths, holder) };
  });
}

/** What a copy says would be done by whoever resumes it: it may name any program. */
function whyNotHere(paths: RunPaths, id: string): Problem {
  const { folder, run, state, trust } = paths;
  if (!existsSync(folder) && !existsSync(state.folder))
    return { where: id, what: 'no such run', fix: '`ralph status` lists them' };
  if (!existsSync(run)) return whyNot(paths, undefined, id);
  return { where: id, what: `it cannot be resumed here. ${trustSentence(trust)}`, fix: 'start a new run' };
}

function whyNot(paths: RunPaths, file: RunFile | undefined, id: string): Problem {
  const because = (what: string, fix = 'start a new run'): Problem => ({ where: id, what, fix });
  if (!file) return because('it was cut off while it was being created, so there is nothing to resume');
  if (file.command === 'session')
    return because('a loop inside a session continues in its host', 'open the session again there');
  if (!file.given) return because('it was started by a program, and cannot be resumed here');
  const { pid } = readLease(paths)?.process ?? {};
  return because(
    `it is running${pid === undefined ? '' : ` (process ${pid})`}`,
    `\`ralph log ${id} --follow\` shows it, \`ralph cancel ${id}\` stops it`,
  );
}

interface Recovered {
  readonly past: RunState;
  readonly repaired: readonly string[];
  /** Why it cannot be believed as it is: a sentence each. */
  readonly doubts: readonly string[];
  /** Why it cannot be resumed at all. */
  readonly lost?: string;
}

/** Ends what the dead process left running, repairs its ledger, and reads it. Old messages no longer count, but for words to the agent and answers. */
async function recoverRun(paths: RunPaths): Promise<Recovered> {
  const repaired: string[] = [];
  const owner = ownerOfRun(paths);
  // Under our own name other runs of this process work now; what was started for this one ended with it.
  const orphans = owner === ownerName() ? 0 : await endOwned(owner);
  if (orphans > 0) repaired.push(`${orphans} process(es) of the run were still running: ended`);
  const wrong = repairMirror(paths);
  if (wrong !== undefined) repaired.push(`${wrong}: it was put back`);
  const torn = existsSync(paths.events) ? repairTorn(paths.events) : 0;
  if (torn > 0) repaired.push(`the last line of the ledger was not complete: ${torn} bytes were cut off`);
  for (const { id, kind } of readMessages(paths))
    if (kind !== 'tell' && kind !== 'answer') removeMessage(paths, id);
  const { state: past, problems } = loadState(paths);
  if (!existsSync(paths.events)) return { ...NOTHING_LEFT, repaired };
  return { past, repaired, doubts: doubtsOf(trustWith(paths.trust, problems)) };
}

/** Without its ledger it would begin again at iteration 1, as if nothing had been spent. */
const NOTHING_LEFT = {
  past: NOTHING_YET,
  doubts: [],
  lost: 'its ledger is missing: what it has done and spent is not known any more',
};

/** The job that it was, with what it was given. */
async function jobAgain(
  { file, paths, past }: Omit<ReadRun, 'doubts'>,
  settings: Settings,
  { env, lane, elsewhere }: Pick<Extra<Continued>, 'env' | 'lane' | 'elsewhere'>,
): Promise<Job | readonly Problem[]> {
  const { cwd, given, command } = file;
  const { parallel, ralphDir = 'ralph', promptFile, worktree: name, startRef, from } = given;
  // What a parallel run believes of its list is on its own record; the list in the project only has to be there.
  if (parallel === 'stories') {
    const prd = prdPaths(cwd, ralphDir);
    const list = loadStories(prd, policyOf(settings));
    return isList(list) ? parallelStories({ prd, list }, settings, elsewhere) : list;
  }
  const task = command === 'prd' || promptFile !== undefined ? undefined : readTask(paths);
  if (isProblem(task)) return [task];
  if (command === 'run') {
    const source = promptSource({ prompt: task, promptFile }, cwd);
    return isProblem(source) ? [source] : promptJob({ source });
  }
  if (parallel !== undefined && task !== undefined)
    return parallel === 'tasks'
      ? parallelTasks(given.tasks ?? '', task, settings, elsewhere)
      : bestOf(task, settings);
  const gone = name === undefined ? undefined : await whyNoWorktree({ root: cwd, env, name });
  if (gone) return [gone];
  if (task !== undefined) {
    const spec =
      given.spec === undefined ? undefined : { name: given.spec, source: specSource(given.spec, cwd) };
    return taskJob({ task, spec, worktree: name, startRef, issue: given.issue });
  }
  const worktree = name === undefined ? undefined : await openWorktree({ root: cwd, env, name });
  if (isProblem(worktree)) return [worktree];
  const prd = prdPaths(worktree?.cwd ?? cwd, ralphDir);
  const known = listAgain(prd, { id: file.id, paths }, past, policyOf(settings));
  if ('list' in known) return storiesJob({ prd, worktree, from, lane, ...known });
  worktree?.release();
  return known;
}

const DIFF_KEPT = 200_000;
const DIFF_SHOWN = 2_000;

/** Clears the place of work for the next step, and keeps on record what a turn that was cut off had done there. */
async function clearWorkplace(
  { file, paths, past }: Omit<ReadRun, 'doubts'>,
  env: Env,
): Promise<Pick<Resumption, 'repaired' | 'diff' | 'touched'>> {
  const { worktree } = file.given;
  const cwd = worktree === undefined ? file.cwd : projectPaths(file.cwd).worktree(worktree);
  const lived = { from: Date.parse(file.startedAt), to: past.time.latest };
  const repaired = await clearGitLocks({ cwd, env }, lived);
  const { open } = past;
  if (!open && (await isTouched(past, { cwd, env }))) return { repaired, touched: true };
  if (!open || !needsAgent(open)) return { repaired };
  const iteration = paths.iteration(open.number);
  setAside(iteration);
  const startTree = past.last?.judged?.snapshot ?? past.prepared?.start?.tree;
  const diff = await accumulatedDiff({ cwd, env, startRef: 'HEAD', startTree, maxChars: DIFF_KEPT });
  if (isProblem(diff) || diff.text === '') return { repaired };
  ensureFolder(iteration.folder);
  writePrivate(iteration.cutOff, diff.text);
  return { repaired, diff: diff.text.slice(0, DIFF_SHOWN) };
}

/** Somebody has changed files since the run left them: that is the user's, and nothing goes back behind it. */
async function isTouched({ best, last, restoring }: RunState, place: Place): Promise<boolean> {
  const left = last && treeOf(last);
  if (!best || restoring || left === undefined) return false;
  const own = await openOwnGit(place);
  const now = isProblem(own) ? own : await own.snapshot();
  return isProblem(now) || now.tree !== left;
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
