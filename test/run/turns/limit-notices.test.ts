/** A limit on what an agent does not tell is refused, and how one is kept is said before the run begins. */
import { describe, expect, test } from 'vitest';
import type { Reports } from '../../../src/agents/agent.ts';
import { findAdapter } from '../../../src/agents/registry.ts';
import { defaultSettings } from '../../../src/config/settings.ts';
import type { Settings } from '../../../src/config/settings-shape.ts';
import type { ChosenAgent } from '../../../src/run/turns/choose-agent.ts';
import { costNotices, limitProblems } from '../../../src/run/turns/limit-notices.ts';

const PRICES = { '*': { input: 1, output: 2 } };

function agent(reports: Partial<Reports>, more: Partial<ChosenAgent> = {}): ChosenAgent {
  const adapter = findAdapter('claude');
  return {
    adapter: { ...adapter, reports: { cost: 'never', tokens: 'never', toolCalls: true, ...reports } },
    ...{ name: 'claude', command: 'claude', prefix: [], flags: [], prices: {}, why: '' },
    ...more,
  };
}

const settings = (more: Partial<Settings>): Settings => ({ ...defaultSettings('run'), ...more });

describe('a limit is refused', () => {
  type Case = [string, Partial<Settings>, ChosenAgent, readonly (readonly [string, string])[]];
  const other = 'use another agent, or --max-time';
  const stream = 'it only tells while --stream-agent-output is on';
  const prices = 'give its prices in the settings (prices), or use --max-tokens';
  test.each<Case>([
    ['never without a limit', {}, agent({}), []],
    ['on money, of an agent that tells nothing', { maxCost: 1 }, agent({}), [['--max-cost', other]]],
    ['on tokens, of an agent that tells nothing', { maxTokens: 1 }, agent({}), [['--max-tokens', other]]],
    ['not on money, where it tells its cost', { maxCost: 1 }, agent({ cost: 'turn' }), []],
    [
      'on money, where it tells its tokens and nobody knows a price',
      { maxCost: 1 },
      agent({ tokens: 'turn' }),
      [['--max-cost', prices]],
    ],
    [
      'not on money, where it tells its tokens and the user knows the price',
      { maxCost: 1 },
      agent({ tokens: 'turn' }, { prices: PRICES }),
      [],
    ],
    [
      'on money, where prices are known and tokens are not',
      { maxCost: 1 },
      agent({}, { prices: PRICES }),
      [['--max-cost', other]],
    ],
    [
      'on both, while the stream is off',
      { maxCost: 1, maxTokens: 1, streamAgentOutput: false },
      agent({ cost: 'step', tokens: 'step' }),
      [
        ['--max-cost', stream],
        ['--max-tokens', stream],
      ],
    ],
  ])('%s', (_, limits, chosen, problems) => {
    const found = limitProblems(settings(limits), chosen);
    expect(found.map(({ where, fix }) => [where, fix])).toEqual(problems);
  });
});

describe('when --max-cost bites', () => {
  const notice = (chosen: ChosenAgent) => costNotices(settings({ maxCost: 5 }), chosen)[0];
  test.each<[string, ChosenAgent, readonly string[]]>([
    [
      'between two turns, where the cost comes at the end of one',
      agent({ cost: 'turn' }),
      ['between two turns, not within one. Give the prices'],
    ],
    [
      'within a turn, by an estimate that the agent corrects',
      agent({ cost: 'turn', tokens: 'step' }, { prices: PRICES }),
      [
        '--max-cost is kept within a turn by an estimate',
        'your prices',
        'the cost that claude reports counts',
      ],
    ],
    [
      'between two turns, by an estimate alone',
      agent({ tokens: 'turn' }, { prices: PRICES }),
      [
        'between two turns, not within one, by an estimate',
        'claude reports no cost: all of it is an estimate',
      ],
    ],
    [
      'by a list price that is named',
      agent({ tokens: 'step' }, { model: 'opus', listPrice: () => PRICES['*'] }),
      ['the list price of opus'],
    ],
  ])('%s', (_, chosen, words) => {
    for (const part of words) expect(notice(chosen)).toContain(part);
  });

  test('is not said where it bites at once, or where there is none', () => {
    expect(notice(agent({ cost: 'step' }))).toBeUndefined();
    expect(costNotices(settings({}), agent({ cost: 'turn' }))).toEqual([]);
  });
});
