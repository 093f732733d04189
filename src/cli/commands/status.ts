/** `ralph status`: what ran here, what runs now, how it ended. */

import { isProblem } from '../../domain/problem.ts';
import { systemClock } from '../../platform/clock.ts';
import { statusLines, worktreeLines } from '../../report/status.ts';
import { overviewOf } from '../../store/overview.ts';
import { projectAt, runPaths } from '../../store/paths.ts';
import { findRun, listRuns } from '../../store/run-file.ts';
import { listWorktrees } from '../../workspace/worktree.ts';
import { type CliCommand, Problems } from '../command.ts';
import { styleOf } from '../reporters.ts';

const SHOWN = 20;

export const status: CliCommand = {
  declare(command) {
    command
      .argument('[run]', 'a run, or part of its id; without it the latest ones')
      .option('-a, --all', 'every run, not only the latest')
      .addHelpText('after', '\nExamples:\n  ralph status\n  ralph status --all --json\n');
  },
  async run({ args: [wanted], options, cwd, env, output }) {
    const project = projectAt(cwd);
    const ids = wanted === undefined ? listRuns(project) : [findRun(project, wanted)];
    const shown = options.all === true ? ids : ids.slice(-SHOWN);
    const runs = shown.map(id => {
      if (isProblem(id)) throw new Problems([id]);
      return overviewOf(id, runPaths(project.runs, id));
    });
    const worktrees = await listWorktrees({ root: project.root, env });
    if (output.json) output.answer(`${JSON.stringify({ runs, worktrees })}\n`);
    else {
      const style = styleOf(output);
      const lines = [...statusLines(runs, style, systemClock.now()), ...worktreeLines(worktrees, style)];
      output.answer(`${lines.join('\n')}\n`);
    }
    return 0;
  },
};
