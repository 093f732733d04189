/** `ralph hook HOST EVENT`: what a host's hook calls, when it does not call the plugin's own program. */
import { readFileSync } from 'node:fs';
import { DIALECTS } from '../../agents/registry.ts';
import { runHook } from '../../hooks/main.ts';
import type { CliCommand } from '../command.ts';

export const hook: CliCommand = {
  declare: command =>
    command
      .argument('<host>', `${DIALECTS.map(({ host }) => host).join(', ')} or auto`)
      .argument('<event>', "the host's own name of the event"),
  help: '\nExamples:\n  ralph hook claude Stop < input.json\n',
  async run({ args: [host = '', event = ''], env, output }) {
    output.document(await runHook(host, event, readFileSync(0, 'utf8'), env));
    return 0;
  },
};
