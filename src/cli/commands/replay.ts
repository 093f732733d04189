/** `ralph replay`: judges a recorded run again, with the adapters and the judge of this version. */
import type { Settings } from '../../config/settings-shape.ts';
import type { LoopCommand } from '../../domain/run/event.ts';
import { trustWith } from '../../domain/run/ledger-trust.ts';
import { type ExitCode, endingOf } from '../../domain/run/stop-reason.ts';
import type { Verdict } from '../../domain/run/verdict.ts';
import { whyNotDone } from '../../report/check-views.ts';
import { counted } from '../../report/numbers.ts';
import { phrase } from '../../report/phrases.ts';
import { hanging, markLines, type Style } from '../../report/style.ts';
import { DONE_RULES } from '../../run/turns/goal.ts';
import { type ReplayedIteration, replayIteration } from '../../run/turns/replay.ts';
import { readIterations } from '../../store/checkpoint.ts';
import { readRunFile } from '../../store/run-file.ts';
import { answer, type Call, type CliCommand, refuse } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { RUN_ARGUMENT, type WantedRun, warnOfLedger, withRun } from '../which-run.ts';

export const replay: CliCommand = {
  declare: command => command.argument(...RUN_ARGUMENT),
  help: `
Examples:
  ralph replay
  ralph replay 20261115 --json | jq '.iterations[] | select(.same | not)'

Reads the raw streams in the run's folder with the adapters of this version,
takes the checks from the ledger, judges each iteration again, and says whether
the verdict is the same. Runs nothing and changes nothing.
Exit code 0: all the same; 1: at least one differs or cannot be read, or the
ledger is not verified.
`,
  run: call => withRun(call, run => show(call, run)),
};

async function show({ output }: Call, { id, paths, unit }: WantedRun): Promise<ExitCode> {
  if (unit)
    refuse(
      id,
      'a unit of the fleet cannot be judged again here: the raw streams of its agents stay on the worker',
    );
  const file = readRunFile(paths);
  const { iterations: recorded, problems } = readIterations(paths);
  const terms =
    file && file.command in DONE_RULES ? DONE_RULES[file.command as keyof typeof DONE_RULES] : undefined;
  if (!file || !terms) {
    const what = `a run of \`ralph ${file?.command ?? 'unknown'}\` cannot be judged again from its folder`;
    refuse(id, what, 'replay works for ralph run, ralph loop and ralph prd run');
  }
  const settings = file.config as Settings;
  const damaged: string[] = [];
  const iterations = recorded.flatMap(each => {
    try {
      return replayIteration({ paths, settings, terms: terms(settings) }, each) ?? [];
    } catch {
      damaged.push(`the record of iteration ${each.number} is damaged: it was not judged again`);
      return [];
    }
  });
  const ledger = trustWith(paths.trust, problems);
  // What nobody vouches for is not judged: a verdict of it would be read as one.
  if (warnOfLedger(output, 'replay', ledger) !== 0) {
    answer(output, { runId: id, same: false, ledger, iterations: [] }, () => `Run ${id}: not judged again`);
    return 1;
  }
  const same = iterations.every(each => each.same) && damaged.length === 0;
  for (const problem of damaged) output.error(`ralph replay: ${problem}\n`);
  answer(output, { runId: id, same, ledger, iterations }, () =>
    [`Run ${id}, judged again`, '', ...replayLines(iterations, file.command, styleOf(output))].join('\n'),
  );
  return same ? 0 : 1;
}

/** Each verdict, and whether the judge of this version agrees. */
function replayLines(
  rows: readonly ReplayedIteration[],
  command: LoopCommand,
  style: Style,
): readonly string[] {
  const different = rows.filter(row => !row.same).length;
  const lines = rows.flatMap(row => [
    ...markLines(
      style,
      row.same ? 'ok' : 'error',
      `Iteration ${row.iteration}: ${row.same ? 'the same' : 'DIFFERENT'}: ${words(row.recorded, command)}`,
    ),
    ...(row.same ? [] : hanging(style, '   ', `today: ${words(row.today, command)}`)),
    ...row.differences.flatMap(text => hanging(style, '   ', phrase(text), 'dim')),
    ...(row.unread === undefined ? [] : hanging(style, '   ', `from the ledger alone: ${row.unread}`, 'dim')),
  ]);
  const all = `${counted(rows.length, 'verdict')} judged again`;
  return [...lines, '', different === 0 ? `${all}: all the same.` : `${all}: ${different} different.`];
}

function words(verdict: Verdict, command: LoopCommand): string {
  return verdict.kind === 'stop'
    ? `${phrase(String(verdict.reason))}: ${phrase(endingOf(verdict.reason).sentence)}`
    : `continue: ${whyNotDone(verdict, command)}`;
}
