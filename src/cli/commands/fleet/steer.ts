/** The commands that steer units and workers: cancel, tell, pause, continue, drain, budget, account. */
import { userInfo } from 'node:os';
import type { ExitCode } from '../../../domain/run/stop-reason.ts';
import { sendToUnit } from '../../../fleet/commands.ts';
import type { Database } from '../../../fleet/database.ts';
import { findUnit } from '../../../fleet/units.ts';
import type { Message } from '../../../store/inbox.ts';
import { answer, type Call, type CliCommand, orThrow, refuse, refuseInside } from '../../command.ts';
import { DATABASE, withDatabase } from '../../which-run.ts';

export async function withFleet(
  call: Call,
  name: string,
  act: (database: Database) => Promise<ExitCode>,
): Promise<ExitCode> {
  refuseInside(`fleet ${name}`, call);
  return withDatabase(call, act);
}

/** Does one thing in the database; returns what to answer, for programs and in a sentence. */
type Act = (database: Database, args: readonly string[]) => Promise<readonly [value: object, words: string]>;

function acting(
  name: string,
  takes: readonly (readonly [string, string])[],
  example: string,
  act: Act,
): CliCommand {
  return {
    declare(command) {
      for (const argument of takes) command.argument(...argument);
      command.option(...DATABASE);
    },
    help: `\nExample:\n  ralph fleet ${name} ${example}\n`,
    run: call =>
      withFleet(call, name, async database => {
        const [value, words] = await act(database, call.args);
        answer(call.output, value, () => words);
        return 0;
      }),
  };
}

const UNIT = ['<unit>', 'a unit, or part of its id'] as const;
const TEXT = ['[text]', 'for tell: what the agent should know'] as const;

/** Sends a message to the unit that is named, whoever has it. */
function sending(messageOf: (args: readonly string[]) => Message): Act {
  return async (database, args) => {
    const unit = orThrow(await findUnit(database, args[0]));
    const order = messageOf(args);
    const sent = await sendToUnit(database, unit, order, userInfo().username);
    const { done, isCancelled, message } = sent;
    if (!done) refuse(unit.id, `it is over: ${sent.state}`);
    const more = order.kind === 'cancel' && { cancelled: isCancelled === true };
    return [{ unit: unit.id, ...more }, message];
  };
}

const tellMessage = ([, text = '']: readonly string[]): Message =>
  text.trim() === ''
    ? refuse('text', 'there is none', 'ralph fleet tell UNIT "Look at src/login.ts"')
    : { kind: 'tell', text };
const withText = [UNIT, TEXT];
export const tell = acting('tell', withText, '20261116-03 "Dates are in UTC"', sending(tellMessage));
const UNIT_EXAMPLE = '20261116-03';
const pausing = sending(() => ({ kind: 'pause' }));
const continuing = sending(() => ({ kind: 'continue' }));
const cancelling = sending(() => ({ kind: 'cancel', gently: false }));
export const pause = acting('pause', withText, UNIT_EXAMPLE, pausing);
export const continueUnit = acting('continue', withText, UNIT_EXAMPLE, continuing);
export const cancel = acting('cancel', [UNIT], UNIT_EXAMPLE, cancelling);

export const drain = acting(
  'drain',
  [['<worker>', 'its name in `ralph fleet status`']],
  'build-1-3fa2\n\nThe worker takes nothing more, gives back what it has, and ends.',
  async (database, [name]) => {
    const update = 'update ralph.worker set draining = true where id = $1';
    const { rowCount } = await database.query(update, [name]);
    if (rowCount === 0)
      refuse(name ?? 'worker', 'there is no such worker', '`ralph fleet status` lists them');
    return [{ worker: name }, `${name} takes nothing more and ends when it has given back what it has.`];
  },
);

export const budget = acting(
  'budget',
  [
    ['<name>', 'the budget'],
    ['<dollars>', 'the most that its units may spend together'],
  ],
  'team 50',
  async (database, [name = '', given = '']) => {
    const cap = Number(given.replace(/^\$/, ''));
    if (given.trim() === '' || !Number.isFinite(cap) || cap < 0)
      refuse(`budget ${given}`, 'must be a number of dollars');
    await database.query(
      'insert into ralph.budget (id, owner, cap) values ($1, $2, $3) on conflict (id) do update set cap = $3',
      [name, userInfo().username, cap],
    );
    return [{ budget: name, cap }, `The units of ${name} may spend $${cap} together.`];
  },
);

export const account = acting(
  'account',
  [
    ['<name>', 'the account'],
    ['<slots>', 'how many units may use it at a time; 0: any number'],
  ],
  'team 4',
  async (database, [name = '', given = '']) => {
    const slots = Number(given);
    if (given.trim() === '' || !Number.isSafeInteger(slots) || slots < 0)
      refuse(`account ${given}`, 'must be a whole number');
    await database.query(
      'insert into ralph.account (id, slots) values ($1, $2) on conflict (id) do update set slots = $2',
      [name, slots === 0 ? null : slots],
    );
    const units = slots === 0 ? 'Any number of units' : `${slots} units`;
    return [{ account: name, slots }, `${units} may use ${name} at a time.`];
  },
);
