/** `ralph fork`: goes back to an iteration by hand, in a new run. */
import { settingsFromFlags } from '../../config/flags.ts';
import { forkRun } from '../../opening/fork.ts';
import { projectAt } from '../../store/paths.ts';
import { findRun } from '../../store/run-file.ts';
import { type CliCommand, orThrow, Problems, refuse, refuseInside } from '../command.ts';
import { declareSettings } from '../set-up.ts';
import { startLoop } from '../start.ts';

export const fork: CliCommand = {
  declare(command) {
    command
      .argument('<run>', 'a run of `ralph loop`, or part of its id')
      .requiredOption('--at <iteration>', 'the iteration whose files it begins with');
    declareSettings(command, 'loop', 'as that run had it');
  },
  help: `
Examples:
  ralph fork 20261115-1203 --at 2
  ralph fork 20261115-1203 --at 2 --agent codex --max-iterations 10

A new run with the task and the settings of the old one, and whatever flags
say now, in a worktree of its own: its first commit holds the files as that
iteration left them, with what you had not committed when the old run began.
The old run and your files stay as they are. \`ralph show RUN --iteration N\`
shows what an iteration had changed.
`,
  async run(call) {
    refuseInside('fork', call);
    const { env, options, args } = call;
    const at = Number(options.at);
    if (!Number.isSafeInteger(at) || at < 1)
      refuse('--at', 'is the number of an iteration, from 1', '--at 2');
    const project = projectAt(call.cwd, env);
    const id = orThrow(findRun(project, args[0]));
    const flags = (command: Parameters<typeof settingsFromFlags>[0]) => settingsFromFlags(command, options);
    const forked = await forkRun({ project, env, flags, at }, id);
    if (!('job' in forked)) throw new Problems(forked);
    return startLoop(forked.job, { ...call, cwd: project.root, root: project.root }, forked.ready);
  },
};
