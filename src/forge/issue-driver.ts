/** What is done here for issues, one thing at a time for each, and what `ralph watch` asks of whoever works on them. */
import type { IssueRun, WatchRoom } from '../domain/forge/next-watch.ts';
import type { RunState } from '../domain/run/state.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { createStopRequest, type StopRequest } from '../run/stop.ts';
import { createWakeUp } from '../run/wait.ts';
import type { GivenIssue } from '../store/run-file.ts';
import { type FollowRequest, followPullRequest } from './follow.ts';
import type { Issue } from './forge.ts';
import type { ForgeProblem } from './http.ts';
import type { Access, UnitSource } from './pull-request.ts';

/** What is said of one of several issues begins with its number. */
export type AboutIssue = (issue: number) => Pick<FollowRequest, 'say' | 'saw' | 'begins'>;

export type Begin = 'start' | 'resume' | 'follow';

/** Why nobody can look. */
export interface Away extends Problem {
  /** Somebody else watches: it may be for long. */
  readonly isHeld?: true;
}

/** How issues are worked on: by this machine, or by a fleet. */
export interface IssueWork {
  /** Looks at what others have done; `wanted`: the issues with the label. Returns why it cannot. */
  refresh(wanted: readonly number[]): Promise<Away | undefined>;
  /** By their numbers, the latest run for each issue. */
  latest(): ReadonlyMap<number, string>;
  stateOf(id: string): RunState;
  /** Where it is a unit of a fleet. */
  unitOf(id: string): UnitSource | undefined;
  /** The latest run for it; undefined: there is none, and nothing was in its way. */
  runOf(issue: number, label: number, hasNews: boolean): IssueRun | undefined;
  isDriven(issue: number): boolean;
  /** Nothing is under way, and nothing has ended since somebody looked. */
  isIdle(): boolean;
  room(): WatchRoom;
  /** What was in its way. */
  failure(issue: number): string | undefined;
  begin(issue: Issue, label: number, kind: Begin): void;
  answer(issue: Issue, text: string): Promise<Problem | undefined>;
  cancel(issue: number, why: string): Promise<Problem | undefined>;
  /** Until something has ended, or for so long. */
  wait(ms: number): Promise<void>;
  allOver(): Promise<void>;
}

/** What its ledger says of a run for an issue. */
export type ReadIssueRun = Omit<IssueRun, 'isFailed' | 'hasNews'>;

/** What is under way. */
export interface Driven {
  readonly stop: StopRequest;
}

export function createDriver(
  stop: StopRequest,
  drive: (issue: Issue, kind: Begin, own: Driven) => Promise<Problem | undefined>,
) {
  const driven = new Map<number, Driven>();
  const failed = new Map<number, { readonly label: number; readonly what: string }>();
  const wakeUp = createWakeUp(stop.stopping);
  let hasNews = false;
  const stopAll = (how: 'now' | 'after-this-step') => {
    for (const each of driven.values()) each.stop.request('interrupted', how);
  };
  stop.stopping.addEventListener('abort', () => stopAll('after-this-step'));
  stop.abort.addEventListener('abort', () => stopAll('now'));
  return {
    isDriven: (issue: number) => driven.has(issue),
    isIdle: () => driven.size === 0 && !hasNews,
    failure: (issue: number) => failed.get(issue)?.what,
    /** `read`: how the latest run for it stands; undefined: there is none. */
    runOf(
      issue: number,
      label: number,
      hasNews: boolean,
      read: ((isDriven: boolean) => ReadIssueRun) | undefined,
    ): IssueRun | undefined {
      const known = { isFailed: failed.get(issue)?.label === label, hasNews };
      const isDriven = driven.has(issue);
      if (read) return { ...read(isDriven), ...known };
      if (!isDriven && !known.isFailed) return undefined;
      return { id: '', stand: isDriven ? 'driven' : 'stopped', isProven: false, ...known };
    },
    begin(issue: Issue, label: number, kind: Begin): void {
      const own = { stop: createStopRequest() };
      driven.set(issue.number, own);
      failed.delete(issue.number);
      const over = (problem: Problem | undefined) => {
        // What we have stopped ourselves is continued, and so is what a forge that is away has stopped.
        if (problem && !own.stop.stopping.aborted && !(problem as ForgeProblem).isAway)
          failed.set(issue.number, { label, what: formatProblem(problem) });
        driven.delete(issue.number);
        hasNews = true;
        wakeUp.wake();
      };
      void drive(issue, kind, own).then(over, wakeUp.fail);
    },
    cancel(issue: number, why: string): void {
      driven.get(issue)?.stop.request('cancelled', 'now', why);
    },
    async wait(ms: number): Promise<void> {
      if (!hasNews && !stop.stopping.aborted) await wakeUp.wait(ms);
      wakeUp.throwIfFailed();
      hasNews = false;
    },
    async allOver(): Promise<void> {
      for (; driven.size > 0; wakeUp.throwIfFailed()) await wakeUp.wait(LOOK_EVERY);
    },
  };
}

/** Milliseconds between two looks at what has ended. */
export const LOOK_EVERY = 200;

/** Follows its pull request. Returns what was in its way: that we have stopped it was not. */
export async function followIssue(
  request: FollowRequest & { readonly access: Access },
): Promise<Problem | undefined> {
  const followed = await followPullRequest({ ...request, memory: request.access.waits.memory });
  if (isProblem(followed)) return followed;
  const isStopped = followed.outcome === 'interrupted' && !request.abort.aborted;
  return isStopped ? { where: request.id, what: 'it was cancelled' } : undefined;
}

/** What the remote has as the base now. */
export async function tipOfBase({ remote, base }: Access): Promise<string | Problem> {
  const none = { where: base, what: 'the remote has no such branch', fix: '--base BRANCH' };
  return (await remote.tip(`refs/heads/${base}`)) ?? none;
}

export function givenIssue({ place: { owner, name, base } }: Access, { number }: Issue): GivenIssue {
  return { repo: `${owner}/${name}`, forge: base, number };
}
