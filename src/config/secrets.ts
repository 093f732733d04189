/** The settings as they may be shown and kept. */
import { HIDDEN } from '../domain/text/secret-formats.ts';
import { type Redact, redactAddress, redactDeep, redactWords } from '../domain/text/secrets.ts';
import { splitFlag } from '../platform/shell.ts';
import type { AgentSettings, Settings } from './settings-shape.ts';

/** Whether what a program gave as settings must not be kept: some of it would be taken out. */
export function holdsSecrets(layer: Readonly<Record<string, unknown>>, redact: Redact): boolean {
  const given = { agents: {}, ...layer } as unknown as Settings;
  const hasWebhook = typeof given.notify === 'object' && given.notify.webhook !== undefined;
  const kept = JSON.stringify(shownSettings(given, redact));
  return hasWebhook || countOf(kept) > countOf(JSON.stringify(layer));
}

const countOf = (text: string) => text.split(HIDDEN).length;

/** Without what `redact` knows, what follows a flag such as --api-key, and the path of a webhook and of an address for traces. */
export function shownSettings(settings: Settings, redact: Redact): Settings {
  const clean = <Agent extends AgentSettings>(agent: Agent): Agent =>
    agent.flags ? { ...agent, flags: redactWords(agent.flags.flatMap(splitFlag)) } : agent;
  const agents = Object.entries(settings.agents).map(([name, agent]) => [name, clean(agent)] as const);
  const { agent, notify, otel } = settings;
  const shown = {
    ...settings,
    ...(agent !== undefined && { agent: typeof agent === 'string' ? agent : clean(agent) }),
    agents: Object.fromEntries(agents),
    ...(otel !== undefined && { otel: redactAddress(otel) }),
    ...(typeof notify === 'object' &&
      notify.webhook !== undefined && {
        notify: { ...notify, webhook: redactAddress(notify.webhook) },
      }),
  };
  return redactDeep(shown, redact);
}
