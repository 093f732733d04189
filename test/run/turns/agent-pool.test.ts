/** The agents of a run in their order, and who of them should work now. */
import { describe, expect, test } from 'vitest';
import { findAdapter } from '../../../src/agents/registry.ts';
import { createRoster, currentAgent, speaksPlainly } from '../../../src/run/turns/agent-pool.ts';
import { functionAgent, MINUTE, NOW } from './world.ts';

const agent = (name: string) => functionAgent(name, async () => undefined);
const [one, two, three] = [agent('one'), agent('two'), agent('three')];

describe('who should work', () => {
  test.each<[string, readonly [number, number, number], number]>([
    ['the most preferred one', [0, 0, 0], 0],
    ['the next one while the first is limited', [NOW + MINUTE, 0, 0], 1],
    ['the last one while all before it are limited', [NOW + MINUTE, NOW + MINUTE, 0], 2],
    ['the first again from the moment on at which its limit ends', [NOW, 0, 0], 0],
    ['the one that works now, when nobody is free', [NOW + 1, NOW + 1, NOW + 1], 2],
  ])('%s', (_, limits, index) => {
    const roster = createRoster([one, two, three]);
    roster.use(2);
    for (const [at, until] of limits.entries()) roster.limit(at, until);
    expect(roster.pick(NOW)).toBe(index);
    expect(roster.pick(NOW + 2 * MINUTE)).toBe(0);
  });

  test('limits from before a resumption count, by name', () => {
    expect(createRoster([one, two], { one: NOW + MINUTE }).pick(NOW)).toBe(1);
  });

  test('an agent without a fallback tries at once after a resumption: its limit may be over', () => {
    expect(createRoster([one], { one: NOW + MINUTE }).limits()).toEqual([0]);
  });
});

test('limits in a row are counted by agent, and begin anew when it has worked', () => {
  const roster = createRoster([one, two]);
  expect([roster.met(0), roster.met(0), roster.met(1)]).toEqual([1, 2, 1]);
  roster.worked(0);
  expect([roster.met(0), roster.met(1)]).toEqual([1, 2]);
});

test('the current one is the one that was last put to use', () => {
  const roster = createRoster([one, two]);
  expect(currentAgent(roster).name).toBe('one');
  roster.use(1);
  expect(currentAgent(roster).name).toBe('two');
});

describe('plain text is spoken', () => {
  const claude = { ...one, function: undefined, adapter: findAdapter('claude') };
  const other = { ...one, function: undefined, adapter: findAdapter('my-agent') };
  test.each([
    ['by nobody who has a stream', [claude], true, false],
    ['by everybody where the stream is off', [claude], false, true],
    ['by an agent that Ralph does not know, also as a fallback', [claude, other], true, true],
    ['never by a function', [one], false, false],
  ] as const)('%s', (_, [first, ...rest], streamAgentOutput, isPlain) => {
    const plain = ({ function: _run, ...chosen }: typeof first) => chosen;
    const agents = [first, ...rest].map(each => (each.function ? each : plain(each)));
    const roster = createRoster(agents as [typeof one, ...(typeof one)[]]);
    expect(speaksPlainly(roster, { streamAgentOutput })).toBe(isPlain);
  });
});
