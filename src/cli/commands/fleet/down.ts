/** `ralph fleet down`: stops the server of one's own; its data stays unless the user says otherwise. */
import { createInterface } from 'node:readline/promises';
import { listSome } from '../../../domain/text/feedback.ts';
import { rememberedUrl } from '../../../fleet/database-url.ts';
import { type Down, readRecord, takeDown, unitsInWork } from '../../../fleet/server.ts';
import { counted } from '../../../report/numbers.ts';
import { answer, type CliCommand, orThrow, refuse, refuseInside } from '../../command.ts';

export const down: CliCommand = {
  declare: command =>
    command
      .option('--remove', 'also delete its data: all units, their events, all budgets')
      .option('--yes', 'do not ask, neither before deleting nor while units are being worked on'),
  help: '\nExamples:\n  ralph fleet down\n  ralph fleet down --remove --yes\n',
  async run(call) {
    refuseInside('fleet down', call);
    const { options, env, cwd, output } = call;
    const remove = options.remove === true;
    const working = options.yes === true ? [] : await unitsInWork(env);
    if (working.length > 0 && !(await isSure('fleet down', workingWords(working)))) {
      output.error('Nothing was stopped.\n');
      return 1;
    }
    const what = readRecord(env)?.folder ?? (rememberedUrl(env) && 'the remembered URL');
    const asks = remove && options.yes !== true && what !== undefined;
    if (asks && !(await isSure('--remove', removeWords(what)))) {
      output.error('Nothing was removed.\n');
      return 1;
    }
    const isOwn = readRecord(env) !== undefined;
    const done = orThrow(await takeDown({ remove }, env, cwd));
    answer(output, done, () => describe(done, isOwn));
    return 0;
  },
};

/** What is asked on a terminal, and why it is refused without one. */
interface Asked {
  readonly question: string;
  readonly refused: string;
  readonly fix: string;
}

const removeWords = (what: string): Asked => ({
  question: `Delete ${what} for good?`,
  refused: 'deletes the data of the fleet for good',
  fix: 'add --yes',
});

function workingWords(units: readonly string[]): Asked {
  const work = `${counted(units.length, 'unit')} ${units.length === 1 ? 'is' : 'are'} being worked on: ${listSome(units)}`;
  return {
    question: `${work}. Stop the database under ${units.length === 1 ? 'it' : 'them'}?`,
    refused: work,
    fix: 'wait for the end (`ralph fleet status --watch`), stop it with `ralph fleet cancel UNIT`, or add --yes',
  };
}

async function isSure(where: string, { question, refused, fix }: Asked): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) refuse(where, refused, fix);
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} (y/N): `)).trim());
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
