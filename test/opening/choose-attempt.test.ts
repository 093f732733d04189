/** Which of several proven attempts lands: the one that the reviewer names, else the one that the numbers speak for. */
import { describe, expect, test } from 'vitest';
import { chooseAttempt } from '../../src/opening/choose-attempt.ts';
import type { Attempt } from '../../src/parallel/lane-work.ts';
import type { AgentTurn } from '../../src/run/turns/define-agent.ts';
import { functionAgent, turnWorld } from '../run/turns/world.ts';

const attempt = (lane: string, size: number, score: number | null = null): Attempt => ({
  ...{ lane, head: `c-${lane}`, diff: '+'.repeat(size), cost: 1, score },
});
const BOTH = [attempt('A1', 20), attempt('A2', 10)];

/** What the reviewer says, or does instead. */
async function chosen(attempts: readonly Attempt[], says: string | Error) {
  const turns: AgentTurn[] = [];
  const reviewer = functionAgent('reviewer', async turn => {
    turns.push(turn);
    if (says instanceof Error) throw says;
    return says;
  });
  const { parts } = turnWorld({ agents: [reviewer] });
  const choice = await chooseAttempt(parts, 'Make it faster', attempts);
  return { ...choice, turns, cwd: parts.cwd };
}

test('one that is alone is not compared', async () => {
  const { lane, why, turns } = await chosen([attempt('A1', 20)], '<choice>A2</choice>');
  expect({ lane, why }).toEqual({ lane: 'A1', why: 'it is the only one that is proven' });
  expect(turns).toEqual([]);
});

describe('the reviewer', () => {
  test('names one, and says why', async () => {
    const { lane, why } = await chosen(BOTH, 'It is simpler. <choice>A1</choice>');
    expect({ lane, why }).toEqual({ lane: 'A1', why: 'It is simpler.' });
  });

  test('may think aloud: its last word counts', async () => {
    const { lane } = await chosen(BOTH, 'First <choice>A2</choice>, but then: <choice> A1 </choice>');
    expect(lane).toBe('A1');
  });

  test('sees the task and every change, and works in an empty folder', async () => {
    const { turns, cwd } = await chosen(
      [attempt('A1', 20, 70), attempt('A2', 50_000)],
      '<choice>A1</choice>',
    );
    const [turn] = turns;
    expect(turn?.prompt).toContain('Make it faster');
    expect(turn?.prompt).toContain('## A1\n\nIts checks notice 70 % of the faults');
    expect(turn?.prompt).toContain('… 10000 more characters');
    expect(turn?.cwd).not.toBe(cwd);
  });
});

describe('where the reviewer has no answer', () => {
  test.each<[string, string | Error, readonly Attempt[], string, string]>([
    ['it names none: the smallest change', 'Both are fine.', BOTH, 'A2', 'its change is the smallest'],
    ['it names one that is not there', '<choice>A9</choice>', BOTH, 'A2', 'its change is the smallest'],
    ['it fails', new Error('crash'), BOTH, 'A2', 'its change is the smallest'],
    [
      'the checks of one notice more faults',
      'Hm.',
      [attempt('A1', 20, 90), attempt('A2', 10, 60), attempt('A3', 5)],
      'A1',
      'its checks notice the most faults',
    ],
  ])('%s', async (_, says, attempts, lane, why) => {
    const choice = await chosen(attempts, says);
    expect(choice.lane).toBe(lane);
    expect(choice.why).toBe(`the reviewer named none of them, and ${why}`);
  });
});
