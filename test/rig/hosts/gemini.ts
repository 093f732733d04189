import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

export const gemini: Host = {
  name: 'gemini',
  traps: [
    'Reports its tokens at the end of a turn only.',
    'Ten attempts at a failing request unless general.maxAttempts is set in its settings.',
    'Exits without waiting for its reader, so that Ralph reads its stream from a file.',
    'Rewrites "@": a file\'s name behind it is followed by the file, and a blank is put before it inside a word.',
  ],
  async setUp(place, url) {
    await place.writeHome('.gemini/settings.json', {
      security: { auth: { selectedType: 'gemini-api-key' } },
      // Ten attempts with growing pauses unless told: minutes for one error.
      general: { maxAttempts: 1, enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
    });
    return {
      env: { GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: 'true' },
      flags: ['-m', 'gemini-2.5-pro'],
    };
  },
  argv: (_place, flags) => [hostCommand('gemini'), '-o', 'stream-json', '--yolo', '--skip-trust', ...flags],
  subagent: prompt => ({ use: { name: 'invoke_agent', input: { agent_name: 'generalist', prompt } } }),
  limit: () => {
    const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3600s' };
    const message = 'You exceeded your current quota. Please retry in 3600s.';
    const error = { code: 429, message, status: 'RESOURCE_EXHAUSTED', details: [retry] };
    return { resetsIn: 3600, step: { status: 429, errorBody: { error } } };
  },
  reply(events) {
    const last = events.findLastIndex(event => object(event).type === 'tool_result');
    const said = ofType(events.slice(last + 1), 'message').filter(event => event.role === 'assistant');
    return said.map(event => string(event.content)).join('');
  },
  usage(events) {
    const result = ofType(events, 'result').at(-1);
    if (result === undefined) return undefined;
    const stats = object(result.stats);
    return { input: sum([stats], 'input_tokens'), output: sum([stats], 'output_tokens') };
  },
};
