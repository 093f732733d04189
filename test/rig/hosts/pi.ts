import { object } from '../model-server/json.ts';
import { ofType, sum, textOf } from './events.ts';
import { type Host, hostCommand } from './host.ts';

export const pi: Host = {
  name: 'pi',
  traps: [
    'Asks for no permission for anything.',
    'Needs Node 22.19 or later.',
    'Exits with 0 whatever came of a turn: Ralph goes by its stream.',
  ],
  async setUp(place, url) {
    await place.writeHome('.pi/agent/models.json', {
      providers: {
        lab: { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: 'dummy', models: [SCRIPTED] },
      },
    });
    await place.writeHome('.pi/agent/settings.json', { retry: { enabled: false } });
    return {
      env: { PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_SKIP_VERSION_CHECK: '1' },
      flags: ['--provider', 'lab', '--model', 'scripted', '--offline'],
    };
  },
  argv: (_place, flags) => [hostCommand('pi'), '--mode', 'json', '-p', ...flags],
  reply: events => textOf(answers(events).at(-1)),
  usage(events) {
    const usages = answers(events).map(message => object(message.usage));
    if (usages.length === 0) return undefined;
    return { input: sum(usages, 'input', 'cacheRead', 'cacheWrite'), output: sum(usages, 'output') };
  },
};

const SCRIPTED = {
  id: 'scripted',
  name: 'scripted',
  reasoning: false,
  input: ['text'],
  contextWindow: 4_000_000,
  maxTokens: 32_000,
  cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 },
};

function answers(events: readonly unknown[]) {
  return ofType(events, 'message_end')
    .map(event => object(event.message))
    .filter(message => message.role === 'assistant');
}
