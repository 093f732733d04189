/** `ralph fleet`: work for many machines, kept in a PostgreSQL. */
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
  ],
  examples: `
Examples:
  ralph fleet up
  ralph fleet up --listen 10.0.0.5/24
  ralph fleet up --database postgres://ralph@db.example/ralph?sslmode=verify-full
  ralph fleet down
`,
};
