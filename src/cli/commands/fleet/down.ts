/** `ralph fleet down`: stops the server of one's own; its data stays unless the user says otherwise. */
import { createInterface } from 'node:readline/promises';
import { rememberedUrl } from '../../../fleet/database-url.ts';
import { type Down, readRecord, takeDown } from '../../../fleet/server.ts';
import { answer, type Call, type CliCommand, orThrow, refuse, refuseInside } from '../../command.ts';

export const down: CliCommand = {
  declare(command) {
    command
      .option('--remove', 'also delete its data: all units, their events, all budgets')
      .option('--yes', 'do not ask before deleting')
      .addHelpText('after', '\nExamples:\n  ralph fleet down\n  ralph fleet down --remove --yes\n');
  },
  async run(call) {
    refuseInside('fleet down', call);
    const { options, env, cwd, output } = call;
    const remove = options.remove === true;
    if (remove && !(await isSure(call))) {
      output.error('Nothing was removed.\n');
      return 1;
    }
    const isOwn = readRecord(env) !== undefined;
    const done = orThrow(await takeDown({ remove }, env, cwd));
    answer(output, done, () => describe(done, isOwn));
    return 0;
  },
};

async function isSure({ options, env }: Call): Promise<boolean> {
  if (options.yes === true) return true;
  const what = readRecord(env)?.folder ?? (rememberedUrl(env) && 'the remembered URL');
  if (what === undefined) return true;
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    refuse('--remove', 'deletes the data of the fleet for good', 'add --yes');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await lines.question(`Delete ${what} for good? (y/N): `)).trim());
  } finally {
    lines.close();
  }
}

function describe({ did, removed, folder }: Down, isOwn: boolean): string {
  if (!isOwn)
    return removed
      ? 'Forgot the database; it was not touched.'
      : 'No PostgreSQL of `ralph fleet up` is here, so there is nothing to stop.';
  const stopped = did === 'stopped' ? 'Stopped the PostgreSQL.' : 'The PostgreSQL was not running.';
  return removed
    ? `${stopped} Deleted its data in ${folder}.`
    : `${stopped} Its data stays in ${folder}: \`ralph fleet up\` starts it again.`;
}
