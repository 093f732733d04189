/** What the terminal is asked to do for somebody who has turned away. */
import { expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { createNotify } from '../../src/report/notify.ts';
import { folder } from '../rig/repo.ts';
import { loopResult, RUN_STARTED } from './events.ts';

const STARTED: RunEvent = { ...RUN_STARTED, cwd: '/home/me/my shop' } as RunEvent;

function ended(totalDuration: number, detail: string | null = null): RunEvent {
  return { type: 'run-ended', result: loopResult({ stopReason: 'blocked', totalDuration, detail }) };
}

function terminal(...events: readonly RunEvent[]): string {
  let shown = '';
  const notify = createNotify({
    on: [],
    cwd: '/',
    env: {},
    redact: text => text,
    failed: () => {},
    terminal: text => {
      shown += text;
    },
  });
  for (const event of events) notify.emit(event);
  return shown;
}

test('a long run that ends rings the bell and says so on the desktop', () => {
  expect(terminal(STARTED, ended(30))).toBe(
    '\u001b]9;Ralph, my shop: Stopped: the agent says that it is blocked.\u0007\u0007',
  );
});

test('nobody has turned away from a run of seconds', () => {
  expect(terminal(STARTED, ended(29))).toBe('');
});

test('what an agent says cannot end the notification and begin something else', () => {
  const hostile = terminal(STARTED, ended(99, 'x\u0007\u001b]52;c;cm0=\u0007\ny'));
  expect(hostile.slice(4, -2)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
});

test('a wait for a limit is notified at once, a short retry never', () => {
  const waiting = (trouble: 'rate-limit' | 'transient'): RunEvent => ({
    type: 'waiting',
    agent: 'claude',
    trouble: { class: trouble, message: 'try later' },
    until: 5,
  });
  expect(terminal(STARTED, waiting('rate-limit'))).toContain('Waiting for a limit to reset: try later');
  expect(terminal(STARTED, waiting('transient'))).toBe('');
});

test.each([
  ['a sign that no variable may hold', 'a\0b', 'ab'],
  ['more than a variable may hold', 'x'.repeat(300_000), 'x'.repeat(100)],
  ['something for the terminal', 'a\u001b]0;x\u0007b', 'ab'],
])('what an agent says cannot keep the command from running: %s', async (_, detail, shown) => {
  const { dir, path, read } = folder();
  const failures: string[] = [];
  const notify = createNotify({
    ...{ on: [], cwd: dir, env: process.env, redact: text => text, failed: text => void failures.push(text) },
    command: `printf '%s' "$RALPH_MESSAGE" > '${path('message')}'; cat > '${path('body')}'`,
  });
  notify.emit({ ...RUN_STARTED, cwd: dir, title: detail } as RunEvent);
  notify.emit(ended(99, detail));
  await notify.allSent();
  expect(failures).toEqual([]);
  expect(read('message')).toContain(shown);
  expect(read('message')).not.toMatch(/[\u0000-\u0009\u001b]/);
  expect(JSON.parse(read('body')).title).toBe(detail);
});
