/** What is done next for a pull request: a row for each fact. */
import { describe, expect, test } from 'vitest';
import { afterForgeEvent, type ForgeState, NOTHING_DONE } from '../../../src/domain/forge/forge-state.ts';
import { type ForgeFacts, type ForgeTerms, nextForge } from '../../../src/domain/forge/next.ts';

const GREEN: ForgeFacts = {
  state: 'open',
  isDraft: true,
  branch: 'ours',
  isMergeable: true,
  checks: [{ name: 'test', state: 'green' }],
  isFresh: false,
  requests: [],
  isApproved: false,
  isClear: false,
  contestedBy: [],
};
const TERMS: ForgeTerms = { ciRounds: 2, reviewRounds: 5, ready: false, merge: false };
const RED = { name: 'test', state: 'red' } as const;
const NONE = NOTHING_DONE.rounds;
const NEXT = (flag: string) => `Look at it, then the same command with --${flag} continues.`;
const ASKS = [{ id: 'comment-1', author: 'alice' }];

type Row = [
  name: string,
  facts: Partial<ForgeFacts>,
  action: object,
  terms?: Partial<ForgeTerms>,
  state?: Partial<ForgeState>,
];

const ROWS: Row[] = [
  ['merged', { state: 'merged' }, { kind: 'end', reason: 'merged' }],
  ['closed', { state: 'closed' }, { kind: 'end', reason: 'pull_request_closed' }],
  [
    'the history was rewritten',
    { branch: 'rewritten' },
    {
      kind: 'end',
      reason: 'needs_you',
      detail: `Somebody has rewritten the history of the branch: move it back to ${'2'.repeat(12)}, or continue by hand.`,
    },
    {},
    { pushed: ['1'.repeat(40), '2'.repeat(40)] },
  ],
  [
    'the history was rewritten before Ralph has pushed',
    { branch: 'rewritten' },
    { kind: 'end', detail: 'Somebody has rewritten the history of the branch.' },
  ],
  ['somebody else pushed', { branch: 'ahead' }, { kind: 'take-in' }],
  [
    'somebody else pushed, too often',
    { branch: 'ahead' },
    {
      kind: 'end',
      reason: 'needs_you',
      detail: `Somebody else has pushed to the branch, after 5 rounds for such pushes. ${NEXT('review-rounds 8')}`,
    },
    {},
    { rounds: { ...NONE, foreign: 5 } },
  ],
  [
    'somebody else pushed, and more of it is allowed',
    { branch: 'ahead' },
    { kind: 'take-in' },
    { reviewRounds: 8 },
    { rounds: { ...NONE, foreign: 5 } },
  ],
  [
    'our push is not seen yet',
    { branch: 'late' },
    { kind: 'wait', why: 'the forge has not seen the last push yet' },
  ],
  [
    'a check runs',
    { checks: [RED, { name: 'lint', state: 'running' }] },
    { kind: 'wait', why: 'checks are running: lint' },
  ],
  [
    'a check runs, and somebody asks',
    { checks: [{ name: 'a', state: 'running' }], requests: ASKS },
    { kind: 'wait' },
  ],
  [
    'no check has begun yet',
    { checks: [], isFresh: true },
    { kind: 'wait', why: 'its checks may not have begun yet' },
  ],
  ['there is no check', { checks: [] }, { kind: 'end', reason: 'pull_request_ready' }],
  [
    'nobody knows whether it can be merged',
    { isMergeable: null },
    { kind: 'wait', why: 'the forge is finding out whether it can be merged' },
  ],
  ['a conflict', { isMergeable: false }, { kind: 'merge-base' }],
  [
    'a conflict, too often',
    { isMergeable: false },
    {
      kind: 'end',
      reason: 'needs_you',
      detail: `It still conflicts with its base after 2 rounds. ${NEXT('ci-rounds 5')}`,
    },
    {},
    { rounds: { ...NONE, conflict: 2 } },
  ],
  ['red, ours', { checks: [RED, RED] }, { kind: 'fix-checks', names: ['test'] }],
  ['red, once more', { checks: [RED] }, { kind: 'fix-checks' }, {}, { checkRounds: { test: 1 } }],
  [
    'red, too often',
    { checks: [RED] },
    { kind: 'end', reason: 'needs_you', detail: `Red after 2 rounds: test. ${NEXT('ci-rounds 5')}` },
    {},
    { checkRounds: { test: 2 } },
  ],
  ['red, another was too often', { checks: [RED] }, { kind: 'fix-checks' }, {}, { checkRounds: { lint: 2 } }],
  [
    'red, each time under another name',
    { checks: [RED] },
    {
      kind: 'end',
      reason: 'needs_you',
      detail: `Red after 10 rounds for all checks: test. ${NEXT('ci-rounds 5')}`,
    },
    {},
    { rounds: { ...NONE, checks: 10 } },
  ],
  ...['constructor', '__proto__'].map((name): Row => {
    const round = { type: 'forge-round', why: 'checks', names: [name], words: [], commit: '' } as const;
    const state = [round, round].reduce(afterForgeEvent, NOTHING_DONE);
    return [`red, too often: ${name}`, { checks: [{ ...RED, name }] }, { kind: 'end' }, {}, state];
  }),
  [
    'red after one round',
    { checks: [RED] },
    { kind: 'end', detail: `Red after 1 round: test. ${NEXT('ci-rounds 4')}` },
    { ciRounds: 1 },
    { checkRounds: { test: 1 } },
  ],
  ['red, and no round is allowed', { checks: [RED] }, { kind: 'end', reason: 'needs_you' }, { ciRounds: 0 }],
  ['red on the base as well', { checks: [{ ...RED, redOnBase: true }] }, { kind: 'note', names: ['test'] }],
  [
    'that, said before',
    { checks: [{ ...RED, redOnBase: true }] },
    { kind: 'end', reason: 'pull_request_ready', detail: 'Red on the base as well: test.' },
    {},
    { noted: ['red on the base as well: test'] },
  ],
  [
    'that, and to be merged',
    { checks: [{ ...RED, redOnBase: true }], isDraft: false, isApproved: true },
    { kind: 'end', reason: 'needs_you' },
    { merge: true },
    { noted: ['red on the base as well: test'] },
  ],
  ['somebody asks', { requests: ASKS }, { kind: 'answer', requests: ASKS }],
  [
    'somebody asks, too often',
    { requests: ASKS },
    {
      kind: 'end',
      reason: 'needs_you',
      detail: `alice asks for more after 5 rounds of review. ${NEXT('review-rounds 8')}`,
    },
    {},
    { rounds: { ...NONE, review: 5 } },
  ],
  ['green', {}, { kind: 'end', reason: 'pull_request_ready' }],
  ['green, --ready', {}, { kind: 'mark-ready' }, { ready: true }],
  [
    'green, --ready, no draft',
    { isDraft: false },
    { kind: 'end', reason: 'pull_request_ready' },
    { ready: true },
  ],
  ['green, --merge, a draft', {}, { kind: 'mark-ready' }, { merge: true }],
  [
    'green, --merge, not approved',
    { isDraft: false },
    { kind: 'wait', why: 'nobody has approved this commit, and the forge does not take it as it is' },
    { merge: true },
  ],
  [
    'green, --merge, and nobody has to approve',
    { isDraft: false, isClear: true },
    { kind: 'merge' },
    { merge: true },
  ],
  [
    'green, --merge, and somebody still asks for changes',
    { isDraft: false, isClear: true, isApproved: true, contestedBy: ['alice'] },
    { kind: 'wait', why: 'alice still asks for changes' },
    { merge: true },
  ],
  // Of two that fit, the first row counts.
  [
    'merged, and its branch is gone',
    { state: 'merged', branch: 'rewritten' },
    { kind: 'end', reason: 'merged' },
  ],
  [
    'somebody else pushed, and a check runs',
    { branch: 'ahead', checks: [{ name: 'a', state: 'running' }] },
    { kind: 'take-in' },
  ],
  [
    'a conflict, and a check runs',
    { isMergeable: false, checks: [{ name: 'a', state: 'running' }] },
    { kind: 'wait' },
  ],
  ['a conflict, and red', { isMergeable: false, checks: [RED] }, { kind: 'merge-base' }],
  ['red, and somebody asks', { checks: [RED], requests: ASKS }, { kind: 'fix-checks' }],
  [
    'green, and red on the base alone',
    { checks: [{ ...RED, state: 'green', redOnBase: true }], isDraft: false, isApproved: true },
    { kind: 'merge' },
    { merge: true },
  ],
  ['green, --merge, approved', { isDraft: false, isApproved: true }, { kind: 'merge' }, { merge: true }],
];

