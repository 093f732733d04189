/** Runs a command of the settings that is no check: it makes a place ready, or takes it away. */
import { outcomeWords } from '../../domain/checks/words.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { errorLine } from '../../platform/error-words.ts';
import { joinWords } from '../../platform/shell.ts';
import { createIntegrityWatch } from '../../proof/integrity.ts';
import { prove } from '../../proof/prove.ts';
import type { RunContext } from './context.ts';
import { provingOf } from './prover.ts';

type Named = 'setup' | 'laneSetup' | 'laneTeardown';

/** As it is in the settings, in the folder of the run. Returns why it failed. */
export async function runCommand(context: RunContext, name: Named): Promise<Problem | undefined> {
  const { [name]: command, setupTimeout: timeout } = context.settings;
  if (command === undefined) return undefined;
  const emit = () => {};
  const checks = () => [{ command, failAction: 'APPEND', timeout } as const];
  const proving = { ...provingOf({ ...context, emit }, 0, { checks }), retries: 0 };
  const [ended] = await prove({ ...proving, watch: createIntegrityWatch({ emit }) });
  if (ended?.passed) return undefined;
  const how = ended ? outcomeWords(ended) : 'was cut off';
  return {
    where: `${name} ${JSON.stringify(command)}`,
    what: `it ${how}${name === 'setup' ? ' in the new checkout' : ''}: ${errorLine(ended?.output ?? '')}`,
    fix: `cd ${joinWords([context.cwd])} && ${command}`,
  };
}
