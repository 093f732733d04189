/** How a run is steered from outside: the terminal and the dashboard send the same messages. */
import { type AskedQuestion, openQuestions, questionWords } from '../domain/question.ts';
import { readPast } from './checkpoint.ts';
import { type Message, readMessages, sendMessage } from './inbox.ts';
import { overviewOf } from './overview.ts';
import type { RunPaths } from './paths.ts';
import type { LiveRun } from './run-file.ts';

export interface Steered {
  /** One sentence for people. */
  readonly message: string;
  /** Whether it changed anything. */
  readonly done: boolean;
}

export function steerRun({ id, paths }: Pick<LiveRun, 'id' | 'paths'>, order: Message, now: number): Steered {
  const isPaused = pauseIsPending(paths) || overviewOf(id, paths).state === 'paused';
  if (order.kind === 'pause' && isPaused) return { message: `${id} is already paused.`, done: false };
  if (order.kind === 'continue' && !isPaused) return { message: `${id} is not paused.`, done: false };
  const unasked = order.kind === 'answer' ? whyUnasked(paths, order.story) : undefined;
  if (unasked !== undefined) return { message: unasked, done: false };
  sendMessage(paths, order, now);
  return { message: confirmation(id, order), done: true };
}

function confirmation(id: string, order: Message): string {
  switch (order.kind) {
    case 'pause':
      return `${id} will pause after this turn. Continue it with: ralph continue ${id}`;
    case 'continue':
      return `${id} continues.`;
    case 'cancel':
      return `${id} stops ${order.gently ? 'after this step' : 'now'}. Its work is kept.`;
    case 'tell':
      return `Queued for the next iteration of ${id}.`;
    case 'answer':
      return `The answer for ${order.story} is with ${id}: it is in the next prompt of that story.`;
    default:
      return order satisfies never;
  }
}

/** Questions of a run that nobody has answered. */
export function questionsOf(paths: RunPaths): readonly AskedQuestion[] {
  return openQuestions(readPast(paths).past.questions);
}

/** undefined: it has asked. */
function whyUnasked(paths: RunPaths, story: string): string | undefined {
  const open = questionsOf(paths);
  if (open.some(each => each.story === story)) return undefined;
  return [`${story} has no open question.`, ...open.map(questionWords)].join(' ');
}

/** The run has been asked to pause and is still in its turn. */
export function pauseIsPending(paths: Pick<RunPaths, 'state'>): boolean {
  const last = readMessages(paths).findLast(({ kind }) => kind === 'pause' || kind === 'continue');
  return last?.kind === 'pause';
}
