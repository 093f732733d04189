/** `ralph explain`: why a run stopped and what to do next, from its ledger alone. */
import { isProblem } from '../../domain/problem.ts';
import { systemClock } from '../../platform/clock.ts';
import { explainLines, explain as explanationOf } from '../../report/explain.ts';
import { createRunFold } from '../../report/run-fold.ts';
import { openJournal } from '../../store/journal.ts';
import { projectPaths, runPaths } from '../../store/paths.ts';
import { findRun, isRunning } from '../../store/run-file.ts';
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
    const project = projectPaths(cwd);
    const id = findRun(project, wanted);
    if (isProblem(id)) throw new Problems([id]);
    const paths = runPaths(project.runs, id);
    const fold = createRunFold();
    const journal = openJournal(paths.events);
    for (const entry of journal.next()) fold.add(entry);
    journal.close();
    const now = { isAlive: isRunning(paths), now: systemClock.now() };
    if (output.json) output.answer(`${JSON.stringify(explanationOf(fold.view(), now))}\n`);
    else output.answer(`${explainLines(fold.view(), now, styleOf(output)).join('\n')}\n`);
    for (const problem of journal.problems())
      output.error(`ralph explain: the ledger has been changed: ${problem}\n`);
    return 0;
  },
};
