/** `ralph explain`: why a run stopped and what to do next, from its ledger alone. */
import { isProblem } from '../../domain/problem.ts';
import { systemClock } from '../../platform/clock.ts';
import { explainLines, explain as explanationOf } from '../../report/explain.ts';
import { readRun } from '../../report/read-run.ts';
import { projectAt, runPaths } from '../../store/paths.ts';
import { findRun } from '../../store/run-file.ts';
import { type CliCommand, Problems } from '../command.ts';
import { styleOf } from '../reporters.ts';

export const explain: CliCommand = {
  declare(command) {
    command
      .argument('[run]', 'a run, or part of its id; without it the latest')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph explain\n  ralph explain 20261115-1203 --json | jq -r .outcome\n',
      );
  },
  async run({ args: [wanted], cwd, output }) {
    const project = projectAt(cwd);
    const id = findRun(project, wanted);
    if (isProblem(id)) throw new Problems([id]);
    const { view, state, integrity } = readRun(id, runPaths(project.runs, id));
    const now = { isAlive: state === 'running', now: systemClock.now() };
    if (output.json) output.answer(`${JSON.stringify(explanationOf(view, now))}\n`);
    else output.answer(`${explainLines(view, now, styleOf(output)).join('\n')}\n`);
    for (const problem of integrity.problems)
      output.error(`ralph explain: the ledger has been changed: ${problem}\n`);
    return 0;
  },
};
