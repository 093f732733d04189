/** How an agent asks the user, what waits meanwhile, and how long. */
import { describe, expect, test } from 'vitest';
import type { EndedTurn } from '../../../src/domain/run/event.ts';
import type { Story } from '../../../src/domain/stories/story.ts';
import { createReady, decisionsOf, mayAsk, noteQuestion } from '../../../src/run/stories/questions.ts';
import { STATES, story } from '../../domain/stories/stories.ts';
import { only } from '../../rig/ledger.ts';
import { change } from '../../rig/stories.ts';
import { MINUTE } from '../turns/world.ts';
import { FAIR, keeping, POLICY } from './world.ts';

const WAIT = 10; // seconds

const ASKS = { question: 'Which format?' };

/** An iteration has begun, and its turn is over. `answers`: what the user has sent by then. */
function asked(stories: readonly Story[], turn: Partial<EndedTurn> = ASKS, policy = POLICY) {
  const answers: [story: string, text: string][] = [];
  const world = keeping(stories, { policy });
  const { emit, past, clock, keeper } = world;
  const begin = (iteration: number) => {
    const { mode, story: chosen } = keeper.begin();
    emit({ type: 'iteration-started', iteration, mode, ...(chosen && { story: chosen.id }) });
    return chosen?.id;
  };
  begin(1);
  const ended: EndedTurn = {
    ...{ outcome: { kind: 'completed' }, claim: { found: false }, steps: 1, toolCalls: 1 },
    ...{ usage: { costSource: 'unknown' } },
    ...turn,
  };
  emit({ type: 'turn-ended', ...ended });
  const steering = {
    takeAnswers() {
      for (const [id, answer] of answers.splice(0))
        emit({ type: 'question-answered', story: id, question: '', answer, message: 'm1' });
    },
  };
  const parts = { settings: { maxQuestionWait: WAIT, ...policy }, steering, clock, emit, past };
  return { ...world, parts, answers, begin };
}

describe('a question is noted', () => {
  test('with its story, once', () => {
    const { parts, keeper, events } = asked([story('US-001'), story('US-002')]);
    expect(noteQuestion(parts, mayAsk(keeper, parts.settings))).toBe(true);
    expect(noteQuestion(parts, mayAsk(keeper, parts.settings))).toBe(true); // judged again after a resumption
    expect(only(events, 'question-asked')).toEqual([
      { type: 'question-asked', iteration: 1, story: 'US-001', question: 'Which format?' },
    ]);
  });

  test.each<[string, Story, Partial<EndedTurn>]>([
    ['none was asked', story('US-001'), {}],
    [
      'the turn did not end well',
      story('US-001'),
      { ...ASKS, outcome: { kind: 'ended', by: 'idle-timeout' } },
    ],
    ['it was a review: whoever reviews decides', story('US-001', STATES.waiting), ASKS],
    ['all is done: there is nothing left to ask', story('US-001', STATES.approved), ASKS],
  ])('not where %s', (_, first, turn) => {
    const { parts, keeper, events } = asked([first], turn);
    expect(noteQuestion(parts, mayAsk(keeper, parts.settings))).toBe(false);
    expect(only(events, 'question-asked')).toEqual([]);
  });
});

test('a story that its own turn has finished has nothing left to ask', () => {
  const world = asked([story('US-001')], ASKS, { ...POLICY, skipReview: true });
  world.leaves(change('US-001', { passes: true }));
  world.keeper.applyTurn(1, FAIR);
  world.keeper.applyChecks(1, []);
  expect(noteQuestion(world.parts, mayAsk(world.keeper, world.parts.settings))).toBe(false);
});

describe('while nobody answers', () => {
  test('the others go on, and the one that asked waits', () => {
    const { parts, keeper, begin } = asked([story('US-001'), story('US-002')]);
    noteQuestion(parts, mayAsk(keeper, parts.settings));
    expect(createReady(parts, keeper)()).toBe('yes');
    expect(begin(2)).toBe('US-002');
  });

  test('a run with nothing else to do waits, and stops when it has waited long enough', () => {
    const { parts, keeper, clock } = asked([story('US-001')]);
    noteQuestion(parts, mayAsk(keeper, parts.settings));
    const ready = createReady(parts, keeper);
    clock.pass(WAIT * 1000 - 1);
    expect(ready()).toBe('wait');
    clock.pass(1);
    expect(ready()).toMatchObject({
      reason: 'blocked',
      detail: expect.stringContaining('US-001 asks: Which format? To continue: ralph answer US-001'),
    });
  });

  test('the wait begins with the last question, or with a resumption', () => {
    const { parts, keeper, clock } = asked([story('US-001')]);
    noteQuestion(parts, mayAsk(keeper, parts.settings));
    clock.pass(MINUTE);
    const resumed = createReady(parts, keeper);
    expect(resumed()).toBe('wait');
  });
});

test('a run with one task does not wait: whoever started it brings the answer', () => {
  const { parts, answers } = asked([story('US-001')]);
  expect(noteQuestion(parts, undefined)).toBe(false);
  expect(noteQuestion(parts, 'issue-12')).toBe(true);
  expect(createReady(parts)()).toEqual({
    reason: 'blocked',
    detail:
      'Nobody has answered yet. issue-12 asks: Which format? To continue: ralph answer issue-12 "…", then resume the run.',
  });
  answers.push(['issue-12', 'JSON']);
  expect(createReady(parts)()).toBe('yes');
});

describe('an answer', () => {
  test('is taken before the run decides to wait, and its story goes on', () => {
    const { parts, keeper, answers, begin } = asked([story('US-001')]);
    noteQuestion(parts, mayAsk(keeper, parts.settings));
    const ready = createReady(parts, keeper);
    expect(ready()).toBe('wait');
    answers.push(['US-001', 'JSON']);
    expect(ready()).toBe('yes');
    expect(begin(2)).toBe('US-001');
  });

  test('is told with the question, to its own story alone', () => {
    const { parts, keeper, answers } = asked([story('US-001'), story('US-002')]);
    noteQuestion(parts, mayAsk(keeper, parts.settings));
    expect(decisionsOf(parts, 'US-001')).toEqual([]);
    answers.push(['US-001', 'JSON']);
    createReady(parts, keeper)();
    expect(decisionsOf(parts, 'US-001')).toMatchObject([{ question: 'Which format?', answer: 'JSON' }]);
    expect(decisionsOf(parts, 'US-002')).toEqual([]);
    expect(decisionsOf(parts, undefined)).toEqual([]);
  });
});
