/** Starts a run for the dashboard, as a process of its own that does not end with it. */
import type { Launch } from '../dashboard/launch.ts';
import { parseObject, stringAt } from '../domain/json.ts';
import { startDetached } from '../platform/detached.ts';
import type { Call } from './command.ts';

export function createLaunch({ env }: Pick<Call, 'env'>): Launch {
  // Whoever has the token controls the runs: the agent must not find it.
  const { RALPH_DASHBOARD_TOKEN: _, ...rest } = env;
  return async (root, args) => {
    const argv = [process.execPath, process.argv[1] ?? '', '-C', root, '--events', '-', ...args] as const;
    const begun = await startDetached({ argv, cwd: root, env: rest }, runIn);
    if ('sign' in begun) return { done: true, runId: begun.sign, message: `${begun.sign} has begun.` };
    const why = begun.errors.trim() || `exit code ${begun.code}`;
    return { done: false, message: why };
  };
}

/** The id of a run that has begun. */
function runIn(line: string): string | undefined {
  const event = parseObject(line);
  const type = stringAt(event, 'type');
  return type === 'run-started' || type === 'run-resumed' ? stringAt(event, 'runId') : undefined;
}
