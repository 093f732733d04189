/** `ralph watch`: looks at the issues with a label again and again, and does for each what `nextForIssue` says. */
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import {
  type IssueAct,
  type IssueRun,
  type IssueStep,
  issueMarks,
  labelFor,
  nextForIssue,
  STANDING_LABELS,
  saidBy,
} from '../domain/forge/next-watch.ts';
import { isOpen, openQuestions } from '../domain/stories/questions.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import {
  endParts,
  type IssueLine,
  issueComment,
  linkWords,
  needsWords,
  questionParts,
  STARTED_WORDS,
} from '../report/issue-words.ts';
import type { StopRequest } from '../run/stop.ts';
import { LONGEST_TEXT } from '../store/inbox.ts';
import { ownerOf, releaseOwner, tryClaim } from '../workspace/lock.ts';
import { isOwn } from './facts.ts';
import type { FollowRequest } from './follow.ts';
import type { Issue } from './forge.ts';
import type { ForgeProblem } from './http.ts';
import type { IssueWork } from './issue-driver.ts';
import { type IssueLook, lookAtIssue, type SeenIssue, same } from './issue-facts.ts';
import { type Access, openAccess, openLedger } from './pull-request.ts';

export interface WatchRequest extends Omit<FollowRequest, 'id' | 'abort' | 'again'> {
  readonly stop: StopRequest;
  readonly label: string;
  /** Which Ralph this is; undefined: the one of this folder on this machine. */
  readonly who?: string;
  /** Who works on the issues. */
  work(access: Access): Promise<IssueWork>;
  /** Ends when nothing is left to do. */
  readonly once: boolean;
  /** Sees how an issue stands, whenever that changes. */
  shows(line: IssueLine): void;
}

/** `open`: how many issues need somebody, or wait. */
export interface WatchResult {
  readonly outcome: 'over' | 'interrupted';
  readonly open: number;
}

export async function watchIssues(request: WatchRequest): Promise<WatchResult | Problem> {
  const { project, stop } = request;
  const { watch } = project.state();
  ensureFolder(dirname(watch));
  const claimed = tryClaim(watch);
  if (isProblem(claimed)) return claimed;
  if (claimed === 'held') {
    const { pid } = ownerOf(watch) ?? {};
    return { where: project.root, what: `another \`ralph watch\` works here (process ${pid ?? 'unknown'})` };
  }
  try {
    const watching = await openWatch(request);
    if (!isProblem(watching)) return await untilOver(watching);
    return stop.stopping.aborted ? INTERRUPTED : watching;
  } finally {
    releaseOwner(watch);
  }
}

const INTERRUPTED: WatchResult = { outcome: 'interrupted', open: 0 };

interface Watching extends Omit<WatchRequest, 'work'> {
  readonly access: Access;
  readonly look: IssueLook;
  readonly work: IssueWork;
  /** What was shown of each issue last. */
  readonly shown: Map<number, IssueLine>;
  /** What is in the way, as it was said: at the last look, and at this one. */
  readonly noted: { before: ReadonlySet<string>; now: Set<string> };
  /** How the pull request of each run stood when it was looked at last. */
  readonly heads: Map<string, string>;
}

async function openWatch(request: WatchRequest): Promise<Watching | Problem> {
  const { project, stop, label, listenTo } = request;
  const access = await openAccess({ ...request, abort: stop.stopping });
  if (isProblem(access)) return access;
  const { forge } = access;
  // The token of a workflow does not say who it is.
  const me = (await forge.me()) ?? 'github-actions[bot]';
  if (isProblem(me)) return me;
  const who = sha256(request.who ?? `${hostname()}\0${project.root}`).slice(0, 12);
  const work = await request.work(access);
  return {
    ...request,
    access,
    look: { forge, label, listenTo, me, who },
    work,
    shown: new Map(),
    noted: { before: new Set(), now: new Set() },
    heads: new Map(),
  };
}

async function untilOver(watching: Watching): Promise<WatchResult | Problem> {
  const { stop, work, once, poll } = watching;
  const finished = new Set<number>();
  for (;;) {
    const looked = stop.stopping.aborted ? 'stopped' : await lookOnce(watching, finished);
    if (looked === 'stopped' || stop.stopping.aborted) return endWatch(watching, INTERRUPTED);
    if (isProblem(looked)) {
      // Who watches for months outlasts a forge that is away for hours.
      if (once || !looked.isAway) return endWatch(watching, looked);
      note(watching, '', looked);
    } else if (once && work.isIdle() && !looked.isUnsure) return { outcome: 'over', open: looked.open };
    await work.wait(poll);
  }
}

