/** `ralph tell`: words for the agent, in its next prompt, once. */
import { LONGEST_TEXT } from '../../store/inbox.ts';
import { type CliCommand, Problems } from '../command.ts';
import { RUN_ARGUMENT, steer } from '../live-run.ts';

export const tell: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .argument('[text]', 'what to tell the agent')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph tell "The bug is in src/login.ts, not in the tests"\n  ralph tell 20261115 "Use the helper in src/dates.ts"\n\nThe agent reads it at the beginning of its next iteration, and only then.\n',
      );
  },
  async run(call) {
    const { args } = call;
    const [run, text] = args.length > 1 ? args : [undefined, args[0]];
    if (text === undefined || text.trim() === '')
      throw new Problems([
        { where: 'text', what: 'there is none', fix: 'ralph tell "Look at src/login.ts"' },
      ]);
    if (text.length > LONGEST_TEXT)
      throw new Problems([
        {
          where: 'text',
          what: `it has ${text.length} characters; at most ${LONGEST_TEXT}`,
          fix: 'write it to a file, and tell the agent its name',
        },
      ]);
    return steer(call, run, { kind: 'tell', text });
  },
};
