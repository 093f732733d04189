import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

export const qwen: Host = {
  name: 'qwen',
  traps: [
    'Seven attempts at an error, with pauses of up to 30 seconds after a 500; no setting shortens them.',
    'Waits silently as long as the retry-after of a 429 says: --idle-timeout ends it.',
    'Makes one more model call a run unless memory.enableManagedAutoMemory is false; it counts among its tokens.',
    'Rewrites "@": a file\'s name behind it is followed by the file, and a blank is put before it inside a word.',
    'A prompt whose first character is "/" is taken as a command and may never reach the model.',
  ],
  // In its terminal it asks what the user may want to type next.
  server: {
    sides: [
      {
        match: ({ lastUserText }) => lastUserText.includes('Reply with ONLY the suggestion'),
        step: { text: '' },
      },
    ],
  },
  async setUp(place, url) {
    await place.writeHome('.qwen/settings.json', {
      // Otherwise each run makes one more model call, with tools, that also lands in the reported usage.
      memory: { enableManagedAutoMemory: false },
      general: { enableAutoUpdate: false },
      model: { generationConfig: { maxRetries: 0, contextWindowSize: 4_000_000 } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
    });
    const provider = ['--auth-type', 'openai', '--openai-base-url', `${url}/v1`, '--openai-api-key', 'dummy'];
    return { env: {}, flags: [...provider, '-m', 'scripted'] };
  },
  argv: (_place, flags) => [hostCommand('qwen'), '-o', 'stream-json', '--yolo', ...flags],
  subagent: prompt => ({
    use: {
      name: 'agent',
      input: { description: 'a helper', prompt, subagent_type: 'general-purpose', run_in_background: false },
    },
  }),
  // It would wait for an hour.
  limit: () => ({
    resetsIn: 0,
    step: {
      status: 429,
      error: 'scripted words 429',
      headers: { 'retry-after': '0', 'retry-after-ms': '1' },
    },
  }),
  reply: events => string(ofType(events, 'result').at(-1)?.result),
  usage(events) {
    // Unlike Claude Code's, its input_tokens hold the cached ones, too.
    const result = ofType(events, 'result').at(-1);
    if (result === undefined) return undefined;
    const usage = object(result.usage);
    return { input: sum([usage], 'input_tokens'), output: sum([usage], 'output_tokens') };
  },
};
