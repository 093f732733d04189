/** `ralph fleet status`: the units, who works on them, and what those wait for that nobody works on. */

import { endingOf, isSuccess } from '../../../domain/run/stop-reason.ts';
import { dollars as money } from '../../../domain/turn/usage.ts';
import type { Unit, UnitState } from '../../../fleet/unit.ts';
import { type FleetView, readFleet, waitsFor } from '../../../fleet/view.ts';
import { clip } from '../../../platform/text.ts';
import { counted } from '../../../report/numbers.ts';
import { phrase } from '../../../report/phrases.ts';
import { table } from '../../../report/style.ts';
import { answer, type CliCommand } from '../../command.ts';
import { watch } from '../../signals.ts';
import { DATABASE, withDatabase } from '../../which-run.ts';

export const status: CliCommand = {
  declare: command =>
    command
      .argument('[unit]', 'a unit, or part of its id')
      .option(...DATABASE)
      .option('-a, --all', 'also those that ended more than a day ago')
      .option('--watch', 'show it again whenever it changes, until Ctrl-C'),
  help: '\nExamples:\n  ralph fleet status\n  ralph fleet status --watch\n  ralph fleet status --json | jq .units\n',
  run: call =>
    withDatabase(call, async database => {
      const { options, output, args } = call;
      const look = () => readFleet(database, { words: args[0] ?? '', all: options.all === true });
      if (options.watch !== true) {
        const view = await look();
        const units = view.units.map(unit => ({ ...unit, waitsFor: waitsFor(unit, view) ?? null }));
        answer(output, { ...view, units }, () => fleetLines(view).join('\n'));
        return 0;
      }
      return await watch(output, async room => {
        const lines = fleetLines(await look(), room);
        return `${lines.map(line => clip(line, output.columns())).join('\n')}\n`;
      });
    }),
};

/** `room`: how many lines there may be; what is left out is counted. */
export function fleetLines(view: FleetView, room = Infinity): readonly string[] {
  const { units, accounts } = view;
  const around = [
    '',
    ...workerLines(view, room / 3),
    ...budgetLines(view),
    ...accounts
      .filter(({ limited }) => limited > 0)
      .map(({ id, limited }) => `The account ${phrase(id)} is limited for another ${Math.ceil(limited)} s.`),
  ];
  // Its head and the line that counts the rest are lines, too.
  const most = Math.max(1, room - around.length - 2);
  const isCut = units.length > most;
  const shown = isCut ? [...units].sort(byUrgency).slice(0, most) : units;
  const rows = shown.map(unit => [
    unit.id,
    unit.state,
    unit.worker ?? '-',
    String(iterationsOf(unit, units)),
    unit.cost === null ? '-' : money(unit.cost),
    [unit.title, waitsFor(unit, view) ?? unit.detail ?? endedWords(unit), unit.pullRequest]
      .filter(Boolean)
      .join(' — '),
  ]);
  return [
    ...safeTable([['UNIT', 'STATE', 'WORKER', 'ITER', 'COST', 'WHAT'], ...rows]),
    ...(units.length === 0
      ? ['There are no units: `ralph fleet submit loop "…" --check "…"` adds one.']
      : []),
    ...(isCut ? [`${most} of ${counts(units)}. \`ralph fleet status\` lists them all.`] : []),
    ...around,
  ];
}

/** Why it stopped, where nobody has said more. */
function endedWords({ stopReason }: Unit): string | undefined {
  return stopReason === null || isSuccess(stopReason) ? undefined : endingOf(stopReason).short;
}

/** What is worked on, what was stopped, what waits, what is done; of each the latest first. */
const URGENCY: readonly UnitState[] = [
  ...(['running', 'lost', 'stopped', 'parked', 'admitted'] as const),
  ...(['ready', 'waiting', 'done', 'cancelled'] as const),
];

function byUrgency(one: Unit, other: Unit): number {
  return (
    URGENCY.indexOf(one.state) - URGENCY.indexOf(other.state) ||
    Number(other.submittedAt) - Number(one.submittedAt)
  );
}

function counts(units: readonly Unit[]): string {
  const each = URGENCY.map(state => [units.filter(unit => unit.state === state).length, state] as const);
  const words = each.filter(([count]) => count > 0).map(([count, state]) => `${count} ${state}`);
  return `${counted(units.length, 'unit')}: ${words.join(', ')}`;
}

function workerLines({ workers }: FleetView, room: number): readonly string[] {
  if (workers.length === 0) return ['No worker is running: start one with `ralph worker`.'];
  const most = Math.max(1, Math.floor(room) - 2);
  const shown = workers.length > most + 1 ? workers.slice(0, most) : workers;
  const rows = shown.map(({ id, busy, slots, labels, draining, silence }) => [
    id,
    `${busy}/${slots}`,
    labels.join(', '),
    silence > 15 ? `not seen for ${Math.round(silence)} s` : draining ? 'takes nothing more' : '',
  ]);
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  const busy = workers.reduce((sum, worker) => sum + worker.busy, 0);
  return [
    ...safeTable([['WORKER', 'BUSY', 'LABELS', ''], ...rows]),
    ...(shown === workers
      ? []
      : [`${shown.length} of ${workers.length} workers, which have ${busy}/${slots} units.`]),
  ];
}

function budgetLines(view: FleetView): readonly string[] {
  const budgets = view.budgets.filter(({ unit }) => unit === null);
  if (budgets.length === 0) return [];
  const rows = budgets.map(({ id, spent, reserved, cap }) => [id, money(spent), money(reserved), money(cap)]);
  return ['', ...safeTable([['BUDGET', 'SPENT', 'HELD', 'OF'], ...rows])];
}

/** A list has those of its stories. */
function iterationsOf({ id, kind, iterations }: Unit, units: readonly Unit[]): number {
  if (kind !== 'prd') return iterations;
  return units.filter(({ parent }) => parent === id).reduce((sum, story) => sum + story.iterations, 0);
}

/** Whoever can write to the database has written the cells. */
function safeTable(rows: readonly (readonly string[])[]): readonly string[] {
  return table(rows.map(row => row.map(phrase)));
}
