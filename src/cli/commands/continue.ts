/** `ralph continue`: continues a paused run. */
import type { CliCommand } from '../command.ts';
import { RUN_ARGUMENT, steer } from '../live-run.ts';

export const continueRun: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .addHelpText('after', '\nExamples:\n  ralph continue\n  ralph continue 20261115\n');
  },
  run: async call => steer(call, call.args[0], { kind: 'continue' }),
};
