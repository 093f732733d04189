/** What the forge says of an issue now: who wants it, what was said there, and whether somebody has answered. */
import { type IssueFacts, issueMarks } from '../domain/forge/next-watch.ts';
import { isProblem } from '../domain/text/problem.ts';
import { isHeard, isOwn, markOf } from './facts.ts';
import type { Author, Forge, Issue, IssueEvent, Word } from './forge.ts';
import type { ForgeProblem } from './http.ts';

export interface IssueLook {
  readonly forge: Forge;
  readonly label: string;
  /** Bots that count as people with write permission. */
  readonly listenTo: readonly string[];
  /** The name that Ralph has at the forge. */
  readonly me: string;
  /** Which Ralph this is. */
  readonly who: string;
}

export interface SeenIssue {
  readonly issue: Issue;
  readonly facts: IssueFacts;
  /** The answer to its question. */
  readonly answer: Word | undefined;
}

/** `asked`: the mark of the question that its run waits for; null: it has no run. */
export async function lookAtIssue(
  look: IssueLook,
  issue: Issue,
  asked: string | undefined | null,
): Promise<SeenIssue | ForgeProblem> {
  const { forge, me, who } = look;
  const events = await forge.issueEvents(issue.number);
  if (isProblem(events)) return events;
  const set = events.findLast(({ kind, label }) => kind === 'labelled' && same(label, look.label));
  const wanted = await wantedBy(look, issue, set);
  if (isProblem(wanted)) return wanted;
  const isFresh = asked === null && wanted.wanted === 'yes' && set !== undefined;
  const changed = isFresh ? await changedBy(look, issue, set, events) : undefined;
  if (isProblem(changed)) return changed;
  const comments = await forge.comments(issue.number);
  if (isProblem(comments)) return comments;
  const said = new Set(comments.flatMap(word => markOf(word, me) ?? []));
  const answer = await answerTo(look, comments, asked ?? undefined);
  if (isProblem(answer)) return answer;
  const label = set?.id ?? 0;
  const started = [...said].filter(mark => mark.startsWith(issueMarks.started(label, '')));
  const facts: IssueFacts = {
    ...{ ...wanted, isChanged: changed !== undefined, label, said },
    ...(changed !== undefined && { why: changed }),
    isElsewhere: started.length > 0 && !started.includes(issueMarks.started(label, who)),
    hasAnswer: answer !== undefined,
  };
  return { issue, facts, answer };
}

/** As GitHub compares names of labels. */
export function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The label counts where somebody with write permission has set it: a form may set it for anybody. */
async function wantedBy(
  { forge, label, listenTo }: IssueLook,
  { isOpen, labels }: Issue,
  set: IssueEvent | undefined,
): Promise<Pick<IssueFacts, 'wanted' | 'why'> | ForgeProblem> {
  if (!isOpen) return { wanted: 'closed', why: 'the issue is closed' };
  if (!labels.some(each => same(each, label))) return { wanted: 'unlabelled', why: 'the label is gone' };
  if (!set) return { wanted: 'refused', why: 'the forge does not say who has set the label' };
  const counts = await isHeard(forge, set.by, listenTo);
  if (isProblem(counts)) return counts;
  if (counts) return { wanted: 'yes' };
  return { wanted: 'refused', why: `the label was set by ${nameOf(set.by)}, who may not write here` };
}

/** What whoever set the label has read is what counts. undefined: nobody else has changed it since. */
async function changedBy(
  { forge, listenTo }: IssueLook,
  { number }: Issue,
  set: IssueEvent,
  events: readonly IssueEvent[],
): Promise<string | undefined | ForgeProblem> {
  const edit = await forge.lastEdit(number);
  if (isProblem(edit)) return edit;
  const renamed = events.filter(({ kind, at }) => kind === 'renamed' && at >= set.at);
  for (const { at, by } of [...renamed, ...(edit ? [edit] : [])]) {
    if (at < set.at) continue;
    const counts = await isHeard(forge, by, listenTo);
    if (isProblem(counts)) return counts;
    if (!counts) return `${nameOf(by)} has changed its text since the label was set: set it again`;
  }
  return undefined;
}

function nameOf({ author }: Author): string {
  return author === '' ? 'somebody' : author;
}

/** The first words of somebody who is heard, behind the question. */
async function answerTo(
  { forge, me, listenTo }: IssueLook,
  comments: readonly Word[],
  asked: string | undefined,
): Promise<Word | undefined | ForgeProblem> {
  const at = asked === undefined ? -1 : comments.findIndex(word => markOf(word, me) === asked);
  if (at < 0) return undefined;
  for (const word of comments.slice(at + 1)) {
    if (isOwn(word, me) || word.text.trim() === '') continue;
    const counts = await isHeard(forge, word, listenTo);
    if (isProblem(counts)) return counts;
    if (counts) return word;
  }
  return undefined;
}
