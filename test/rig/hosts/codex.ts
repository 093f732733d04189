import { object, string } from '../model-server/json.ts';
import { ofType, sum } from './events.ts';
import { type Host, hostCommand } from './host.ts';

/** A model of the bundled list that is offered its tools directly; an unknown one gets no apply_patch. */
const MODEL = 'gpt-5.5';
const HOUR = 3600;

export const codex: Host = {
  name: 'codex',
  traps: [
    'Reports its tokens at the end of a turn only.',
    'At the limit of a plan it prints the time of day of the reset; for a plain 429 it prints none.',
    'Calls of unknown tools, failed patches and commands that its sandbox refuses are not in its stream: the count of tools is a lower bound.',
    'Exec is read-only by default: with permissions "host" Ralph passes -s workspace-write.',
  ],
  setUp: async (_place, url) => ({ env: { LAB_API_KEY: 'dummy' }, flags: codexFlags(url, MODEL) }),
  argv: (_place, flags) => [
    hostCommand('codex'),
    ...['exec', '--json', '--dangerously-bypass-approvals-and-sandbox'],
    ...flags,
    '-',
  ],
  // The bundled models are offered none; one that it does not know is.
  subagent: (message, url) => ({
    use: { name: 'spawn_agent', input: { message } },
    flags: codexFlags(url, 'unknown-model'),
  }),
  patient: url => ({ flags: codexFlags(url, MODEL, 1) }),
  limit: () => ({
    resetsIn: HOUR,
    step: {
      status: 429,
      errorBody: {
        error: {
          type: 'usage_limit_reached',
          message: 'The usage limit has been reached',
          plan_type: 'pro',
          resets_at: Math.floor(Date.now() / 1000) + HOUR,
        },
      },
    },
  }),
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

export function codexFlags(url: string, model: string, retries = 0): readonly string[] {
  const lab = [
    'name="lab"',
    `base_url="${url}/v1"`,
    'wire_api="responses"',
    'env_key="LAB_API_KEY"',
    `request_max_retries=${retries}`,
    `stream_max_retries=${retries}`,
  ].join(',');
  return [
    ...['-c', `model_providers.lab={${lab}}`, '-c', 'model_provider="lab"', '-m', model],
    // All three, or each run ends with seconds of waiting for a network that is not there.
    ...['-c', 'analytics.enabled=false', '-c', 'otel.metrics_exporter="none"', '--disable', 'plugins'],
  ];
}
