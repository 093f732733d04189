import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

/** A model of the bundled list that is offered its tools directly; an unknown one gets no apply_patch. */
const MODEL = 'gpt-5.5';

export const codex: Host = {
  name: 'codex',
  cannot: [
    'Reports no cost.',
    'A 429 is shown without the words of the server, a 500 without its status, too.',
  ],
  setUp: async (_place, url) => ({ env: { LAB_API_KEY: 'dummy' }, flags: codexFlags(url, MODEL) }),
  argv: (_place, flags) => [
    hostCommand('codex'),
    ...['exec', '--json', '--dangerously-bypass-approvals-and-sandbox'],
    ...flags,
    '-',
  ],
  reply(events) {
    const items = ofType(events, 'item.completed').map(event => object(event.item));
    return string(items.findLast(item => item.type === 'agent_message')?.text);
  },
  usage(events) {
    const usage = ofType(events, 'turn.completed').at(-1)?.usage;
    return usage === undefined
      ? undefined
      : { input: sum([object(usage)], 'input_tokens'), output: sum([object(usage)], 'output_tokens') };
  },
};

export function codexFlags(url: string, model: string): readonly string[] {
  const lab = [
    'name="lab"',
    `base_url="${url}/v1"`,
    'wire_api="responses"',
    'env_key="LAB_API_KEY"',
    'request_max_retries=0',
    'stream_max_retries=0',
  ].join(',');
  return [
    ...['-c', `model_providers.lab={${lab}}`, '-c', 'model_provider="lab"', '-m', model],
    // All three, or each run ends with seconds of waiting for a network that is not there.
    ...['-c', 'analytics.enabled=false', '-c', 'otel.metrics_exporter="none"', '--disable', 'plugins'],
  ];
}
