/** Questions to the user in `ralph prd run`: the story that asks waits, the others continue. */
import type { Settings } from '../config/settings-shape.ts';
import type { Emit } from '../domain/run/event.ts';
import type { RunState } from '../domain/run/state.ts';
import { isDone, type ReviewPolicy } from '../domain/stories/assignment.ts';
import type { DecidedQuestion } from '../domain/stories/prompt.ts';
import { openQuestions, unansweredWords } from '../domain/stories/questions.ts';
import type { Steering } from '../engine/steering.ts';
import type { Steps } from '../engine/steps.ts';
import type { Clock } from '../platform/clock.ts';
import type { StoryKeeper } from './keeper.ts';

interface QuestionParts {
  readonly settings: Pick<Settings, 'maxQuestionWait'> & ReviewPolicy;
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

/** Who resumes a run has the whole wait again. */
export function createReady(parts: QuestionParts, keeper: StoryKeeper): Required<Steps>['ready'] {
  const { settings, steering, clock, past } = parts;
  const began = clock.now();
  return () => {
    steering.takeAnswers();
    if (keeper.isReady()) return 'yes';
    const open = openQuestions(past().questions);
    const since = Math.max(began, ...open.map(({ askedAt }) => askedAt));
    if (clock.now() - since < settings.maxQuestionWait * 1000) return 'wait';
    return { reason: 'blocked', detail: unansweredWords(open) };
  };
}

/** After a turn: whether it asked. Whoever reviews decides, and a story that is done has nothing left to ask. */
export function noteQuestion({ past, emit, settings }: QuestionParts, keeper: StoryKeeper): boolean {
  const { turn, number: iteration } = past().open ?? {};
  const { mode, story: assigned } = keeper.assignment();
  const story = keeper.list().userStories.find(({ id }) => id === assigned?.id);
  const { question, outcome } = turn ?? {};
  if (question === undefined || iteration === undefined || outcome?.kind !== 'completed') return false;
  if (mode === 'review' || !story || isDone(story, settings)) return false;
  const isKnown = past().questions?.some(each => each.iteration === iteration);
  if (!isKnown) emit({ type: 'question-asked', iteration, story: story.id, question });
  return true;
}
