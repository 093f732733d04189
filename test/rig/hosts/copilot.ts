import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand, hostFolder } from './host.ts';

export const copilot: Host = {
  name: 'copilot',
  traps: [
    'Reports its tokens at the end of a turn only, in the file of --usage-output-file.',
    'Retries five times after an error; no setting changes that.',
    'Reads hooks from .claude/settings.json, too.',
  ],
  setUp: async (_place, url) => ({
    // With a provider of his own the user needs no login.
    env: {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_WIRE_API: 'completions',
      COPILOT_PROVIDER_API_KEY: 'dummy',
      COPILOT_MODEL: 'gpt-5.4',
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      // Else every fresh home costs a second and 235 MB of unpacking; the installation has done it.
      COPILOT_PKG_CACHE_HOME: join(hostFolder('copilot'), 'unpacked'),
    },
    flags: ['--no-auto-update', '--disable-builtin-mcps', '--disable-client-telemetry'],
  }),
  argv: (place, flags) => [
    hostCommand('copilot'),
    ...['--output-format', 'json', '--allow-all', '--no-ask-user', '--trust-folder', '--no-color'],
    ...['--usage-output-file', join(place.home, 'usage.json')],
    ...flags,
  ],
  subagent: prompt => ({
    use: {
      name: 'task',
      input: { description: 'a helper', prompt, agent_type: 'general-purpose', name: 'helper', mode: 'sync' },
    },
  }),
  unsteady:
    /^\{"type":"(?:tool\.shell_output|tool\.execution_partial_result|session\.background_tasks_changed|subagent\.completed)"/,
  reply: events => string(object(ofType(events, 'assistant.message').at(-1)?.data).content),
  usage(_events, place) {
    const models = Object.values(object(readJson(join(place.home, 'usage.json')).modelMetrics));
    if (models.length === 0) return undefined;
    const usages = models.map(model => object(object(model).usage));
    return { input: sum(usages, 'inputTokens'), output: sum(usages, 'outputTokens') };
  },
};

function readJson(file: string): Json {
  try {
    return object(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}