/** What is worked on may take its time to the end of its step. */
async function endWatch<End extends WatchResult | ForgeProblem>(
  { stop, work, say }: Watching,
  end: End,
): Promise<End> {
  if (isProblem(end) && !work.isIdle())
    say(`${formatProblem(end)}. Ending after this step; press Ctrl-C to end it now.`);
  stop.request('interrupted', 'after-this-step');
  await work.allOver();
  return end;
}

interface Looked {
  /** Nobody knows whether something was done. */
  readonly isUnsure: boolean;
  readonly open: number;
}

/** `finished`: what nobody wants any more, and there is nothing left to say of. */
async function lookOnce(
  watching: Watching,
  finished: Set<number>,
): Promise<Looked | 'stopped' | ForgeProblem> {
  const { look, stop, work, noted } = watching;
  noted.before = noted.now;
  noted.now = new Set();
  const labelled = await look.forge.issues(look.label);
  if (isProblem(labelled)) return labelled;
  const wanted = new Map(labelled.map(issue => [issue.number, issue]));
  const away = await work.refresh([...wanted.keys()]);
  if (away?.isHeld && watching.once) return { where: away.where, what: away.what };
  if (away) {
    note(watching, '', away);
    return { isUnsure: true, open: 0 };
  }
  const runs = [...work.latest()].filter(([number, id]) => wanted.has(number) || isLeft(watching, id));
  const begun = runs.map(([number]) => number).filter(number => wanted.has(number) || !finished.has(number));
  let [isUnsure, open] = [false, 0];
  // A place that is free from now on is for the next look: else the last in the row would get it.
  const room = { slots: work.room().slots };
  for (const number of new Set([...begun, ...wanted.keys()])) {
    if (stop.stopping.aborted) return 'stopped';
    finished.delete(number);
    const step = await stepIssue(watching, number, wanted.get(number), room);
    isUnsure ||= step.end === 'later';
    if (step.end === 'rest' && !wanted.has(number) && !work.isDriven(number)) finished.add(number);
    if (OPEN.includes(step.standing) || step.end === 'failed') open++;
  }
  return { isUnsure, open };
}

const OPEN: readonly IssueStep['standing'][] = ['needs_you', 'asking', 'waiting', 'refused'];

/** What was merged or closed is over, whatever its issue says. */
function isLeft({ work }: Watching, id: string): boolean {
  const { ended } = work.stateOf(id).forge ?? {};
  return !ended || ended.reason === 'needs_you' || ended.reason === 'pull_request_ready';
}

interface Stepped {
  readonly standing: IssueStep['standing'];
  /** `failed`: something could not be done at the forge. */
  readonly end: 'rest' | 'later' | 'failed';
}

/** Somebody works on it from then on. */
const BEGINS: ReadonlySet<IssueAct['kind']> = new Set(['start', 'resume', 'follow'] as const);

/** More than one issue ever needs at once. */
const MOST_ACTS = 8;

