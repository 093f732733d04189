/** What the commands that steer a run from another terminal have in common: which run it is, and what to say when it has ended. */
import { isProblem } from '../domain/problem.ts';
import { systemClock } from '../platform/clock.ts';
import type { Message } from '../store/inbox.ts';
import { projectAt } from '../store/paths.ts';
import { findLiveRun } from '../store/run-file.ts';
import { steerRun } from '../store/steering.ts';
import { type Call, Problems } from './command.ts';

export const RUN_ARGUMENT = [
  '[run]',
  'a run, or part of its id; may be left out when only one is running',
] as const;

export function steer({ cwd, output }: Call, wanted: string | undefined, order: Message): 0 | 1 {
  const run = findLiveRun(projectAt(cwd), wanted);
  if (isProblem(run)) throw new Problems([run]);
  const { message, done } =
    'ended' in run
      ? { message: `${run.ended} is not running.`, done: false }
      : steerRun(run, order, systemClock.now());
  const runId = 'ended' in run ? run.ended : run.id;
  output.answer(output.json ? `${JSON.stringify({ runId, done, message })}\n` : `${message}\n`);
  return done ? 0 : 1;
}
