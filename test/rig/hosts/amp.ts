import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

/** The last client whose agent loop runs on the user's machine; it also talks to its own service, doubled here. */
export const amp: Host = {
  name: 'amp',
  traps: [
    "Tested with the last client whose loop runs on the user's machine; that of later ones runs on a server.",
    'Exits 0 on every model error; Ralph judges by its stream.',
    'Reads its prompt in pieces of 64 KiB and breaks a letter beyond ASCII that lies across two of them.',
  ],
  server: {
    sides: [
      {
        match: request => request.toolNames.includes('set_title'),
        step: { tools: [{ name: 'set_title', input: { title: 'Scripted' } }] },
      },
    ],
    also: ({ path, url }) => (path === '/api/internal' ? service(url) : undefined),
  },
  async setUp(place, url) {
    await place.writeHome('.config/amp/settings.json', { 'amp.updates.mode': 'disabled' });
    const env = { AMP_URL: url, AMP_API_KEY: 'dummy', AMP_SKIP_UPDATE_CHECK: '1' };
    return { env, flags: ['--no-ide', '--no-notifications'] };
  },
  argv: (_place, flags) => [hostCommand('amp'), '--dangerously-allow-all', '--stream-json', ...flags, '-x'],
  subagent: prompt => ({ use: { name: 'Task', input: { description: 'a helper', prompt } } }),
  reply: events => string(ofType(events, 'result').at(-1)?.result),
  usage(events) {
    const usages = ofType(events, 'assistant').map(event => object(object(event.message).usage));
    if (usages.length === 0) return undefined;
    const input = sum(usages, 'input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens');
    return { input, output: sum(usages, 'output_tokens') };
  },
};

/** The method is the name of the query's only parameter. */
function service(url: URL): unknown {
  switch ([...url.searchParams.keys()][0]) {
    case 'getUserInfo':
      return {
        ok: true,
        result: { id: 'user_scripted', username: 'dev', email: 'dev@example.invalid', features: [] },
      };
    case 'loadPlugins':
      return { ok: true, result: [] };
    case 'getThread':
      return { ok: false, error: { code: 'thread-not-found', message: 'no such thread' } };
    default:
      return { ok: true, result: {} };
  }
}