describe('what is done next when', () => {
  test.each(ROWS)('%s', (_, facts, action, terms = {}, state = {}) => {
    const next = nextForge({ ...NOTHING_DONE, ...state }, { ...GREEN, ...facts }, { ...TERMS, ...terms });
    expect(next).toMatchObject(action);
  });
});

test('what was done is folded from the ledger; what is no commit is none', () => {
  const [C1, C2] = ['1'.repeat(40), '2'.repeat(64)];
  const events = [
    { type: 'forge-started', act: 'push', what: 'b', commit: C1 },
    { type: 'forge-started', act: 'push', what: 'b', commit: '--output=x' },
    { type: 'forge', act: 'push', outcome: 'done', detail: 'b', commit: C1 },
    { type: 'forge', act: 'push', outcome: 'done', detail: 'b', commit: '--upload-pack=x' },
    { type: 'forge', act: 'open', outcome: 'done', detail: '', number: 3, address: 'https://x/3' },
    { type: 'forge', act: 'push', outcome: 'failed', detail: 'no', commit: 'c9' },
    { type: 'forge-round', why: 'checks', names: ['test', 'lint'], words: [], commit: C1 },
    { type: 'forge-round', why: 'checks', names: ['test'], words: [], commit: C1 },
    { type: 'forge-round', why: 'review', names: ['alice'], words: ['comment-1'], commit: C1 },
    { type: 'forge-round', why: 'conflict', names: ['main'], words: [], commit: C1, merge: C2 },
    { type: 'forge-round', why: 'foreign', names: [], words: [], commit: C1, merge: '--output=x' },
    { type: 'forge-ended', reason: 'needs_you', detail: 'x' },
    { type: 'forge-noted', what: 'red', names: ['b', 'a'] },
  ] as const;
  const state = events.reduce<ForgeState | undefined>(
    (before, event) => afterForgeEvent(before, event),
    undefined,
  );
  expect(state).toEqual({
    begun: [C1],
    ...{ number: 3, address: 'https://x/3', pushed: [C1], checkRounds: { test: 2, lint: 1 } },
    rounds: { checks: 2, review: 1, conflict: 1, foreign: 1 },
    ...{ marked: [C2], heard: ['comment-1'], noted: ['red: a, b'] },
  });
});
