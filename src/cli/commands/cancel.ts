/** `ralph cancel`: ends a run from another terminal, and takes its worktree away when that loses nothing. */
import { formatProblem, isProblem } from '../../domain/problem.ts';
import { writePrivate } from '../../platform/files.ts';
import { projectPaths, runPaths } from '../../store/paths.ts';
import { CANCEL_NOW, findRun, isRunning, readRunFile } from '../../store/run-file.ts';
import { removeWorktree } from '../../workspace/worktree.ts';
import { type Call, type CliCommand, Problems } from '../command.ts';

export const cancel: CliCommand = {
  declare(command) {
    command
      .argument('[run]', 'a run, or part of its id; without it the latest')
      .option('--gently', 'let the step that it is in finish')
      .option(
        '--remove <worktree>',
        'remove a worktree that Ralph made, and its branch; refused while it holds unmerged work',
      )
      .addHelpText(
        'after',
        '\nExamples:\n  ralph cancel\n  ralph cancel 20261115 --gently\n  ralph cancel --remove async\n',
      );
  },
  async run(call) {
    const { remove } = call.options;
    if (typeof remove !== 'string') return endRun(call);
    const problem = await removeWorktree({ root: call.cwd, env: call.env, name: remove });
    if (problem) throw new Problems([problem]);
    call.output.answer(`The worktree ${remove} and its branch are gone.\n`);
    return 0;
  },
};

function endRun({ args: [wanted], options, cwd, output }: Call): 0 | 1 {
  const project = projectPaths(cwd);
  const id = findRun(project, wanted);
  if (isProblem(id)) throw new Problems([id]);
  const paths = runPaths(project.runs, id);
  const file = readRunFile(paths);
  if (!file || !isRunning(file)) {
    output.answer(`${formatProblem({ where: id, what: 'it is not running' })}\n`);
    return 1;
  }
  // The note comes first: the run looks for it when the signal arrives.
  writePrivate(paths.cancelled, options.gently === true ? 'gently' : CANCEL_NOW);
  process.kill(file.process.pid, 'SIGTERM');
  output.answer(
    `${id} is ${options.gently === true ? 'ending after the step it is in' : 'being ended'}; its work is kept.\n`,
  );
  return 0;
}
