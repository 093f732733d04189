/** `ralph fleet status`: the units, who works on them, and what those wait for that nobody works on. */

import { endingOf, isSuccess } from '../../../domain/run/stop-reason.ts';
import { dollars as money } from '../../../domain/turn/dollars.ts';
import { openFleet } from '../../../fleet/open.ts';
import type { Unit } from '../../../fleet/unit.ts';
import { type FleetView, readFleet, waitsFor } from '../../../fleet/view.ts';
import { answer, type CliCommand, orThrow } from '../../command.ts';
import { watch } from '../../signals.ts';
import { DATABASE } from '../../which-run.ts';

export const status: CliCommand = {
  declare: command =>
    command
      .argument('[unit]', 'a unit, or part of its id')
      .option(...DATABASE)
      .option('-a, --all', 'also those that ended more than a day ago')
      .option('--watch', 'show it again whenever it changes, until Ctrl-C'),
  help: '\nExamples:\n  ralph fleet status\n  ralph fleet status --watch\n  ralph fleet status --json | jq .units\n',
  async run(call) {
    const { options, env, output, args } = call;
    const database = orThrow(await openFleet(options, env));
    try {
      const look = () => readFleet(database, { words: args[0] ?? '', all: options.all === true });
      if (options.watch !== true) {
        const view = await look();
        const units = view.units.map(unit => ({ ...unit, waitsFor: waitsFor(unit, view) ?? null }));
        answer(output, { ...view, units }, () => fleetLines(view).join('\n'));
        return 0;
      }
      return await watch(output, async () => `${fleetLines(await look()).join('\n')}\n`);
    } finally {
      await database.close();
    }
  },
};

export function fleetLines(view: FleetView): readonly string[] {
  const { units, workers, accounts } = view;
  const budgets = view.budgets.filter(({ unit }) => unit === null);
  const rows = units.map(unit => [
    unit.id,
    unit.state,
    unit.worker ?? '-',
    String(iterationsOf(unit, units)),
    unit.cost === null ? '-' : money(unit.cost),
    [unit.title, waitsFor(unit, view) ?? unit.detail ?? endedWords(unit)].filter(Boolean).join(' — '),
  ]);
  return [
    ...table([['UNIT', 'STATE', 'WORKER', 'ITER', 'COST', 'WHAT'], ...rows]),
    ...(units.length === 0
      ? ['There are no units: `ralph fleet submit loop "…" --check "…"` adds one.']
      : []),
    '',
    ...(workers.length === 0
      ? ['No worker is running: start one with `ralph worker`.']
      : table([
          ['WORKER', 'BUSY', 'LABELS', ''],
          ...workers.map(({ id, busy, slots, labels, draining, silence }) => [
            id,
            `${busy}/${slots}`,
            labels.join(', '),
            silence > 15 ? `not seen for ${Math.round(silence)} s` : draining ? 'takes nothing more' : '',
          ]),
        ])),
    ...(budgets.length === 0
      ? []
      : [
          '',
          ...table([
            ['BUDGET', 'SPENT', 'HELD', 'OF'],
            ...budgets.map(({ id, spent, reserved, cap }) => [id, money(spent), money(reserved), money(cap)]),
          ]),
        ]),
    ...accounts
      .filter(({ limited }) => limited > 0)
      .map(({ id, limited }) => `The account ${id} is limited for another ${Math.ceil(limited)} s.`),
  ];
}

/** Why it stopped, where nobody has said more. */
function endedWords({ stopReason }: Unit): string | undefined {
  return stopReason === null || isSuccess(stopReason) ? undefined : endingOf(stopReason).short;
}

/** A list has those of its stories. */
function iterationsOf({ id, kind, iterations }: Unit, units: readonly Unit[]): number {
  if (kind !== 'prd') return iterations;
  return units.filter(({ parent }) => parent === id).reduce((sum, story) => sum + story.iterations, 0);
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map(row => (row[at] ?? '').length)));
  return rows.map(row =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
