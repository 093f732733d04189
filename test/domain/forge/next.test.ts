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
  ['the history was rewritten', { branch: 'rewritten' }, { kind: 'end', reason: 'needs_you' }],
  ['somebody else pushed', { branch: 'ahead' }, { kind: 'take-in' }],
  ['our push is not seen yet', { branch: 'late' }, { kind: 'wait' }],
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
  ['no check has begun yet', { checks: [], isFresh: true }, { kind: 'wait' }],
  ['there is no check', { checks: [] }, { kind: 'end', reason: 'pull_request_ready' }],
  ['nobody knows whether it can be merged', { isMergeable: null }, { kind: 'wait' }],
  ['a conflict', { isMergeable: false }, { kind: 'merge-base' }],
  [
    'a conflict, too often',
    { isMergeable: false },
    { kind: 'end', reason: 'needs_you' },
    {},
    { conflictRounds: 2 },
  ],
  ['red, ours', { checks: [RED, RED] }, { kind: 'fix-checks', names: ['test'] }],
  ['red, once more', { checks: [RED] }, { kind: 'fix-checks' }, {}, { checkRounds: { test: 1 } }],
  [
    'red, too often',
    { checks: [RED] },
    { kind: 'end', reason: 'needs_you', detail: 'Red after 2 rounds: test.' },
    {},
    { checkRounds: { test: 2 } },
  ],
  ['red, another was too often', { checks: [RED] }, { kind: 'fix-checks' }, {}, { checkRounds: { lint: 2 } }],
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
    { kind: 'end', reason: 'needs_you', detail: 'alice asks for more after 5 rounds of review.' },
    {},
    { reviewRounds: 5 },
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
    { kind: 'wait', why: 'nobody has approved this commit yet' },
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
  ['green, --merge, approved', { isDraft: false, isApproved: true }, { kind: 'merge' }, { merge: true }],
];

describe('what is done next when', () => {
  test.each(ROWS)('%s', (_, facts, action, terms = {}, state = {}) => {
    const next = nextForge({ ...NOTHING_DONE, ...state }, { ...GREEN, ...facts }, { ...TERMS, ...terms });
    expect(next).toMatchObject(action);
  });
});

test('what was done is folded from the ledger', () => {
  const events = [
    { type: 'forge-started', act: 'push', what: 'b' },
    { type: 'forge', act: 'push', outcome: 'done', detail: 'b', commit: 'c1' },
    { type: 'forge', act: 'open', outcome: 'done', detail: '', number: 3, address: 'https://x/3' },
    { type: 'forge', act: 'push', outcome: 'failed', detail: 'no', commit: 'c9' },
    { type: 'forge-round', why: 'checks', names: ['test', 'lint'], words: [], commit: 'c1' },
    { type: 'forge-round', why: 'checks', names: ['test'], words: [], commit: 'c1' },
    { type: 'forge-round', why: 'review', names: ['alice'], words: ['comment-1'], commit: 'c1' },
    { type: 'forge-round', why: 'conflict', names: ['main'], words: [], commit: 'c1', merge: 'm1' },
    { type: 'forge-ended', reason: 'needs_you', detail: 'x' },
    { type: 'forge-noted', what: 'red', names: ['b', 'a'] },
  ] as const;
  const state = events.reduce<ForgeState | undefined>(
    (before, event) => afterForgeEvent(before, event),
    undefined,
  );
  expect(state).toEqual({
    ...{ number: 3, address: 'https://x/3', pushed: ['c1'], checkRounds: { test: 2, lint: 1 } },
    ...{ reviewRounds: 1, conflictRounds: 1, marked: ['m1'], heard: ['comment-1'], noted: ['red: a, b'] },
  });
});