async function stepIssue(
  watching: Watching,
  number: number,
  listed: Issue | undefined,
  room: { slots: number },
): Promise<Stepped> {
  const { look, work, terms } = watching;
  const seen = await seeIssue(watching, number, listed);
  if (isProblem(seen)) {
    if (listed === undefined && isGone(seen)) return cancelGone(watching, number);
    note(watching, `#${number}: `, seen);
    return { standing: 'waiting', end: 'failed' };
  }
  const { issue, facts } = seen;
  let hasNews = await newsOf(watching, number, facts.wanted === 'yes');
  for (let acts = 0; ; acts++) {
    const run = work.runOf(number, facts.label, hasNews);
    const { questions = [] } = run?.id ? work.stateOf(run.id) : {};
    const answers = questions.filter(each => !isOpen(each)).length;
    const own = { ...work.room(), ...room, answers, mostAnswers: terms.reviewRounds };
    const step = nextForIssue(facts, run, own, look.who);
    const { standing } = step;
    const isBegin = step.act !== undefined && BEGINS.has(step.act.kind);
    if (!isBegin) show(watching, issue, step, run);
    if (!step.act || acts >= MOST_ACTS) {
      if (run) await setLabels(watching, issue, standing);
      if (run && run.stand !== 'driven') await noteSaid(watching, seen, run.id);
      return { standing, end: 'rest' };
    }
    const done = await perform(watching, seen, step, step.act);
    if (isProblem(done)) {
      // Of what has not begun the line says why.
      if (isBegin && !isStopped(done))
        show(watching, issue, { standing: run ? 'needs_you' : 'refused', why: formatProblem(done) }, run);
      else note(watching, `#${number}: `, done);
      return { standing, end: 'failed' };
    }
    if (isBegin) show(watching, issue, step, run);
    if (done === 'later') return { standing, end: 'later' };
    if (step.act.kind === 'follow') hasNews = false;
    if (step.act.kind === 'start' || step.act.kind === 'resume') room.slots--;
  }
}

/** Deleted, or moved to another repository. */
function isGone({ status }: ForgeProblem): boolean {
  return status === 404 || status === 410;
}

/** Nothing can be said there any more. */
async function cancelGone(watching: Watching, number: number): Promise<Stepped> {
  const { work, shown } = watching;
  const standing = 'cancelled';
  const { title = work.stateOf(work.latest().get(number) ?? '').head?.title ?? '' } = shown.get(number) ?? {};
  const why = 'the issue is gone: deleted, or moved. What was done so far is kept';
  show(watching, { number, title }, { standing, why }, work.runOf(number, 0, false));
  await work.cancel(number, 'Its issue is gone.');
  return { standing, end: 'rest' };
}

/** What stands there is on the ledger of its run as well. The marks tell, so that a kill in between loses none of it. */
async function noteSaid(watching: Watching, { issue, facts }: SeenIssue, id: string): Promise<void> {
  const { work, access, stop } = watching;
  const { said = [] } = id === '' ? {} : work.stateOf(id);
  const fresh = [...facts.said].filter(mark => !said.some(each => each.mark === mark));
  const notes = fresh.flatMap(mark => {
    const what = saidBy(mark, id);
    return what ? [{ type: 'forge-said', issue: issue.number, what, mark } as const] : [];
  });
  if (id === '' || notes.length === 0) return;
  const ledger = await openLedger({ ...watching, id, abort: stop.stopping, unit: work.unitOf(id) }, access);
  // Somebody works on it: at a later look.
  if (isProblem(ledger)) return;
  for (const note of notes) ledger.note(note);
  await ledger.close();
}

async function seeIssue(
  { look, work }: Watching,
  number: number,
  listed: Issue | undefined,
): Promise<SeenIssue | ForgeProblem> {
  const issue = listed ?? (await look.forge.issue(number));
  if (isProblem(issue)) return issue;
  const id = work.latest().get(number);
  if (id === undefined) return lookAtIssue(look, issue, null);
  const { iteration } = openQuestions(work.stateOf(id).questions)[0] ?? {};
  const asked = iteration === undefined ? undefined : issueMarks.question(id, iteration);
  return lookAtIssue(look, issue, asked);
}

/** Whether something has happened at a pull request that was ready since it was looked at last. */
async function newsOf(watching: Watching, number: number, isWanted: boolean): Promise<boolean> {
  const { work, look, heads } = watching;
  const id = work.latest().get(number);
  if (id === undefined || !isWanted || work.isDriven(number)) return false;
  const { forge } = work.stateOf(id);
  if (forge?.number === undefined || forge.ended?.reason !== 'pull_request_ready') return false;
  const now = await newestOf(look, forge.number);
  if (isProblem(now)) {
    note(watching, `#${number}: `, now);
    return false;
  }
  const isNew = heads.get(id) !== now;
  heads.set(id, now);
  return isNew;
}

/** All of a pull request that could ask for more work. */
async function newestOf({ forge, me }: IssueLook, number: number): Promise<string | ForgeProblem> {
  const pull = await forge.pull(number);
  if (isProblem(pull)) return pull;
  const words = await forge.words(number);
  if (isProblem(words)) return words;
  const checks = await forge.checks(pull.head);
  if (isProblem(checks)) return checks;
  const others = words.filter(word => !isOwn(word, me)).map(word => `${word.id} ${word.verdict}`);
  const states = checks.map(({ name, state }) => `${name} ${state}`);
  return [pull.state, pull.head, pull.isMergeable === false, ...others, ...states].join('\n');
}

