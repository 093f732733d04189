/** `ralph prd`: seed 002. A PRD, a list of stories, and no story done before a fresh context has reviewed it. */
import type { CommandGroup } from '../../command.ts';

export const prd: CommandGroup = {
  actions: [
    {
      name: 'init',
      summary: 'create ralph/ with prd.md, tasks.json, progress.txt and prompt.md',
      load: async () => (await import('./init.ts')).init,
    },
    {
      name: 'plan',
      summary: 'plan the feature with an agent, in this terminal',
      load: async () => (await import('./plan.ts')).plan,
    },
    {
      name: 'import',
      summary: 'import the stories of a prd.json, the format of other loops',
      load: async () => (await import('./import.ts')).importList,
    },
    {
      name: 'run',
      summary: 'loop an agent until every story is implemented and approved',
      load: async () => (await import('./run.ts')).run,
    },
    {
      name: 'status',
      summary: 'list the stories and their state',
      load: async () => (await import('./status.ts')).status,
    },
    {
      name: 'archive',
      summary: 'move a finished list to ralph-archive/ and start a new one',
      load: async () => (await import('./archive.ts')).archive,
    },
  ],
  examples: `
Examples:
  ralph prd init --name "Saved searches"
  ralph prd plan
  ralph prd run -n 20 --max-cost 10
  ralph prd status
  ralph prd archive
`,
};
