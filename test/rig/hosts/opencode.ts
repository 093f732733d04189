import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

export const opencode: Host = {
  name: 'opencode',
  traps: [
    'Retries five times after an error, with growing pauses after a cut stream; no setting changes that.',
    'Waits silently as long as the retry-after of a 429 says: --idle-timeout ends it.',
    'Reports a tool when it has ended, not when it starts, and has no record that ends its stream.',
  ],
  async setUp(place, url) {
    await place.writeHome('.config/opencode/opencode.json', {
      provider: {
        lab: {
          npm: '@ai-sdk/openai-compatible',
          name: 'lab',
          options: { baseURL: `${url}/v1`, apiKey: 'dummy' },
          models: { scripted: SCRIPTED },
        },
      },
      model: 'lab/scripted',
      small_model: 'lab/scripted',
      autoupdate: false,
      share: 'disabled',
    });
    return {
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      },
      flags: ['-m', 'lab/scripted'],
    };
  },
  argv: (_place, flags) => [hostCommand('opencode'), 'run', '--format', 'json', '--auto', ...flags],
  subagent: prompt => ({
    use: { name: 'task', input: { description: 'a helper', prompt, subagent_type: 'general' } },
  }),
  // It would wait for an hour; what is told is the header itself.
  limit: () => ({
    resetsIn: 0,
    step: { status: 429, error: 'scripted words 429', headers: { 'retry-after': '0' } },
  }),
  reply: events => string(object(ofType(events, 'text').at(-1)?.part).text),
  usage(events) {
    const steps = ofType(events, 'step_finish').map(event => object(object(event.part).tokens));
    if (steps.length === 0) return undefined;
    const caches = steps.map(tokens => object(tokens.cache));
    return {
      input: sum(steps, 'input') + sum(caches, 'read', 'write'),
      output: sum(steps, 'output', 'reasoning'),
    };
  },
};

const SCRIPTED = {
  name: 'scripted',
  tool_call: true,
  limit: { context: 4_000_000, output: 32_000 },
  cost: { input: 1, output: 2 },
};
