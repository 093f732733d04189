/** `ralph log`: a run's ledger, shown as the run was, or followed while it grows. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Integrated } from '../../domain/lanes/board.ts';
import type { RunEvent } from '../../domain/run/event.ts';
import {
  createEventFilter,
  EVENT_KINDS,
  type EventFilter,
  type EventKind,
  parseIterations,
} from '../../domain/run/event-filter.ts';
import {
  type KnownEntry,
  knownEntry,
  type RawEntry,
  unknownEntryWords,
} from '../../domain/run/ledger-entry.ts';
import { trustWith } from '../../domain/run/ledger-trust.ts';
import { fold, hasBegun, NOTHING_YET, type RunState } from '../../domain/run/state.ts';
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { didYouMean, type Problem } from '../../domain/text/problem.ts';
import type { UnitReading } from '../../fleet/reading.ts';
import { landedAs } from '../../opening/land.ts';
import { systemClock } from '../../platform/clock.ts';
import { errorWords } from '../../platform/error-words.ts';
import { createFormatter } from '../../report/format.ts';
import { followLedger } from '../../report/read-run.ts';
import type { Style } from '../../report/style.ts';
import { asText, labelOf, summaryLines } from '../../report/summary.ts';
import { pause } from '../../run/wait.ts';
import { type Entry, type JournalReader, openJournal } from '../../store/journal.ts';
import type { RunPaths } from '../../store/paths.ts';
import { type Call, type CliCommand, Problems, refuse } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { untilStopped } from '../signals.ts';
import { DATABASE, RUN_ARGUMENT, RUN_DATABASE, warnOfLedger, withRun, withUnit } from '../which-run.ts';
import { nextOfUnit } from './explain.ts';

export const log: CliCommand = {
  declare(command) {
    command.argument(...RUN_ARGUMENT).option(...RUN_DATABASE);
    declareLog(command);
  },
  help: '\nExamples:\n  ralph log\n  ralph log --follow\n  ralph log --only checks,verdicts\n  ralph log --iteration 3 --only words,tools\n  ralph log 20261115 --json | jq .type\n',
  run: call => showLog(call, withRun),
};

/** `ralph fleet logs`: what happened in a unit, wherever it was or is worked on. */
export const logs: CliCommand = {
  declare(command) {
    command.argument('[unit]', 'a unit, or part of its id; without it the latest').option(...DATABASE);
    declareLog(command);
  },
  help: '\nExamples:\n  ralph fleet logs 20261116-03 --follow\n  ralph fleet logs 20261116-03 --only checks,verdicts\n',
  run: call => showLog(call, withUnit),
};

function declareLog(command: Command): void {
  command
    .option('--follow', 'continue until the run ends')
    .option('--only <kinds>', `only events of these kinds: ${EVENT_KINDS.join(', ')}`)
    .option('--iteration <n>', 'only these iterations: 3, 2-5 or 4-');
}

