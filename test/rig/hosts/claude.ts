import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

export const claude: Host = {
  name: 'claude',
  cannot: ['A prompt whose first character is "/" is taken as a command and may never reach the model.'],
  setUp: async (_place, url) => ({
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'dummy',
      // Alone enough to keep the client from every address but the model's.
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_MAX_RETRIES: '0',
      // Root may skip permissions only where the client is told that it is confined.
      IS_SANDBOX: '1',
    },
    flags: [],
  }),
  argv: (_place, flags) => [
    hostCommand('claude'),
    ...['-p', '--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions'],
    ...flags,
  ],
  reply: events => string(ofType(events, 'result').at(-1)?.result),
  usage(events) {
    const usage = object(ofType(events, 'result').at(-1)?.usage);
    const input = sum([usage], 'input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens');
    return { input, output: sum([usage], 'output_tokens') };
  },
};
