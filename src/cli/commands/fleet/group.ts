/** `ralph fleet`: many machines, one scheduler, on PostgreSQL. */
import type { CommandGroup } from '../../command.ts';

export const fleet: CommandGroup = {
  actions: [
    {
      name: 'up',
      summary: 'start a PostgreSQL of your own, or prepare one that exists',
      load: async () => (await import('./up.ts')).up,
    },
    {
      name: 'down',
      summary: 'stop the PostgreSQL that `ralph fleet up` started',
      load: async () => (await import('./down.ts')).down,
    },
    {
      name: 'submit',
      summary: 'hand a task to whichever worker is free',
      load: async () => (await import('./submit.ts')).submit,
    },
    {
      name: 'status',
      summary: 'list units, workers, budgets, and what waits for what',
      load: async () => (await import('./status.ts')).status,
    },
    {
      name: 'logs',
      summary: 'show what happened in a unit, or follow it',
      load: async () => (await import('./logs.ts')).logs,
    },
    { name: 'cancel', summary: 'end a unit', load: async () => (await import('./steer.ts')).cancel },
    {
      name: 'remove',
      summary: 'remove units that are over from the database',
      load: async () => (await import('./remove.ts')).remove,
    },
    {
      name: 'tell',
      summary: 'tell the agent of a unit something',
      load: async () => (await import('./steer.ts')).tell,
    },
    {
      name: 'pause',
      summary: 'pause a unit between two steps',
      load: async () => (await import('./steer.ts')).pause,
    },
    {
      name: 'continue',
      summary: 'continue a unit that was paused',
      load: async () => (await import('./steer.ts')).continueUnit,
    },
    {
      name: 'drain',
      summary: 'let a worker give back its units and end',
      load: async () => (await import('./steer.ts')).drain,
    },
    {
      name: 'budget',
      summary: 'set what the units of a budget may spend together',
      load: async () => (await import('./steer.ts')).budget,
    },
    {
      name: 'account',
      summary: 'set how many units may use an account at a time',
      load: async () => (await import('./steer.ts')).account,
    },
  ],
  examples: `
Examples:
  ralph fleet up
  ralph worker
  ralph fleet submit loop "Make the login work" --check "npm test"
  ralph fleet submit prd --check "npm test"
  ralph fleet status --watch
  ralph fleet down
`,
};
