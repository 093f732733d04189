import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

export const gemini: Host = {
  name: 'gemini',
  cannot: [
    'Reports no cost.',
    'Echoes the prompt and then exits without waiting for its reader: with a prompt of about 500 kB the rest of the stream is lost when stdout is a socket, as it is for children of Node.',
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
