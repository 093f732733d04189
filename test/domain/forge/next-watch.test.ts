/** What is done next for an issue that is watched: a row for each fact. */
import { expect, test } from 'vitest';
import {
  type IssueFacts,
  type IssueRun,
  type IssueStanding,
  issueMarks,
  labelFor,
  nextForIssue,
  STANDING_LABELS,
  saidBy,
} from '../../../src/domain/forge/next-watch.ts';

const STARTED = issueMarks.started(7, 'me');
const END = (standing: IssueStanding) => issueMarks.end(7, standing);
const ASKED = issueMarks.question('run', 2);
const LINK = issueMarks.link(3);
const FACTS: IssueFacts = {
  wanted: 'yes',
  isChanged: false,
  label: 7,
  said: new Set(),
  isElsewhere: false,
  hasAnswer: false,
};
const RUN: IssueRun = { id: 'run', stand: 'stopped', isProven: false, isFailed: false, hasNews: false };
const ROOM = { slots: 1, hasMoney: true, answers: 4, mostAnswers: 5 };
const FULL = { ...ROOM, slots: 0 };
const POOR = { ...ROOM, hasMoney: false };
const ANSWERED = { ...ROOM, answers: 5 };
const said = (...marks: readonly string[]) => ({ said: new Set(marks) });

type Row = [name: string, facts: Partial<IssueFacts>, run: Partial<IssueRun> | undefined, expected: string];

const ROWS: Row[] = [
  ['new', {}, undefined, 'working: start'],
  ['new, and its label does not count', { wanted: 'refused' }, undefined, 'refused'],
  ['new, and somebody has changed its text', { isChanged: true }, undefined, 'refused'],
  ['another Ralph has it', { isElsewhere: true }, undefined, 'elsewhere'],
  ['the label is gone before anything began', { wanted: 'unlabelled' }, undefined, 'cancelled'],
  ['worked on', said(STARTED), { stand: 'driven' }, 'working'],
  [
    'its pull request is followed',
    said(STARTED, LINK),
    { stand: 'driven', isProven: true, pull: 3 },
    'following',
  ],
  ['its pull request is about to be opened', said(STARTED), { stand: 'driven', isProven: true }, 'following'],
  ['its pull request is new', said(STARTED), { stand: 'driven', pull: 3 }, `following: link ${LINK}`],
  ['worked on, and the label is gone', { wanted: 'unlabelled' }, { stand: 'driven' }, 'cancelled: cancel'],
  ['worked on, and closed', { wanted: 'closed' }, { stand: 'driven' }, 'cancelled: cancel'],
  ['cut off', said(STARTED), { stand: 'cut-off' }, 'working: resume'],
  ['cut off before anything was said', {}, { stand: 'cut-off' }, 'working: resume'],
  ['proven', said(STARTED), { stand: 'proven' }, 'following: follow'],
  ['stopped', said(STARTED), {}, `needs_you: end ${END('needs_you')}`],
  ['stopped, and said', said(STARTED, END('needs_you')), {}, 'needs_you'],
  ['stopped, and the label was set again', said(issueMarks.started(6, 'me')), {}, 'working: resume'],
  ['asks', said(STARTED), { question: 2 }, `asking: question ${ASKED}`],
  ['asks, and has asked', said(STARTED, ASKED), { question: 2 }, 'asking'],
  ['asks, answered', { ...said(STARTED, ASKED), hasAnswer: true }, { question: 2 }, 'asking: answer'],
  [
    'asks, and nobody wants it',
    { ...said(STARTED), wanted: 'unlabelled' },
    { question: 2 },
    `cancelled: end ${END('cancelled')}`,
  ],
  [
    'ready',
    said(STARTED, LINK),
    { stand: 'proven', pull: 3, ended: 'pull_request_ready' },
    `done: end ${END('done')}`,
  ],
  [
    'ready, and said',
    said(STARTED, LINK, END('done')),
    { stand: 'proven', pull: 3, ended: 'pull_request_ready' },
    'done',
  ],
  [
    'ready, and the label was set again',
    said(LINK, issueMarks.end(6, 'done')),
    { stand: 'proven', pull: 3, ended: 'pull_request_ready' },
    'done: follow',
  ],
  [
    'ready, and somebody has written since',
    said(STARTED, LINK, END('done')),
    { stand: 'proven', pull: 3, ended: 'pull_request_ready', hasNews: true },
    'done: follow',
  ],
  [
    'ready, and it is looked at again',
    said(STARTED, LINK, END('done')),
    { stand: 'driven', pull: 3, ended: 'pull_request_ready' },
    'done',
  ],
  [
    'merged, and closed',
    { ...said(STARTED, LINK, END('done')), wanted: 'closed' },
    { stand: 'proven', pull: 3, ended: 'merged' },
    'done',
  ],
  [
    'its pull request was closed',
    said(STARTED, LINK),
    { stand: 'proven', pull: 3, ended: 'pull_request_closed' },
    `cancelled: end ${END('cancelled')}`,
  ],
  [
    'its pull request needs somebody',
    said(STARTED, LINK),
    { stand: 'proven', pull: 3, ended: 'needs_you' },
    `needs_you: end ${END('needs_you')}`,
  ],
  [
    'its pull request needed somebody, and the label was set again',
    said(LINK),
    { stand: 'proven', pull: 3, ended: 'needs_you' },
    'following: follow',
  ],
  [
    'something here is in its way',
    said(STARTED),
    { isFailed: true, stand: 'proven' },
    `needs_you: end ${END('needs_you')}`,
  ],
  [
    'ready after it needed somebody: something here was in its way',
    said(STARTED, LINK, END('needs_you')),
    { stand: 'proven', pull: 3, ended: 'pull_request_ready' },
    `done: end ${END('done')}`,
  ],
  [
    'ready once, and it needs somebody now',
    said(STARTED, LINK, END('done')),
    { stand: 'proven', pull: 3, ended: 'needs_you' },
    `needs_you: end ${END('needs_you')}`,
  ],
  [
    'ready, looked at again, and nobody wants it any more',
    { ...said(STARTED, LINK, END('done')), wanted: 'unlabelled' },
    { stand: 'driven', pull: 3, ended: 'pull_request_ready' },
    'cancelled: cancel',
  ],
  [
    'ready, and its pull request was never linked',
    said(STARTED),
    { stand: 'proven', pull: 3, ended: 'pull_request_ready' },
    `following: link ${LINK}`,
  ],
  [
    'merged, and its driver is about to end',
    said(STARTED, LINK),
    { stand: 'driven', isProven: true, pull: 3, ended: 'merged' },
    'following',
  ],
  [
    'nobody works on its unit yet',
    said(STARTED),
    { stand: 'driven', waits: 'no worker' },
    'waiting: no worker',
  ],
  [
    'stopped before, and the label is gone again before anything began',
    { ...said(issueMarks.started(6, 'me')), wanted: 'unlabelled' },
    {},
    'cancelled',
  ],
  [
    'stopped, and nobody wants it',
    { ...said(STARTED), wanted: 'closed' },
    {},
    `cancelled: end ${END('cancelled')}`,
  ],
  [
    'stopped, and nobody wants it, and said',
    { ...said(STARTED, END('cancelled')), wanted: 'closed' },
    {},
    'cancelled',
  ],
];

