/** `ralph cancel`: ends a run from another terminal, and takes its worktree away when that loses nothing. */
import { removeWorktree } from '../../workspace/worktree.ts';
import { type CliCommand, Problems } from '../command.ts';
import { RUN_ARGUMENT, steer } from '../live-run.ts';

export const cancel: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
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
    if (typeof remove !== 'string')
      return steer(call, call.args[0], { kind: 'cancel', gently: call.options.gently === true });
    const problem = await removeWorktree({ root: call.cwd, env: call.env, name: remove });
    if (problem) throw new Problems([problem]);
    call.output.answer(`The worktree ${remove} and its branch are gone.\n`);
    return 0;
  },
};
