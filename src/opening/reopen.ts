/** Makes a run that was cut off or had stopped this process's own, and puts right what its end has left behind. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { knownEntry } from '../domain/ledger-entry.ts';
import { foldPast, needsAgent, type Past, type Timed } from '../domain/past.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { ensureFolder, readSlice, writePrivate } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { endOwned } from '../platform/process.ts';
import { identify } from '../platform/process-table.ts';
import { openJournal, repairTorn } from '../store/journal.ts';
import type { IterationPaths, RunPaths } from '../store/paths.ts';
import { type Given, isRunning, type RunFile, readRunFile, writeRunFile } from '../store/run-file.ts';
import { accumulatedDiff } from '../workspace/diff.ts';
import { clearGitLocks } from '../workspace/git-lock.ts';
import { withLock } from '../workspace/lock.ts';

export type OpenRun = RunFile & { readonly given: Given };

/** Of two that try at the same time one gets it; the other is told who has it. */
export async function claimRun(paths: RunPaths, id: string): Promise<OpenRun | Problem> {
  if (!existsSync(paths.folder)) return { where: id, what: 'no such run' };
  return withLock(paths.lock, async () => {
    const file = readRunFile(paths);
    const problem = whyNot(file, id);
    if (problem || !file?.given) return problem ?? neverBegan(id);
    const claimed = {
      ...file,
      given: file.given,
      process: identify(process.pid) ?? { pid: process.pid, started: '' },
    };
    writeRunFile(paths, claimed);
    return claimed;
  });
}

function whyNot(file: RunFile | undefined, id: string): Problem | undefined {
  if (!file) return neverBegan(id);
  if (file.command === 'session')
    return {
      where: id,
      what: 'a loop inside a session goes on in its host',
      fix: 'open the session again there',
    };
  if (isRunning(file))
    return {
      where: id,
      what: `it is running (process ${file.process.pid})`,
      fix: '`ralph log --follow` shows it, `ralph cancel` ends it',
    };
  if (file.given) return undefined;
  return { where: id, what: 'it was started by a program or by an older Ralph, and cannot be resumed here' };
}

function neverBegan(id: string): Problem {
  return { where: id, what: 'it was cut off while it was being made, so there is nothing to go on with' };
}

export interface Recovered {
  readonly past: Past;
  readonly repaired: readonly string[];
  /** What is wrong with the ledger beyond a torn last line. */
  readonly doubts: readonly string[];
}

/** Ends what the dead process left running, fixes its ledger, and reads it. */
export async function recoverRun(paths: RunPaths, file: OpenRun): Promise<Recovered> {
  const repaired: string[] = [];
  const orphans = file.owner === undefined ? 0 : await endOwned(file.owner);
  if (orphans > 0) repaired.push(`${orphans} process(es) of the run were still there: ended`);
  const torn = existsSync(paths.events) ? repairTorn(paths.events) : 0;
  if (torn > 0)
    repaired.push(`the last line of the ledger was not finished: ${torn} bytes of it are cut off`);
  rmSync(paths.cancelled, { force: true });
  rmSync(paths.paused, { force: true });
  const { past, doubts } = readPast(paths);
  return { past, repaired, doubts };
}

export function readPast(paths: RunPaths): Omit<Recovered, 'repaired'> {
  if (!existsSync(paths.events)) return { past: foldPast([]), doubts: [] };
  const journal = openJournal(paths.events, { withoutWords: true });
  try {
    const past = foldPast(timed(journal.each()));
    return { past, doubts: journal.problems() };
  } finally {
    journal.close();
  }
}

function* timed(entries: ReturnType<ReturnType<typeof openJournal>['each']>): Iterable<Timed> {
  for (const entry of entries) {
    const known = knownEntry(entry); // what another version wrote, or what is damaged, is no evidence
    if (known) yield { ...known, time: Date.parse(known.at) };
  }
}

export interface Broken {
  readonly paths: RunPaths;
  readonly file: RunFile;
  readonly past: Past;
  /** Where the agent works. */
  readonly cwd: string;
  readonly env: Env;
}

const DIFF_KEPT = 200_000;
const DIFF_TOLD = 2_000;

/** Clears the workplace for the next step, and keeps on record what a turn that was cut off had done there. */
export async function clearUp(
  broken: Broken,
): Promise<{ readonly repaired: readonly string[]; readonly diff?: string }> {
  const { paths, file, past, cwd, env } = broken;
  const lived = { from: Date.parse(file.startedAt), to: past.lastWord };
  const repaired = await clearGitLocks({ cwd, env }, lived);
  const last = past.iterations.at(-1);
  if (!last || !needsAgent(last)) return { repaired };
  const iteration = paths.iteration(last.number);
  setAside(iteration);
  const diff = await accumulatedDiff({ cwd, env, startRef: 'HEAD', maxChars: DIFF_KEPT });
  if (isProblem(diff) || diff.text === '') return { repaired };
  ensureFolder(iteration.folder);
  writePrivate(iteration.cutOff, diff.text);
  return { repaired, diff: diff.text.slice(0, DIFF_TOLD) };
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
  return text === '' ? { where: paths.task, what: 'the words that the run was started with are gone' } : text;
}