function words({ standing, act, why }: ReturnType<typeof nextForIssue>): string {
  if (!act) return why === undefined ? standing : `${standing}: ${why}`;
  return `${standing}: ${act.kind === 'say' ? `${act.what} ${act.mark}` : act.kind}`;
}

test.each(ROWS)('%s', (_, facts, run, expected) => {
  const step = nextForIssue({ ...FACTS, ...facts }, run && { ...RUN, ...run }, ROOM, 'me');
  expect(words(step)).toBe(expected);
});

test.each([
  ['others are worked on', FULL, 'waiting'],
  ['the budget is spent', POOR, 'waiting: the budget is spent'],
])('nothing begins while %s; what has a pull request is followed all the same', (_, room, expected) => {
  expect(words(nextForIssue(FACTS, undefined, room, 'me'))).toBe(expected);
  expect(words(nextForIssue(FACTS, { ...RUN, stand: 'cut-off' }, room, 'me'))).toBe(expected);
  expect(words(nextForIssue(FACTS, { ...RUN, stand: 'proven' }, room, 'me'))).toBe('following: follow');
});

test('an agent that asks again and again is answered so often, then it needs somebody', () => {
  const facts = { ...FACTS, ...said(STARTED, ASKED), hasAnswer: true };
  const step = nextForIssue(facts, { ...RUN, question: 2 }, ANSWERED, 'me');
  expect([words(step), step.why]).toEqual([
    `needs_you: end ${END('needs_you')}`,
    'It asks again after 5 answers. Look at it, then the same command with --review-rounds 8 continues.',
  ]);
});

test.each([
  [STARTED, 'started'],
  [ASKED, 'question'],
  [issueMarks.question('another', 2), undefined],
  [LINK, 'link'],
  [END('done'), 'end'],
  ['status-run', undefined],
])('the mark %s says of this run: %s', (mark, expected) => {
  expect(saidBy(mark, 'run')).toBe(expected);
});

test.each([
  ['waiting', undefined],
  ['working', 'ralph:working'],
  ['following', 'ralph:working'],
  ['asking', 'ralph:needs-you'],
  ['needs_you', 'ralph:needs-you'],
  ['done', 'ralph:done'],
  ['cancelled', undefined],
  ['refused', undefined],
  ['elsewhere', undefined],
] as const)('the label of %s is %s', (standing, label) => {
  expect(labelFor(standing)).toBe(label);
  if (label !== undefined) expect(STANDING_LABELS.includes(label)).toBe(true);
});
