/** Secrets in what an agent's stream says, where an adapter cuts it. */
import { expect, test } from 'vitest';
import { progressEvents, readLine, refusedEvents, toolEnd, toolStart } from '../../src/agents/events.ts';
import { createRedaction } from '../../src/agents/reader.ts';
import { createRedactor } from '../../src/domain/text/secrets.ts';
import type { AgentEvent } from '../../src/domain/turn/agent-event.ts';

const SECRET = 'Zq8first-secret-value-9f3';
const redact = createRedactor({ SHOP_API_TOKEN: SECRET });

function entered(events: readonly AgentEvent[]): string {
  const heard: AgentEvent[] = [];
  const redaction = createRedaction(redact, event => void heard.push(event));
  for (const event of events) redaction.enter(event);
  redaction.end();
  return JSON.stringify(heard);
}

/** By what is cut, and after how many signs. */
const CUTS: Readonly<Record<string, readonly [number, (text: string) => readonly AgentEvent[]]>> = {
  'the output of a tool': [2_000, text => [toolEnd({ id: '1', ok: true, text })]],
  'what a tool is called with': [199, command => toolStart({ id: '1', name: 'Bash', input: { command } })],
  'what a tool is called with, as JSON': [199, x => toolStart({ id: '1', name: 'Bash', input: { x } })],
  'a line about progress': [199, progressEvents],
  'why a tool was refused': [199, why => refusedEvents({ id: '1' }, why)],
  'a line that is no record': [199, line => readLine(line, {})],
};

test.each(Object.entries(CUTS))('no part of one is left at the end of %s', (_, [length, events]) => {
  const places = Array.from({ length: 2 * SECRET.length }, (_, back) => length - back);
  const left = places.filter(place => {
    const before = `${'see here '.repeat(length).slice(0, place - 1)} `;
    return entered(events(`${before}${SECRET}${' and more'.repeat(300)}`)).includes(SECRET.slice(0, 4));
  });
  expect(left).toEqual([]);
});

test('what is cut stays otherwise as it was', () => {
  const [event] = toolStart({ id: '1', name: 'Bash', input: { command: 'a few words '.repeat(30) } });
  expect(entered(event ? [event] : [])).toContain(`${'a few words '.repeat(16)}a few …`);
});
