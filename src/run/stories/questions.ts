/** Questions to the user: the story that asks waits, the others continue; a run with one task waits with it. */
import type { Settings } from '../../config/settings-shape.ts';
import type { Emit } from '../../domain/run/event.ts';
import type { RunState } from '../../domain/run/state.ts';
import { isDone, type ReviewPolicy } from '../../domain/stories/assignment.ts';
import { type DecidedQuestion, openQuestions, unansweredWords } from '../../domain/stories/questions.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Steering } from '../steering.ts';
import type { Steps } from '../steps.ts';
import type { StoryKeeper } from './keeper.ts';

interface QuestionParts {
  readonly settings: Pick<Settings, 'maxQuestionWait'>;
  readonly steering: Pick<Steering, 'takeAnswers'>;
  readonly clock: Clock;
  readonly emit: Emit;
  past(): RunState;
}

/** Ids of stories that wait for an answer. */
export function askingStories({ past }: Pick<QuestionParts, 'past'>): ReadonlySet<string> {
  return new Set(openQuestions(past().questions).map(({ story }) => story));
}

/** What the user has decided for a story, oldest first. */
export function decisionsOf({ past }: Pick<QuestionParts, 'past'>, story: string | undefined) {
  return (past().questions ?? []).flatMap((each): readonly DecidedQuestion[] =>
    each.story === story && each.answer !== undefined ? [{ ...each, answer: each.answer }] : [],
  );
}

/** Who resumes a run has the whole wait again. Without a keeper it has one task, and whoever started it brings the answer: nobody waits. */
export function createReady(
  { settings, steering, clock, past }: QuestionParts,
  keeper?: Pick<StoryKeeper, 'isReady'>,
): Required<Steps>['ready'] {
  const began = clock.now();
  const longest = keeper ? settings.maxQuestionWait * 1000 : 0;
  return () => {
    steering.takeAnswers();
    const open = openQuestions(past().questions);
    if (keeper ? keeper.isReady() : open.length === 0) return 'yes';
    const since = Math.max(began, ...open.map(({ askedAt }) => askedAt));
    if (clock.now() - since < longest) return 'wait';
    return { reason: 'blocked', detail: unansweredWords(open, !keeper) };
  };
}

/** Whoever reviews decides, and a story that is done has nothing left to ask. */
export function mayAsk(keeper: StoryKeeper, policy: ReviewPolicy): string | undefined {
  const { mode, story: assigned } = keeper.assignment();
  const story = keeper.list().userStories.find(({ id }) => id === assigned?.id);
  return mode === 'review' || !story || isDone(story, policy) ? undefined : story.id;
}

/** After a turn: whether it asked. `story`: for what; undefined: it may not. */
export function noteQuestion(
  { past, emit }: Pick<QuestionParts, 'past' | 'emit'>,
  story: string | undefined,
): boolean {
  const { turn, number: iteration } = past().open ?? {};
  const { question, outcome } = turn ?? {};
  if (question === undefined || iteration === undefined || outcome?.kind !== 'completed') return false;
  if (story === undefined) return false;
  const isKnown = past().questions?.some(each => each.iteration === iteration);
  if (!isKnown) emit({ type: 'question-asked', iteration, story, question });
  return true;
}
