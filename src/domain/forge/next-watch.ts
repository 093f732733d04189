/** What is done next for an issue that is watched: one pure function from what the forge says of it and what its run has done. */
import type { ForgeEnding, IssueWord } from './forge-event.ts';

export interface IssueFacts {
  /** Whether somebody wants it now. `refused`: the label is there, and does not count. */
  readonly wanted: 'yes' | 'closed' | 'unlabelled' | 'refused';
  /** Why its label does not count, or why its text must not be believed. */
  readonly why?: string | undefined;
  /** Somebody who may not write here has changed its text since the label was set. */
  readonly isChanged: boolean;
  /** The event that set the label last, by its number at the forge: whoever sets it again asks again. */
  readonly label: number;
  /** The marks of what Ralph has said there. */
  readonly said: ReadonlySet<string>;
  /** Another Ralph has said that it works on it. */
  readonly isElsewhere: boolean;
  /** Somebody with write permission has written behind the question. */
  readonly hasAnswer: boolean;
}

/** The latest run for an issue. `driven`: somebody works on it, or on its pull request; `cut-off`: nobody does, and it has not ended. */
export interface IssueRun {
  readonly id: string;
  readonly stand: 'driven' | 'cut-off' | 'stopped' | 'proven';
  /** Its work is proven, or has a pull request already. */
  readonly isProven: boolean;
  /** The iteration in which it asked what nobody has answered yet. */
  readonly question?: number | undefined;
  /** The number of its pull request. */
  readonly pull?: number | undefined;
  /** How following it ended. */
  readonly ended?: ForgeEnding | undefined;
  /** Something on this machine was in its way. */
  readonly isFailed: boolean;
  /** At its pull request, which was ready, something has happened since. */
  readonly hasNews: boolean;
  /** What it waits for before somebody works on it. */
  readonly waits?: string | undefined;
}

export interface WatchRoom {
  /** How many more may be worked on now. */
  readonly slots: number;
  readonly hasMoney: boolean;
}

/** With how often its agent has been answered, and may be. */
export interface IssueRoom extends WatchRoom {
  readonly answers: number;
  readonly mostAnswers: number;
}

export type IssueStanding =
  | 'waiting'
  | 'working'
  | 'following'
  | 'asking'
  | 'done'
  | 'needs_you'
  | 'cancelled'
  | 'refused'
  | 'elsewhere';

export type IssueAct =
  | { readonly kind: 'start' | 'resume' | 'follow' | 'cancel' | 'answer' }
  | { readonly kind: 'say'; readonly what: 'question' | 'link' | 'end'; readonly mark: string };

export interface IssueStep {
  readonly standing: IssueStanding;
  readonly why?: string | undefined;
  /** Absent: nothing is to be done now. */
  readonly act?: IssueAct;
}

/** By which Ralph knows its own words at an issue again. */
export const issueMarks = {
  /** `who`: which Ralph, so that two do not work on the same. */
  started: (label: number, who: string) => `issue-started-${label}-${who}`,
  question: (run: string, iteration: number) => `issue-question-${run}-${iteration}`,
  link: (pull: number) => `issue-link-${pull}`,
  /** `standing`: what was ready may need somebody later, and the other way round. */
  end: (label: number, standing: IssueStanding) => `issue-end-${label}-${standing}`,
};

/** Of the marks at an issue: what they say of this run; undefined: they are of another one, or unknown. */
export function saidBy(mark: string, run: string): IssueWord | undefined {
  const [, what] = /^issue-(started|question|link|end)-/.exec(mark) ?? [];
  if (what === 'question' && !mark.startsWith(`issue-question-${run}-`)) return undefined;
  return what as IssueWord | undefined;
}

export function nextForIssue(
  facts: IssueFacts,
  run: IssueRun | undefined,
  room: IssueRoom,
  who: string,
): IssueStep {
  if (!run) return newStep(facts, room);
  const isTried = facts.said.has(issueMarks.started(facts.label, who));
  return (
    linkStep(facts, run) ??
    overStep(facts, run, isTried) ??
    (facts.wanted === 'yes' ? runStep(facts, run, room, isTried) : unwantedStep(facts, run, isTried))
  );
}

