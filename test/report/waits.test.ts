import { expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { createFormatter } from '../../src/report/format.ts';
import { timeOfDay } from '../../src/report/numbers.ts';
import { DEFAULT_STYLE } from '../../src/report/style.ts';
import { roundId } from '../../src/store/inbox.ts';
import { AGENT_STARTED } from './events.ts';

const now = new Date(2026, 10, 15, 14, 30).getTime();
const HOUR = 3_600_000;
const trouble = { class: 'rate-limit', message: 'no' } as const;

test.each<[string, RunEvent]>([
  [
    '🔁 claude: rate limit. Retrying in 1h45m (16:15)',
    { type: 'waiting', agent: 'claude', trouble, until: now + 1.75 * HOUR },
  ],
  [
    '🔁 claude: rate limit. Retrying in 40s',
    { type: 'waiting', agent: 'claude', trouble, until: now + 40_000 },
  ],
  [
    '🔁 claude: rate limit. Retrying in 0s',
    { type: 'waiting', agent: 'claude', trouble, until: now - 40_000 },
  ],
  ['🔁 Retrying (attempt 2)', { ...AGENT_STARTED, attempt: 2 } as RunEvent],
  [
    '🔄 claude is rate-limited until 16:30: using codex',
    { type: 'agent-switched', from: 'claude', to: 'codex', why: 'limited', until: now + 2 * HOUR },
  ],
  [
    '🔄 claude is rate-limited: using codex',
    { type: 'agent-switched', from: 'claude', to: 'codex', why: 'limited' },
  ],
  [
    '🔄 claude is available again: using it',
    { type: 'agent-switched', from: 'codex', to: 'claude', why: 'free-again' },
  ],
  ['❗ Paused. Continue: `ralph continue`', { type: 'paused' }],
  ['🔄 Continued', { type: 'continued' }],
  [
    '· Hint from the user: look at a.ts',
    { type: 'hint-delivered', iteration: 2, hint: '1', text: 'look at\na.ts' },
  ],
  [
    '· For the pull request: look at a.ts',
    { type: 'hint-delivered', iteration: 2, hint: roundId('0123abcd'), text: 'look at\na.ts' },
  ],
  ...(['ready', 'merge', 'reply'] as const).map((act, at): [string, RunEvent] => {
    const words = [
      'Marked the pull request as ready: #7',
      'Merged the pull request: #7',
      'Replied in the review',
    ];
    const detail = act === 'reply' ? 'thread-101' : '7';
    return [`· ${words[at]}`, { type: 'forge', act, outcome: 'done', detail }];
  }),
])('%s', (line, event) => {
  expect(createFormatter({ ...DEFAULT_STYLE, color: false }).lines(event, now)).toEqual([line]);
});

test('a time that is not within a day has its date', () => {
  expect([timeOfDay(now, now), timeOfDay(now + 48 * HOUR, now)]).toEqual(['14:30', '2026-11-17 14:30']);
});

test('trouble that an agent tells in two records is shown once', () => {
  const formatter = createFormatter({ ...DEFAULT_STYLE, color: false });
  const told: RunEvent = { type: 'agent', event: { kind: 'trouble', trouble, retrying: false } };
  expect([formatter.lines(told, now).length, formatter.lines(told, now)]).toEqual([1, []]);
  formatter.lines(AGENT_STARTED, now);
  expect(formatter.lines(told, now).at(-1)).toContain('Rate limit');
});
