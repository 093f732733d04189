/** The settings as they may be shown and kept. */
import { redactAddress, redactWords } from '../domain/secrets.ts';
import { splitFlag } from '../platform/shell.ts';
import type { AgentSettings, Settings } from './settings-shape.ts';

/** What follows a flag such as --api-key is taken out, and the path of a webhook and of an address for traces. */
export function withoutSecrets(settings: Settings): Settings {
  const clean = <Agent extends AgentSettings>(agent: Agent): Agent =>
    agent.flags ? { ...agent, flags: redactWords(agent.flags.flatMap(splitFlag)) } : agent;
  const agents = Object.entries(settings.agents).map(([name, agent]) => [name, clean(agent)] as const);
  const { agent, notify, otel } = settings;
  return {
    ...settings,
    ...(agent !== undefined && { agent: typeof agent === 'string' ? agent : clean(agent) }),
    agents: Object.fromEntries(agents),
    ...(otel !== undefined && { otel: redactAddress(otel) }),
    ...(typeof notify === 'object' &&
      notify.webhook !== undefined && {
        notify: { ...notify, webhook: redactAddress(notify.webhook) },
      }),
  };
}
