import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { createHumanReporter, type HumanReporterOptions } from '../../src/report/human.ts';
import { DEFAULT_STYLE } from '../../src/report/style.ts';
import { createVerbose } from '../../src/report/verbose.ts';
import { AGENT_STARTED, agent, checkResult, loopResult, RUN_STARTED, toolEnd, toolStart } from './events.ts';

const LIVE = /\x1b\[\?7l(.*?)\x1b\[\?7h/g;
const ITERATION: RunEvent = { type: 'iteration-started', iteration: 1 };
const RUN_ENDED: RunEvent = { type: 'run-ended', result: loopResult() };

/** A terminal whose time and timers the test moves by hand. */
function desk(over: Partial<HumanReporterOptions> = {}) {
  const writes: string[] = [];
  const timers = new Set<{ at: number; run: () => void }>();
  let now = 0;
  const reporter = createHumanReporter({
    write: text => {
      writes.push(text);
    },
    isTTY: true,
    columns: () => 80,
    style: DEFAULT_STYLE,
    clock: () => now,
    streamAgentOutput: true,
    later(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    ...over,
  });
  const pass = (ms: number) => {
    const end = now + ms;
    for (;;) {
      const [next] = [...timers].filter(timer => timer.at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      timers.delete(next);
      now = Math.max(now, next.at);
      next.run();
    }
    now = end;
  };
  const drawn = () => [...writes.join('').matchAll(LIVE)].map(match => match[1]);
  return { reporter, writes, timers, pass, drawn };
}

describe('on a terminal', () => {
  test('lines are printed above the live line, each event in one write', () => {
    const { reporter, writes, pass } = desk();
    reporter.emit(RUN_STARTED);
    pass(100);
    writes.length = 0;
    reporter.emit(ITERATION);
    const title = `── Iteration 1 of 10 ${'─'.repeat(59)}`;
    expect(writes).toEqual([`\r\x1b[J\n${title}\n\x1b[?7lIteration 1/10 · preparing · 0s\x1b[?7h`]);
  });

  test('a terminal without a size gets lines as long as a pipe does', () => {
    const { reporter, writes } = desk({ columns: () => 0 });
    reporter.emit(RUN_STARTED);
    reporter.emit({ type: 'run-ended', result: loopResult() });
    expect(writes.join('')).toContain('\n  Stop reason: promise_accepted (exit code 0)\n');
  });

  test('the clock ticks once a second, without an event', () => {
    const { reporter, drawn, pass } = desk();
    reporter.emit(RUN_STARTED);
    pass(3_500);
    expect(drawn()).toEqual(['preparing · 0s', 'preparing · 1s', 'preparing · 2s', 'preparing · 3s']);
  });

  test('after a burst the line catches up by itself', () => {
    const { reporter, drawn, pass } = desk();
    for (const event of [RUN_STARTED, ITERATION, AGENT_STARTED, toolStart('1', 'Read', 'a.ts')])
      reporter.emit(event);
    expect(drawn()).toHaveLength(1);
    pass(60);
    expect(drawn().at(-1)).toBe('Iteration 1/10 · Read(a.ts) · 0s');
  });

  test('a flood is written line by line but not redrawn for each', () => {
    let lines = 0;
    let redraws = 0;
    let now = 0;
    const reporter = createHumanReporter({
      write: text => {
        lines += text.includes('⏺ Read') ? 1 : 0;
        redraws += text.includes('\x1b[?7l') ? 1 : 0;
      },
      isTTY: true,
      columns: () => 80,
      style: DEFAULT_STYLE,
      clock: () => now,
      streamAgentOutput: true,
      later: () => () => {},
    });
    reporter.emit(RUN_STARTED);
    for (let at = 0; at < 100_000; at++) {
      now = at / 100; // the flood lasts a second
      reporter.emit(
        at % 2 === 0 ? toolStart('x', 'Read', 'a.ts') : agent({ kind: 'text', text: 'word ', delta: true }),
      );
    }
    reporter.close();
    expect(lines).toBe(50_000);
    expect(redraws).toBeLessThanOrEqual(21);
  });

  test('the line is erased over all its rows when the terminal became narrower', () => {
    let columns = 80;
    const { reporter, writes, pass } = desk({ columns: () => columns });
    for (const event of [RUN_STARTED, ITERATION, toolStart('1', 'Bash', 'npm test -- --run test/report')])
      reporter.emit(event);
    pass(60);
    columns = 30;
    writes.length = 0;
    pass(1_000);
    expect(writes[0]).toMatch(/^\r\x1b\[1A\x1b\[J\x1b\[\?7l/);
    expect(writes[0]).toContain('1/10 · Bash(npm test --… · 1s');
  });

  test('the end takes the live line away, prints the summary and stops the clock', () => {
    const { reporter, writes, timers, pass } = desk();
    reporter.emit(RUN_STARTED);
    writes.length = 0;
    reporter.emit(RUN_ENDED);
    reporter.close();
    reporter.close();
    pass(5_000);
    expect(timers.size).toBe(0);
    expect(writes.join('')).toMatch(/^\r\x1b\[J\nDone: .*\n\n {2}Run: /);
    expect(writes.join('')).toMatch(/\n {2}Stop reason: promise_accepted \(exit code 0\)\n$/);
  });

  test('a check is one line: while it runs it is the live line, then its result stays', () => {
    const { reporter, writes, drawn, pass } = desk();
    for (const event of [RUN_STARTED, ITERATION]) reporter.emit(event);
    pass(100);
    writes.length = 0;
    reporter.emit({ type: 'check-started', index: 0, command: 'npm test' });
    pass(2_000);
    expect(drawn().at(-1)).toContain('guardrail npm test');
    reporter.emit({ type: 'check-ended', result: checkResult() });
    const stays = writes.join('').replace(LIVE, '').replaceAll('\r\x1b[J', '');
    expect(stays).toMatch(/^\n❌ Guardrail "npm test" failed with exit code 1/);
    expect(stays.match(/npm test"/g)).toHaveLength(1);
  });

  test('a run that is cut off keeps the words that had come in', () => {
    const { reporter, writes } = desk();
    reporter.emit(RUN_STARTED);
    reporter.emit(agent({ kind: 'text', text: 'half a sent', delta: true }));
    reporter.close();
    expect(writes.join('')).toMatch(/\r\x1b\[J\nhalf a sent\n$/);
  });

  test('an event after the end is still a line', () => {
    const { reporter, writes } = desk();
    reporter.close();
    reporter.emit({ type: 'notice', level: 'info', text: 'late' });
    expect(writes).toEqual(['· late\n']);
  });
});

describe('without a terminal', () => {
  test('there are whole lines and no escape', () => {
    const { reporter, writes, timers } = desk({ isTTY: false });
    for (const event of [RUN_STARTED, ITERATION, AGENT_STARTED, toolStart('1', 'Read', 'a.ts'), RUN_ENDED])
      reporter.emit(event);
    expect(writes.join('')).not.toContain('\x1b');
    expect(writes.every(text => text.endsWith('\n'))).toBe(true);
    expect(timers.size).toBe(0);
  });
});

describe('choices', () => {
  const RUN = [
    RUN_STARTED,
    ITERATION,
    AGENT_STARTED,
    toolStart('1', 'Read', 'a.ts'),
    toolEnd('1', 'x'),
    RUN_ENDED,
  ];

  test('quiet shows the final block and nothing else', () => {
    const { reporter, writes } = desk({ quiet: true });
    for (const event of RUN) reporter.emit(event);
    reporter.close();
    expect(writes).toHaveLength(1);
    expect(writes[0]).toMatch(/^Done: /);
  });

  test('without the stream of the agent the loop and its trouble are still shown', () => {
    const { reporter, writes } = desk({ isTTY: false, streamAgentOutput: false });
    for (const event of RUN) reporter.emit(event);
    reporter.emit(
      agent({ kind: 'trouble', retrying: true, trouble: { class: 'transient', message: 'overloaded' } }),
    );
    expect(writes.join('')).toContain('── Iteration 1 of 10');
    expect(writes.join('')).toContain('🔁 Temporary error: overloaded');
    expect(writes.join('')).not.toContain('Read');
  });

  test('verbose lines come before the lines of their event', () => {
    const { reporter, writes } = desk({ isTTY: false, verbose: createVerbose(() => 0) });
    reporter.emit(RUN_STARTED);
    reporter.emit(agent({ kind: 'text', text: 'some words', delta: true }));
    reporter.emit({ type: 'check-started', index: 0, command: 'npm test' });
    expect(writes.at(-1)).toBe(
      '\nsome words\n[ralph] Running guardrail: npm test\n\n⏺ Guardrail "npm test"\n',
    );
  });
});
