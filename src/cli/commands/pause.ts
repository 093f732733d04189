/** `ralph pause`: the run stops between two steps until it is continued. */
import { existsSync } from 'node:fs';
import { writePrivate } from '../../platform/files.ts';
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
  run: async call =>
    steer(call, call.args[0], ({ id, paths }) => {
      if (existsSync(paths.paused)) return { message: `${id} is paused already.`, done: false };
      writePrivate(paths.paused, '');
      return {
        message: `${id} pauses when the turn it is in has ended. \`ralph continue\` goes on.`,
        done: true,
      };
    }),
};