/** Nobody works on it yet. */
function newStep({ wanted, why, isChanged, isElsewhere }: IssueFacts, room: WatchRoom): IssueStep {
  if (wanted !== 'yes') return { standing: wanted === 'refused' ? 'refused' : 'cancelled', why };
  if (isElsewhere) return { standing: 'elsewhere' };
  if (isChanged) return { standing: 'refused', why };
  return begins('start', room);
}

function begins(kind: 'start' | 'resume', { slots, hasMoney }: WatchRoom): IssueStep {
  if (!hasMoney) return { standing: 'waiting', why: 'the budget is spent' };
  return slots > 0 ? { standing: 'working', act: { kind } } : { standing: 'waiting' };
}

function linkStep({ said }: IssueFacts, run: IssueRun): IssueStep | undefined {
  const mark = run.pull === undefined ? '' : issueMarks.link(run.pull);
  if (mark === '' || said.has(mark)) return undefined;
  return { standing: 'following', act: { kind: 'say', what: 'link', mark } };
}

/** Its pull request is where it should be, or people have closed it. As long as the label is there, somebody listens to what is said of it. */
function overStep(facts: IssueFacts, run: IssueRun, isTried: boolean): IssueStep | undefined {
  const { stand, ended, hasNews, isFailed } = run;
  if (ended === undefined || ended === 'needs_you' || isFailed) return undefined;
  const isWanted = facts.wanted === 'yes' && ended === 'pull_request_ready';
  if (stand === 'driven') return isWanted ? { standing: 'done' } : undefined;
  if (isWanted && (hasNews || !isTried)) return { standing: 'done', act: { kind: 'follow' } };
  return over(facts, ended === 'pull_request_closed' ? 'cancelled' : 'done');
}

function over({ said, label, why }: IssueFacts, standing: IssueStanding): IssueStep {
  const mark = issueMarks.end(label, standing);
  return { standing, why, ...(!said.has(mark) && { act: { kind: 'say', what: 'end', mark } }) };
}

/** Nobody wants it any more. What was never begun under this label is nothing to speak of. */
function unwantedStep(facts: IssueFacts, run: IssueRun, isTried: boolean): IssueStep {
  if (run.stand === 'driven') return { standing: 'cancelled', act: { kind: 'cancel' } };
  return isTried ? over(facts, 'cancelled') : { standing: 'cancelled' };
}

function runStep(facts: IssueFacts, run: IssueRun, room: IssueRoom, isTried: boolean): IssueStep {
  const { stand, question, ended, isFailed, isProven, id, waits } = run;
  if (stand === 'driven' && waits !== undefined) return { standing: 'waiting', why: waits };
  if (stand === 'driven') return { standing: isProven ? 'following' : 'working' };
  if (isFailed) return over(facts, 'needs_you');
  if (stand === 'proven')
    return ended === 'needs_you' && isTried
      ? over(facts, 'needs_you')
      : { standing: 'following', act: { kind: 'follow' } };
  if (question !== undefined && stand === 'stopped') {
    if (facts.hasAnswer) return answerStep(facts, room);
    const mark = issueMarks.question(id, question);
    if (facts.said.has(mark)) return { standing: 'asking' };
    return { standing: 'asking', act: { kind: 'say', what: 'question', mark } };
  }
  return stand === 'stopped' && isTried ? over(facts, 'needs_you') : begins('resume', room);
}

function answerStep(facts: IssueFacts, { answers, mostAnswers }: IssueRoom): IssueStep {
  if (answers < mostAnswers) return { standing: 'asking', act: { kind: 'answer' } };
  const next = `the same command with --review-rounds ${answers + 3} continues`;
  return over(
    { ...facts, why: `It asks again after ${answers} answers. Look at it, then ${next}.` },
    'needs_you',
  );
}

/** The labels that say how it stands. */
export const STANDING_LABELS = ['ralph:working', 'ralph:needs-you', 'ralph:done'] as const;

/** undefined: none of them. */
export function labelFor(standing: IssueStanding): (typeof STANDING_LABELS)[number] | undefined {
  switch (standing) {
    case 'working':
    case 'following':
      return 'ralph:working';
    case 'asking':
    case 'needs_you':
      return 'ralph:needs-you';
    case 'done':
      return 'ralph:done';
    default:
      return undefined;
  }
}
