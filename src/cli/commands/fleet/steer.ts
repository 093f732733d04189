/** The commands that steer units and workers: cancel, tell, pause, continue, drain, budget, account. */
import { userInfo } from 'node:os';
import type { ExitCode } from '../../../domain/stop-reason.ts';
import { cancelUnit, tellUnit } from '../../../fleet/commands.ts';
import type { Database } from '../../../fleet/database.ts';
import { findUnit } from '../../../fleet/find-unit.ts';
import { openFleet } from '../../../fleet/open.ts';
import { OVER } from '../../../fleet/unit.ts';
import type { Message } from '../../../store/inbox.ts';
import { answer, type Call, type CliCommand, orThrow, refuse, refuseInside } from '../../command.ts';
import { DATABASE } from './database-option.ts';

export async function withFleet(
  call: Call,
  name: string,
  act: (database: Database) => Promise<ExitCode>,
): Promise<ExitCode> {
  refuseInside(`fleet ${name}`, call);
  const database = orThrow(await openFleet(call.options, call.env));
  try {
    return await act(database);
  } finally {
    await database.close();
  }
}

function steered(
  name: string,
  message: (args: readonly string[]) => Message,
  done: string,
  example: string,
): CliCommand {
  return {
    declare(command) {
      command
        .argument('<unit>', 'a unit, or part of its id')
        .argument('[text]', 'for tell: what the agent should know')
        .option(...DATABASE)
        .addHelpText('after', `\nExample:\n  ${example}\n`);
    },
    run: call =>
      withFleet(call, name, async database => {
        const unit = orThrow(await findUnit(database, call.args[0]));
        if (OVER.includes(unit.state)) refuse(unit.id, `it is over: ${unit.state}`);
        await tellUnit(database, unit.id, message(call.args), userInfo().username);
        answer(call.output, { unit: unit.id }, () => `${unit.id}: ${done}`);
        return 0;
      }),
  };
}

export const tell = steered(
  'tell',
  ([, text = '']) =>
    text.trim() === ''
      ? refuse('text', 'there is none', 'ralph fleet tell UNIT "Look at src/login.ts"')
      : { kind: 'tell', text },
  'the agent reads it at the beginning of its next iteration.',
  'ralph fleet tell 20261116-03 "Dates are in UTC"',
);
export const pause = steered(
  'pause',
  () => ({ kind: 'pause' }),
  'it pauses after this step.',
  'ralph fleet pause 20261116-03',
);
export const continueUnit = steered(
  'continue',
  () => ({ kind: 'continue' }),
  'it continues.',
  'ralph fleet continue 20261116-03',
);

export const cancel: CliCommand = {
  declare(command) {
    command
      .argument('<unit>', 'a unit, or part of its id')
      .option(...DATABASE)
      .addHelpText('after', '\nExample:\n  ralph fleet cancel 20261116-03\n');
  },
  run: call =>
    withFleet(call, 'cancel', async database => {
      const unit = orThrow(await findUnit(database, call.args[0]));
      if (OVER.includes(unit.state)) refuse(unit.id, `it is over: ${unit.state}`);
      const isOver = await cancelUnit(database, unit.id, userInfo().username);
      answer(
        call.output,
        { unit: unit.id, cancelled: isOver },
        () =>
          `${unit.id}: ${isOver ? 'cancelled' : `its worker ${unit.worker} stops it within two seconds; its work is kept`}`,
      );
      return 0;
    }),
};

export const drain: CliCommand = {
  declare(command) {
    command
      .argument('<worker>', 'its name in `ralph fleet status`')
      .option(...DATABASE)
      .addHelpText(
        'after',
        '\nExample:\n  ralph fleet drain build-1-3fa2\n\nThe worker takes nothing more, gives back what it has, and ends.\n',
      );
  },
  run: call =>
    withFleet(call, 'drain', async database => {
      const [name] = call.args;
      const { rowCount } = await database.query('update ralph.worker set draining = true where id = $1', [
        name,
      ]);
      if (rowCount === 0)
        refuse(name ?? 'worker', 'there is no such worker', '`ralph fleet status` lists them');
      answer(
        call.output,
        { worker: name },
        () => `${name} takes nothing more and ends when it has given back what it has.`,
      );
      return 0;
    }),
};

export const budget: CliCommand = {
  declare(command) {
    command
      .argument('<name>', 'the budget')
      .argument('<dollars>', 'the most that its units may spend together')
      .option(...DATABASE)
      .addHelpText('after', '\nExample:\n  ralph fleet budget team 50\n');
  },
  run: call =>
    withFleet(call, 'budget', async database => {
      const [name = '', given = ''] = call.args;
      const cap = Number(given.replace(/^\$/, ''));
      if (given.trim() === '' || !Number.isFinite(cap) || cap < 0)
        refuse(`budget ${given}`, 'must be a number of dollars');
      await database.query(
        'insert into ralph.budget (id, owner, cap) values ($1, $2, $3) on conflict (id) do update set cap = $3',
        [name, userInfo().username, cap],
      );
      answer(call.output, { budget: name, cap }, () => `The units of ${name} may spend $${cap} together.`);
      return 0;
    }),
};

export const account: CliCommand = {
  declare(command) {
    command
      .argument('<name>', 'the account')
      .argument('<slots>', 'how many units may use it at a time; 0: any number')
      .option(...DATABASE)
      .addHelpText('after', '\nExample:\n  ralph fleet account team 4\n');
  },
  run: call =>
    withFleet(call, 'account', async database => {
      const [name = '', given = ''] = call.args;
      const slots = Number(given);
      if (given.trim() === '' || !Number.isSafeInteger(slots) || slots < 0)
        refuse(`account ${given}`, 'must be a whole number');
      await database.query(
        'insert into ralph.account (id, slots) values ($1, $2) on conflict (id) do update set slots = $2',
        [name, slots === 0 ? null : slots],
      );
      answer(
        call.output,
        { account: name, slots },
        () => `${slots === 0 ? 'Any number of units' : `${slots} units`} may use ${name} at a time.`,
      );
      return 0;
    }),
};