function showLog(call: Call, find: typeof withRun): Promise<ExitCode> {
  const isWanted = createEventFilter(filterOf(call.options));
  return find(call, async ({ id, paths, unit }): Promise<ExitCode> => {
    if (!existsSync(paths.events))
      refuse(id, 'it has no ledger: it ended before it began', '`ralph status` lists the runs');
    const journal = openJournal(paths);
    const next = unit && ((past: RunState) => nextOfUnit(unit, hasBegun(past)));
    const show = createShow(call, isWanted, { landed: landedAs({ paths }), next });
    const trust = () => trustWith(paths.trust, journal.problems());
    try {
      const entries = journal.next();
      // What it says of its end is no end: nobody vouches for it.
      const isBelieved = call.output.json || trust().kind === 'intact';
      show(isBelieved ? entries : entries.filter(({ type }) => type !== 'run-ended'));
      if (call.options.follow === true)
        await (unit ? followUnit(call, journal, unit, show) : follow(journal, paths, show));
    } finally {
      journal.close();
    }
    const code = warnOfLedger(call.output, 'log', trust());
    if (journal.torn() > 0)
      call.output.error(
        'ralph log: the last line of the ledger is incomplete: the run was cut off while it wrote.\n',
      );
    return code;
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
    .map(word => ({
      where: `--only ${word}`,
      what: 'unknown kind of event',
      ...didYouMean(word, EVENT_KINDS, `one of ${EVENT_KINDS.join(', ')}`),
    }));
  if (iteration !== undefined && iterations === undefined)
    problems.push({ where: `--iteration ${iteration}`, what: 'must be 3, 2-5 or 4-' });
  if (problems.length > 0) throw new Problems(problems);
  return { kinds, ...(iterations && { iterations }) };
}

type Show = (entries: readonly Entry[]) => void;

function createShow({ output }: Call, isWanted: (event: RunEvent) => boolean, known: Known): Show {
  if (output.json) {
    return entries => {
      for (const entry of entries) if (isWanted(entry)) output.answer(`${JSON.stringify(entry)}\n`);
    };
  }
  const ledger = createLedgerLines({ ...styleOf(output), timestamps: true }, isWanted, known);
  return entries => {
    for (const line of [...entries.flatMap(ledger.lines), ...ledger.rest(systemClock.now())])
      output.answer(`${line}\n`);
  };
}

/** Ends with the run, with its process, or with Ctrl-C. */
async function follow(journal: JournalReader, paths: RunPaths, show: Show): Promise<void> {
  await untilStopped(async stopping => {
    for await (const entries of followLedger(journal, paths, stopping)) show(entries);
  });
}

/** Milliseconds. */
const ASK_EVERY = 1_000;

/** Ends with the unit, whoever works on it meanwhile, or with Ctrl-C. */
async function followUnit(call: Call, journal: JournalReader, unit: UnitReading, show: Show): Promise<void> {
  const { output } = call;
  let trouble = '';
  await untilStopped(async stopping => {
    while (!stopping.aborted && !unit.isOver()) {
      await pause(ASK_EVERY, stopping);
      const now = await unit.refresh().then(() => '', errorWords);
      if (now !== '' && trouble === '')
        output.error(`ralph log: the database does not answer (${now}); trying again.\n`);
      trouble = now;
      show(journal.next());
    }
  });
  const { state, detail } = unit.unit();
  if (unit.isOver() && detail !== null) output.error(`ralph log: ${unit.id} ended as ${state}: ${detail}\n`);
}

/** What the ledger does not say. */
interface Known {
  /** Since it was written. */
  readonly landed: Integrated | undefined;
  /** Of a unit of a fleet: what to do next. */
  readonly next: ((past: RunState) => readonly string[]) | undefined;
}

/** A ledger as lines for people. What another version wrote, or what is damaged, is shown as unknown. */
function createLedgerLines(style: Style, isWanted: (event: RunEvent) => boolean, { landed, next }: Known) {
  const formatter = createFormatter(style);
  let state = NOTHING_YET;
  const linesOf = (entry: KnownEntry): readonly string[] => {
    const time = Date.parse(entry.at);
    state = fold(state, { ...entry, time });
    if (!isWanted(entry)) return [];
    const lines = formatter.lines(entry, time);
    if (entry.type !== 'run-ended') return lines;
    const label = { ...labelOf(state), ...(landed && { integrated: landed }), next: next?.(state) };
    return [...lines, '', ...asText(summaryLines(entry.result, label))];
  };
  const unknown = (entry: RawEntry): readonly string[] => {
    const event: RunEvent = { type: 'notice', level: 'warning', text: unknownEntryWords(entry) };
    return isWanted(event)
      ? formatter.lines(event, typeof entry.at === 'string' ? Date.parse(entry.at) || 0 : 0)
      : [];
  };
  return {
    rest: formatter.rest,
    lines(entry: RawEntry): readonly string[] {
      const known = knownEntry(entry);
      try {
        return known ? linesOf(known) : unknown(entry);
      } catch {
        return unknown(entry); // how deep the damage goes only shows here
      }
    },
  };
}
