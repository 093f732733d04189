/** `ralph fleet logs`: what happened in a unit, wherever it was or is worked on. */
import type { CliCommand } from '../../command.ts';
import { withUnit } from '../../which-run.ts';
import { declareLog, showLog } from '../log.ts';
import { DATABASE } from './database-option.ts';

export const logs: CliCommand = {
  declare(command) {
    command
      .argument('[unit]', 'a unit, or part of its id; without it the latest')
      .option(...DATABASE)
      .addHelpText(
        'after',
        '\nExamples:\n  ralph fleet logs 20261116-03 --follow\n  ralph fleet logs 20261116-03 --only checks,verdicts\n',
      );
    declareLog(command);
  },
  run: call => showLog(call, withUnit),
};
