/** The context monitor. */
import { integer, object } from '../kinds.ts';
import type { Setting } from '../setting.ts';
import { onOffAuto } from './guard.ts';

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
    help: 'Warns the agent when its context is 50, 60, 70, 80 and 90 percent full: docs/hooks.md.',
  },
] as const satisfies readonly Setting[];
