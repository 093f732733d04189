/** `ralph fleet remove`: old units need not stay in the database. */

import { parseAge } from '../../../domain/run/prune.ts';
import { formatProblem } from '../../../domain/text/problem.ts';
import { oldUnits, removeUnit } from '../../../fleet/remove.ts';
import { findUnit } from '../../../fleet/units.ts';
import { counted } from '../../../report/numbers.ts';
import { answer, type CliCommand, orThrow, refuse } from '../../command.ts';
import { DATABASE } from '../../which-run.ts';
import { withFleet } from './steer.ts';

export const remove: CliCommand = {
  declare: command =>
    command
      .argument('[unit]', 'a unit that is over, or part of its id')
      .option('--older-than <duration>', 'all that ended so long ago, such as 30d')
      .option(...DATABASE),
  help: `
Examples:
  ralph fleet remove 20261116-03
  ralph fleet remove --older-than 30d

Removes the ledger and the files of units that are over, with their stories, and
the names below refs/ralph/UNIT in their repository. The branches ralph/UNIT stay.
`,
  run: call =>
    withFleet(call, 'remove', async database => {
      const { args, options, env, output } = call;
      const given = options.olderThan;
      if ((args[0] === undefined) === (given === undefined))
        refuse('fleet remove', 'needs a unit or --older-than', 'ralph fleet remove --older-than 30d');
      const age = typeof given === 'string' ? parseAge(given) : undefined;
      if (given !== undefined && age === undefined)
        refuse(`--older-than ${given}`, 'is no duration', '30d, 12h');
      const ids =
        age === undefined
          ? [orThrow(await findUnit(database, args[0])).id]
          : await oldUnits(database, age / 1000);
      const [removed, kept]: [string[], string[]] = [[], []];
      for (const id of ids) {
        const problem = await removeUnit(database, env, id);
        if (problem) kept.push(formatProblem(problem));
        else removed.push(id);
      }
      if (kept.length > 0 && removed.length === 0) refuse('fleet remove', kept.join('; '));
      answer(output, { removed, kept }, () =>
        [`Removed ${counted(removed.length, 'unit')}.`, ...kept].join('\n'),
      );
      return kept.length === 0 ? 0 : 1;
    }),
};
