/** What becomes of a limit on money or tokens with this agent: refused where it could not be kept, else said when it is. */
import { estimatedModel, PRICES_DATE } from '../../agents/prices.ts';
import type { Settings } from '../../config/settings-shape.ts';
import type { Problem } from '../../domain/text/problem.ts';
import type { ChosenAgent } from './choose-agent.ts';

/** Limits on what an agent does not tell cannot bite; better refused than ignored. */
export function limitProblems(settings: Settings, agent: ChosenAgent): readonly Problem[] {
  const { name, adapter } = agent;
  const { reports } = adapter;
  const streams = settings.streamAgentOutput;
  const tokens = reports.tokens !== 'never' && streams;
  const cost = (reports.cost !== 'never' && streams) || (tokens && hasPrices(agent));
  const fix = streams
    ? 'use another agent, or --max-time'
    : 'it only tells while --stream-agent-output is on';
  const priced = tokens && !cost ? 'give its prices in the settings (prices), or use --max-tokens' : fix;
  const problems: Problem[] = [];
  const add = (where: string, unknown: string, fix: string) =>
    problems.push({ where, what: `${name} does not report ${unknown}, so the limit could not be kept`, fix });
  if (settings.maxCost !== undefined && !cost) add('--max-cost', 'what it costs', priced);
  if (settings.maxTokens !== undefined && !tokens) add('--max-tokens', 'its tokens', fix);
  return problems;
}

function hasPrices({ prices, listPrice }: ChosenAgent): boolean {
  return Object.keys(prices).length > 0 || listPrice !== undefined;
}

/** When `--max-cost` stops a run: at once, or only when a turn is over; and by whose word. */
export function costNotices({ maxCost }: Settings, agent: ChosenAgent): readonly string[] {
  const { name, adapter } = agent;
  const { reports } = adapter;
  if (maxCost === undefined || reports.cost === 'step' || agent.function) return [];
  if (!hasPrices(agent)) {
    return [
      `${name} reports its cost when a turn is over: --max-cost can stop the run between two turns, not within one. Give the prices of its model (setting \`prices\`) to have it kept within a turn, too.`,
    ];
  }
  const within =
    reports.tokens === 'step'
      ? '--max-cost is kept within a turn'
      : `${name} reports its tokens when a turn is over: --max-cost can stop the run between two turns, not within one,`;
  const wins =
    reports.cost === 'turn'
      ? `When a turn is over, the cost that ${name} reports counts.`
      : `${name} reports no cost: all of it is an estimate.`;
  return [`${within} by an estimate from its tokens and ${priceWords(agent)}. ${wins}`];
}

function priceWords({ adapter, model, prices }: ChosenAgent): string {
  if (Object.keys(prices).length > 0) return 'your prices';
  const named = estimatedModel(adapter.name, model);
  const assumed = model === undefined ? `${named}, unless it names another model` : named;
  return `the list price of ${assumed} (${PRICES_DATE}; the setting \`prices\` overrides it)`;
}
