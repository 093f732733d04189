/** `ralph log`: a run's ledger, shown as the run was, or followed while it grows. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { RunEvent } from '../../domain/event.ts';
import {
  createEventFilter,
  EVENT_KINDS,
  type EventFilter,
  type EventKind,
  parseIterations,
} from '../../domain/event-filter.ts';
import { trustWith } from '../../domain/ledger-trust.ts';
import { closest, type Problem } from '../../domain/problem.ts';
import type { ExitCode } from '../../domain/stop-reason.ts';
import { pause } from '../../engine/wait.ts';
import type { UnitReading } from '../../fleet/reading.ts';
import { systemClock } from '../../platform/clock.ts';
import { errorWords } from '../../platform/error-words.ts';
import { watchFile } from '../../platform/follow.ts';
import { createLedgerLines } from '../../report/ledger-lines.ts';
import { type Entry, type JournalReader, openJournal } from '../../store/journal.ts';
import type { RunPaths } from '../../store/paths.ts';
import { isRunning } from '../../store/run-file.ts';
import { ledgerTrust } from '../../store/trust.ts';
import { type Call, type CliCommand, Problems, refuse } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { listenForSignals } from '../signals.ts';
import { RUN_ARGUMENT, RUN_DATABASE, warnOfLedger, withRun } from '../which-run.ts';

export const log: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .option(...RUN_DATABASE)
      .addHelpText(
        'after',
        '\nExamples:\n  ralph log\n  ralph log --follow\n  ralph log --only checks,verdicts\n  ralph log --iteration 3 --only words,tools\n  ralph log 20261115 --json | jq .type\n',
      );
    declareLog(command);
  },
  run: call => showLog(call, withRun),
};

/** The flags of `ralph log`, and of `ralph fleet logs`. */
export function declareLog(command: Command): void {
  command
    .option('--follow', 'continue until the run ends')
    .option('--only <kinds>', `only events of these kinds: ${EVENT_KINDS.join(', ')}`)
    .option('--iteration <n>', 'only these iterations: 3, 2-5 or 4-');
}

export function showLog(call: Call, find: typeof withRun): Promise<ExitCode> {
  const show = createShow(call, createEventFilter(filterOf(call.options)));
  return find(call, async ({ id, paths, unit }): Promise<ExitCode> => {
    if (!existsSync(paths.events))
      refuse(id, 'it has no ledger: it ended before it began', '`ralph status` lists the runs');
    const journal = openJournal(paths.events);
    try {
      show(journal.next());
      if (call.options.follow === true)
        await (unit ? followUnit(call, journal, unit, show) : follow(journal, paths, show));
    } finally {
      journal.close();
    }
    warnOfLedger(call.output, 'log', trustWith(ledgerTrust(paths), journal.problems()));
    if (journal.torn() > 0)
      call.output.error(
        'ralph log: the last line of the ledger is incomplete: the run was cut off while it wrote.\n',
      );
    return 0;
  });
}

/** Throws everything that is wrong with the flags at once. */
function filterOf({ only, iteration }: Call['options']): EventFilter {
  const words = typeof only === 'string' ? only.split(',').map(word => word.trim()) : [];
  const isKind = (word: string): word is EventKind => EVENT_KINDS.some(kind => kind === word);
  const kinds = words.filter(isKind);
  const iterations = typeof iteration === 'string' ? parseIterations(iteration) : undefined;
  const problems: Problem[] = words
    .filter(word => !isKind(word))
    .map(word => {
      const near = closest(word, EVENT_KINDS);
      const fix = near ? `did you mean ${near}?` : `one of ${EVENT_KINDS.join(', ')}`;
      return { where: `--only ${word}`, what: 'unknown kind of event', fix };
    });
  if (iteration !== undefined && iterations === undefined)
    problems.push({ where: `--iteration ${iteration}`, what: 'must be 3, 2-5 or 4-' });
  if (problems.length > 0) throw new Problems(problems);
  return { kinds, ...(iterations && { iterations }) };
}

type Show = (entries: readonly Entry[]) => void;

function createShow({ output }: Call, isWanted: (event: RunEvent) => boolean): Show {
  if (output.json) {
    return entries => {
      for (const entry of entries) if (isWanted(entry)) output.answer(`${JSON.stringify(entry)}\n`);
    };
  }
  const ledger = createLedgerLines({ ...styleOf(output), timestamps: true }, isWanted);
  return entries => {
    for (const line of [...entries.flatMap(ledger.lines), ...ledger.rest(systemClock.now())])
      output.answer(`${line}\n`);
  };
}

/** Ends with the run, with its process, or with Ctrl-C. */
async function follow(journal: JournalReader, paths: RunPaths, show: Show): Promise<void> {
  const signals = listenForSignals(() => {});
  await new Promise<void>(resolve => {
    const done = () => {
      watching.close();
      resolve();
    };
    const step = () => {
      const isAlive = isRunning(paths); // before the look: what it wrote last is still shown
      const entries = journal.next();
      show(entries);
      if (!isAlive || entries.some(entry => entry.type === 'run-ended')) done();
    };
    const watching = watchFile(paths.events, step, 1000);
    signals.stopping.addEventListener('abort', done);
    step();
  });
  signals.dispose();
}

/** Milliseconds. */
const ASK_EVERY = 1_000;

/** Ends with the unit, whoever works on it meanwhile, or with Ctrl-C. */
async function followUnit(call: Call, journal: JournalReader, unit: UnitReading, show: Show): Promise<void> {
  const { output } = call;
  const signals = listenForSignals(() => {});
  let trouble = '';
  while (!signals.stopping.aborted && !unit.isOver()) {
    await pause(ASK_EVERY, signals.stopping);
    const now = await unit.refresh().then(
      () => '',
      error => errorWords(error),
    );
    if (now !== '' && trouble === '')
      output.error(`ralph log: the database does not answer (${now}); trying again.\n`);
    trouble = now;
    show(journal.next());
  }
  signals.dispose();
  const { state, detail } = unit.unit();
  if (unit.isOver() && detail !== null) output.error(`ralph log: ${unit.id} ended as ${state}: ${detail}\n`);
}
