/** What an agent of `ralph prd` asks the user: its story waits for the answer, and every later prompt of the story holds it. */
import type { RunEvent } from '../run/event.ts';
import { pick } from '../text/fields.ts';

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

/** How to answer it, as a command. */
export function answerCommand(story: string): string {
  return `ralph answer ${story} "…"`;
}

/** Why a run that waited long enough stops. */
export function unansweredWords(open: readonly AskedQuestion[]): string {
  const [first] = open;
  const what = open.map(questionWords).join(' ');
  return `No other story is ready, and nobody has answered. ${what} To continue: ${answerCommand(first?.story ?? 'STORY')}, then resume the run.`;
}
