/** What looks at the agent while it works: the guard before a tool runs, and the monitor of its context. */
import { integer, type Kind, list, object, text } from '../kinds.ts';
import type { Setting } from '../setting.ts';

const words = 'true, false or "auto"';
const onOffAuto: Kind<boolean | 'auto'> = {
  words,
  schema: { enum: [true, false, 'auto'] },
  check: (value, where) =>
    typeof value === 'boolean' || value === 'auto'
      ? []
      : [{ where, what: `must be ${words}, not ${JSON.stringify(value)}` }],
};

const guard = object({
  enabled: { kind: onOffAuto, help: 'auto: while a loop runs without a sandbox.' },
  allow: {
    kind: list(text()),
    help: 'Names of rules, or commands with * as a wildcard, that the guard allows.',
  },
  deny: { kind: list(text()), help: 'Commands, with * as a wildcard, that the guard refuses.' },
});

export const GUARD = [
  {
    key: 'guard',
    kind: guard,
    default: { enabled: 'auto', allow: [], deny: [] },
    help: 'Checks every tool call of the agent before it runs and refuses dangerous ones, where the agent has hooks for that: docs/reference/guard.md.',
  },
] as const satisfies readonly Setting[];

const contextMonitor = object({
  enabled: { kind: onOffAuto, help: 'auto: in ralph prd run.' },
  window: {
    kind: integer({ min: 1_000 }),
    help: 'The size of the context of the agent, in tokens. Default: that of the model.',
  },
});

export const MONITOR = [
  {
    key: 'contextMonitor',
    kind: contextMonitor,
    default: { enabled: 'auto' },
    help: 'Warns the agent when its context is 50, 60, 70, 80 and 90 percent full: docs/reference/hooks.md.',
  },
] as const satisfies readonly Setting[];
