import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

const HOUR = 3600;

export const claude: Host = {
  name: 'claude',
  traps: [
    'As root it refuses to skip permissions unless IS_SANDBOX=1 is set.',
    'Reports its cost at the end of a turn only: until then --max-cost is kept by an estimate, --max-tokens by what it reports.',
    'Reports when a limit resets with a subscription, but not with an API key.',
    'A prompt whose first character is "/" is taken as a command and may never reach the model.',
  ],
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
  subagent: prompt => ({
    use: {
      name: 'Agent',
      input: { description: 'a helper', prompt, subagent_type: 'general-purpose', run_in_background: false },
    },
  }),
  patient: () => ({ env: { CLAUDE_CODE_MAX_RETRIES: '1' } }),
  /** Only a subscription has a limit with an end, and only its token makes the client tell it. */
  limit: () => ({
    resetsIn: HOUR,
    env: { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'dummy' },
    step: {
      status: 429,
      error: 'scripted words 429',
      headers: {
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-reset': String(Math.floor(Date.now() / 1000) + HOUR),
        'anthropic-ratelimit-unified-representative-claim': 'five_hour',
      },
    },
  }),
  reply: events => string(ofType(events, 'result').at(-1)?.result),
  usage(events) {
    const usage = object(ofType(events, 'result').at(-1)?.usage);
    const input = sum([usage], 'input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens');
    return { input, output: sum([usage], 'output_tokens') };
  },
};
