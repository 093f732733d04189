/** `ralph simulate`: the user's own settings against scripted failures, in a temporary copy. */

import { settingsFromFlags } from '../../config/flags.ts';
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { TROUBLES } from '../../library/sim/scenarios/trouble.ts';
import { type SimulationStart, simulateFailures } from '../../library/simulate.ts';
import { type Simulated, simulatedLines } from '../../report/simulate.ts';
import { createStopRequest } from '../../run/stop.ts';
import { type Call, type CliCommand, Problems } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { collect } from '../set-up.ts';
import { listenForSignals } from '../signals.ts';

export const simulate: CliCommand = {
  declare: command =>
    command
      .argument('[trouble...]', `one or more of ${TROUBLES.join(', ')}; default: all`)
      .option('--check <command>', 'a check, beside those of the settings', collect)
      .option('--protect <glob>', 'a protected path, beside those of the settings', collect)
      .option('--keep', 'keep the copy'),
  help: `
Examples:
  ralph simulate
  ralph simulate lie tamper --protect "test/**"
  ralph simulate --json | jq '.simulated[] | select(.weakness)'

Your settings, checks, limits and protected paths, with an agent that needs no
model and fails first. Everything happens in a copy; your files, your
remote and your agents are not touched. Timeouts are shortened to seconds.
Exit code 1: a failure was not caught.
`,
  async run(call) {
    const { root, env, args, options, output } = call;
    const stop = createStopRequest();
    const signals = listenForSignals(() => {}, stop);
    const { check, protect } = options;
    let copy = '';
    try {
      const ended = await simulateFailures({
        ...{ root, env, wanted: args, stop, keep: options.keep === true },
        given: settingsFromFlags('loop', { check, protect }),
        begins(about) {
          ({ copy } = about);
          announce(call, about);
        },
        tried(simulated) {
          if (!output.json) output.human(`${simulatedLines(simulated, styleOf(output)).join('\n')}\n\n`);
        },
      });
      if (!('simulated' in ended)) throw new Problems(ended);
      return ended.interrupted ? 130 : conclude(call, ended.simulated);
    } finally {
      if (options.keep === true && copy !== '') output.human(`The copy is in ${copy}\n`);
      signals.dispose();
    }
  },
};

function announce({ output }: Call, { command, notes, calm }: SimulationStart): void {
  for (const note of notes) output.error(`ralph simulate: ${note}\n`);
  output.human(`Simulating \`ralph ${command}\` with your settings, in a copy.\n\n`);
  if (calm !== undefined) output.human(`${calm}\n\n`);
}

function conclude({ output }: Call, all: readonly Simulated[]): ExitCode {
  if (output.json) output.answer(`${JSON.stringify({ simulated: all })}\n`);
  else output.human(`${closing(all)}\n`);
  return all.some(each => each.weakness !== undefined) ? 1 : 0;
}

function closing(all: readonly Simulated[]): string {
  const weak = all.filter(each => each.weakness !== undefined);
  if (weak.length === 0) return 'Every failure was caught.';
  return `Not caught: ${weak.map(each => each.trouble).join(', ')}.`;
}
