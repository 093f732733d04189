/** `ralph pause`: the run stops between two steps until it is continued. */
import type { CliCommand } from '../command.ts';
import { RUN_ARGUMENT, steer } from '../live-run.ts';

export const pause: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .addHelpText(
        'after',
        "\nExamples:\n  ralph pause\n  ralph pause 20261115\n\nWhat you change in the files meanwhile is yours: it is not taken for the agent's, and protected files are protected as you leave them.\n",
      );
  },
  run: async call => steer(call, call.args[0], { kind: 'pause' }),
};
