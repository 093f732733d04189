/** `ralph tell`: words for the agent, in its next prompt, once. */
import { LONGEST_HINT } from '../../store/steering.ts';
import { type CliCommand, Problems } from '../command.ts';
import { RUN_ARGUMENT, steer } from '../live-run.ts';

export const tell: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .argument('[hint]', 'what the agent should be told')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph tell "The bug is in src/login.ts, not in the tests"\n  ralph tell 20261115 "Use the helper in src/dates.ts"\n\nThe agent reads it at the beginning of its next iteration, and only then.\n',
      );
  },
  async run(call) {
    const { args } = call;
    const [run, hint] = args.length > 1 ? args : [undefined, args[0]];
    if (hint === undefined || hint.trim() === '')
      throw new Problems([
        { where: 'hint', what: 'there is none', fix: 'ralph tell "Look at src/login.ts"' },
      ]);
    if (hint.length > LONGEST_HINT)
      throw new Problems([
        {
          where: 'hint',
          what: `it has ${hint.length} characters`,
          fix: 'write it into a file and tell its name',
        },
      ]);
    return steer(call, run, { kind: 'tell', hint });
  },
};