/** `later`: it takes its time, or nobody knows whether it was done. */
async function perform(
  watching: Watching,
  { issue, facts, answer }: SeenIssue,
  step: IssueStep,
  act: IssueAct,
): Promise<'done' | 'later' | Problem> {
  const { work, look, access } = watching;
  const { number } = issue;
  const said = facts.said as Set<string>;
  const say = async (mark: string, ...parts: readonly string[]): Promise<'done' | 'later' | Problem> => {
    if (said.has(mark)) return 'done';
    const written = await look.forge.comment(number, access.redact(issueComment(mark, ...parts)));
    if (isProblem(written)) return (written as ForgeProblem).isUnsure ? 'later' : written;
    said.add(mark);
    return 'done';
  };
  switch (act.kind) {
    case 'start':
    case 'resume':
    case 'follow': {
      const begun = await say(issueMarks.started(facts.label, look.who), STARTED_WORDS);
      if (begun === 'done') work.begin(issue, facts.label, act.kind);
      return begun;
    }
    case 'cancel':
      return (await work.cancel(number, `Nobody wants it any more: ${facts.why ?? ''}.`)) ?? 'later';
    case 'answer': {
      const text = answer?.text.trim().slice(0, LONGEST_TEXT) ?? '';
      return (await work.answer(issue, text)) ?? 'done';
    }
    case 'say':
      return say(act.mark, ...partsOf(watching, number, step, act.what));
    default:
      return act satisfies never;
  }
}

function partsOf(
  { work }: Watching,
  number: number,
  { standing, why }: IssueStep,
  what: 'question' | 'link' | 'end',
): readonly string[] {
  const id = work.latest().get(number);
  const { questions, forge, result } = id === undefined ? {} : work.stateOf(id);
  switch (what) {
    case 'question':
      return questionParts(openQuestions(questions)[0]?.question ?? '');
    case 'link':
      return [linkWords(forge?.address ?? '')];
    case 'end':
      return endParts({ standing, why, forge, result, isFailed: work.failure(number) !== undefined });
    default:
      return what satisfies never;
  }
}

/** A label that cannot be set is no reason to stop. */
async function setLabels(
  watching: Watching,
  { number, labels }: Issue,
  standing: IssueStep['standing'],
): Promise<void> {
  const { forge } = watching.look;
  const wanted = labelFor(standing);
  const has = (label: string) => labels.some(each => same(each, label));
  const extra = STANDING_LABELS.filter(label => label !== wanted && has(label));
  const changes = [
    ...extra.map(label => () => forge.removeLabel(number, label)),
    ...(wanted === undefined || has(wanted) ? [] : [() => forge.addLabel(number, wanted)]),
  ];
  for (const change of changes) {
    const done = await change();
    if (isProblem(done)) note(watching, `#${number}: its labels stay as they are: `, done);
  }
}

function show(
  { shown, shows, work }: Watching,
  { number, title }: Pick<Issue, 'number' | 'title'>,
  { standing, why }: IssueStep,
  run: IssueRun | undefined,
): void {
  const id = run?.id || undefined;
  const { forge, result } = id === undefined ? {} : work.stateOf(id);
  const needs = () => work.failure(number) ?? needsWords({ why, forge, result });
  const line: IssueLine = {
    ...{ issue: number, title, standing },
    why: (standing === 'needs_you' ? needs() : why) || null,
    runId: id ?? null,
    pullRequest: forge?.address ?? null,
  };
  if (JSON.stringify(shown.get(number)) === JSON.stringify(line)) return;
  shown.set(number, line);
  shows(line);
}

/** Said once, until a look finds it gone. That the user has stopped it is no news. */
function note({ say, noted: { before, now } }: Watching, about: string, problem: Problem): void {
  const text = about + formatProblem(problem);
  if (!isStopped(problem) && !before.has(text) && !now.has(text)) say(text);
  now.add(text);
}

function isStopped(problem: Problem): boolean {
  return (problem as ForgeProblem).isStopped === true;
}
