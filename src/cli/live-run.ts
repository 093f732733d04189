/** What the commands have in common that steer a run from another terminal: which one, and what to say when it has ended. */
import { isProblem } from '../domain/problem.ts';
import { projectAt } from '../store/paths.ts';
import { findLiveRun, type LiveRun } from '../store/run-file.ts';
import { type Call, Problems } from './command.ts';

export const RUN_ARGUMENT = [
  '[run]',
  'a run, or part of its id; may be left out when only one is running',
] as const;

export interface Steered {
  /** One sentence for people. */
  readonly message: string;
  /** Whether it changed anything. */
  readonly done: boolean;
}

export function steer(
  { cwd, output }: Call,
  wanted: string | undefined,
  act: (run: LiveRun) => Steered,
): 0 | 1 {
  const run = findLiveRun(projectAt(cwd), wanted);
  if (isProblem(run)) throw new Problems([run]);
  const { message, done } =
    'ended' in run ? { message: `${run.ended}: it is not running`, done: false } : act(run);
  const runId = 'ended' in run ? run.ended : run.id;
  output.answer(output.json ? `${JSON.stringify({ runId, done, message })}\n` : `${message}\n`);
  return done ? 0 : 1;
}
