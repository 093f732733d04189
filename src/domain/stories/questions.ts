/** What an agent asks the user: its story, or its issue, waits for the answer, and every later prompt for it holds it. */
import type { RunEvent } from '../run/event.ts';
import { pick } from '../text/fields.ts';
import { QUESTION_TAG } from '../turn/claim.ts';

export interface AskedQuestion {
  readonly story: string;
  readonly question: string;
  /** In which it was asked. */
  readonly iteration: number;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
  /** undefined: nobody has answered. */
  readonly answer?: string;
  /** The message that brought the answer. */
  readonly message?: string;
}

type Asked = Extract<RunEvent, { readonly type: 'question-asked' }>;
type Answered = Extract<RunEvent, { readonly type: 'question-answered' }>;

/** An iteration that is judged again has asked before. */
export function afterQuestion(
  asked: readonly AskedQuestion[] = [],
  { time, ...event }: Asked & { readonly time: number },
): readonly AskedQuestion[] {
  if (asked.some(({ iteration }) => iteration === event.iteration)) return asked;
  return [...asked, { ...pick(event, 'story', 'question', 'iteration'), askedAt: time }];
}

export function afterAnswer(
  asked: readonly AskedQuestion[] = [],
  { story, answer, message }: Pick<Answered, 'story' | 'answer' | 'message'>,
): readonly AskedQuestion[] {
  return asked.map(each => (each.story === story && isOpen(each) ? { ...each, answer, message } : each));
}

export function isOpen({ answer }: AskedQuestion): boolean {
  return answer === undefined;
}

export function openQuestions(asked: readonly AskedQuestion[] = []): readonly AskedQuestion[] {
  return asked.filter(isOpen);
}

/** `US-002 asks: Which format?` */
export function questionWords({ story, question }: Pick<AskedQuestion, 'story' | 'question'>): string {
  return `${story} asks: ${question}`;
}

export interface DecidedQuestion {
  readonly question: string;
  readonly answer: string;
}

/** What the user has decided, for a prompt. */
export function decidedLines(decided: readonly DecidedQuestion[]): readonly string[] {
  return decided.map(({ question, answer }) => `- Question: ${question}\n  Answer: ${answer.trim()}`);
}

/** An agent whose whole output is plain text may print its prompt back: to it the tag is described. */
export function askWords(isPlain = false): string {
  return isPlain
    ? 'in a tag named question (as in HTML)'
    : `like this: <${QUESTION_TAG}>your question</${QUESTION_TAG}>`;
}

/** How to answer it, as a command. */
export function answerCommand(story: string): string {
  return `ralph answer ${story} "…"`;
}

/** Why a run that waited long enough stops. `isAlone`: it has no stories, but one task. */
export function unansweredWords(open: readonly AskedQuestion[], isAlone = false): string {
  const [first] = open;
  const what = open.map(questionWords).join(' ');
  const why = isAlone ? 'Nobody has answered yet.' : 'No other story is ready, and nobody has answered.';
  return `${why} ${what} To continue: ${answerCommand(first?.story ?? 'STORY')}, then resume the run.`;
}
