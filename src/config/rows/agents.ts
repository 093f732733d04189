/** Which agent runs, with which model and permissions. */
import { ADAPTERS, PREFERRED, PROTOCOLS } from '../../agents/registry.ts';
import { amount, choice, either, list, modelName, named, object, text, words } from '../kinds.ts';
import { both, type Setting } from '../setting.ts';

const price = object({
  input: { kind: amount({ min: 0 }), required: true, help: 'Dollars for a million input tokens.' },
  output: { kind: amount({ min: 0 }), required: true, help: 'Dollars for a million output tokens.' },
  cacheRead: {
    kind: amount({ min: 0 }),
    help: 'Dollars for a million tokens read from the cache; else as input.',
  },
  cacheWrite: {
    kind: amount({ min: 0 }),
    help: 'Dollars for a million tokens written to the cache; else as input.',
  },
});

const agent = object({
  command: { kind: text(), help: 'The executable: a name on the PATH or a path.' },
  flags: { kind: list(text()), help: 'Its flags. One string with spaces is split as a shell would.' },
  model: { kind: modelName, help: 'The model, given to the agent in its own way.' },
  adapter: {
    kind: choice(ADAPTERS.map(adapter => adapter.name)),
    help: 'Which agent it behaves like, for a wrapper with another name.',
  },
  prices: { kind: named(price), help: 'Prices by model, for an agent that reports tokens only.' },
});

export const AGENTS = [
  {
    key: 'agent',
    kind: either(text(), agent),
    flag: both('--agent <name>'),
    help: `The agent, by its name or its command. ${PROTOCOLS.map(name => `${name}:COMMAND`).join(', ')} is one that speaks this protocol; names of your own are in agents. Default: the first installed of ${PREFERRED.join(', ')}.`,
  },
  { key: 'agents', kind: named(agent), default: {}, help: 'Agents by a name of your own.' },
  {
    key: 'model',
    kind: modelName,
    flag: { ...both('--model <model>'), prd: '-m, --model <model>' },
    help: 'The model the agent should use.',
  },
  {
    key: 'fallback',
    kind: words(text()),
    default: [],
    flag: both('--fallback <agents>'),
    help: 'Agents to use while this one is rate-limited: agent or agent:model, separated by commas, in this order. Ralph returns to the agent itself when its limit has passed.',
  },
  {
    key: 'permissions',
    kind: choice(['skip', 'host']),
    default: 'skip',
    flag: both('--permissions <skip|host>'),
    help: 'skip: the agent may do everything without asking; flags of yours in agent.flags that say what it may do win. host: as the agent is configured.',
  },
  {
    key: 'prices',
    kind: named(price),
    default: {},
    help: 'Prices by model name (or its beginning, or *), in dollars for a million tokens. For agents that report tokens only, and to keep --max-cost within a turn. They win over the prices that come with Ralph.',
  },
] as const satisfies readonly Setting[];
