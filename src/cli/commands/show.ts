/** `ralph show`: what a run is about, how it stands, and what it changed. */

import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { filesOf } from '../../domain/text/diffstat.ts';
import { createRedactor } from '../../domain/text/secrets.ts';
import { changesBefore, changesOf, diffLines, statLines } from '../../report/changes.ts';
import { headline } from '../../report/ending-words.ts';
import { checkNoun, checkPhrase, phrase } from '../../report/phrases.ts';
import { readRun } from '../../report/read-run.ts';
import type { IterationView, RunView } from '../../report/run-view.ts';
import { childrenOf } from '../../store/child-runs.ts';
import { answer, type Call, type CliCommand, refuse } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { RUN_ARGUMENT, RUN_DATABASE, type WantedRun, warnOfLedger, withRun } from '../which-run.ts';

/** More than this is for a pager and `git diff`. */
const MOST = 4_000_000;

export const show: CliCommand = {
  declare: command =>
    command
      .argument(...RUN_ARGUMENT)
      .option(...RUN_DATABASE)
      .option('--stat', 'only how much changed in each file')
      .option('--iteration <n>', 'as this iteration left it'),
  help: '\nExamples:\n  ralph show\n  ralph show --stat\n  ralph show --iteration 2\n  ralph show 20261115-1203 | less -R\n',
  async run(call) {
    return withRun(call, run => showRun(call, run));
  },
};

function showRun({ output, env, options }: Call, { id, project, paths }: WantedRun): ExitCode {
  const { view, state, integrity } = readRun(id, paths);
  const at = options.iteration === undefined ? undefined : iterationOf(id, view, options.iteration);
  const kept = changesOf(view, paths, MOST, at?.number);
  const diff = createRedactor(env)(kept?.text ?? '');
  const files = filesOf(diff);
  const yours = changesBefore(paths, MOST);
  const before = filesOf(createRedactor(env)(yours?.text ?? ''));
  const lanes = view.board ? childrenOf(project, id) : [];
  const { title } = view;
  const style = styleOf(output);
  const lines = () => [
    `${phrase(id)}  ${title === null ? `ralph ${view.command}` : phrase(title)}`,
    ...(at ? iterationLines(view, at) : [headline({ view, state, integrity })]),
    '',
    ...(files.length > 0 ? statLines(files, style) : [nothing(lanes)]),
    ...(files.length > 0 && options.stat !== true ? ['', ...diffLines(diff, style)] : []),
    ...(kept && kept.left > 0 ? [`… ${kept.left} more bytes in ${kept.file}`] : []),
    ...(yours
      ? ['', 'Changed before the run, and yours:', ...statLines(before, style), `The changes: ${yours.file}`]
      : []),
  ];
  const figures = (all: typeof files) => all.map(({ name, added, removed }) => ({ name, added, removed }));
  const [stat, own] = [figures(files), figures(before)];
  const one = at && { iteration: at.number, checks: at.checks };
  answer(output, { runId: id, title, state, ...one, files: stat, before: own, diff }, () =>
    lines().join('\n'),
  );
  return warnOfLedger(output, 'show', integrity.trust);
}

function iterationOf(id: string, { iterations }: RunView, wanted: unknown): IterationView {
  const found = iterations.find(({ number }) => String(number) === wanted);
  const last = iterations.at(-1)?.number;
  return (
    found ??
    refuse(id, `it has no iteration ${wanted}`, last === undefined ? undefined : `--iteration ${last}`)
  );
}

/** How it ended, and whether its files were undone. */
function iterationLines(
  { command, restores }: RunView,
  { number, checks }: IterationView,
): readonly string[] {
  const undone = restores.find(({ from, to }) => number > to && number <= from);
  const noun = checkNoun(command);
  return [
    `Iteration ${number}, as it left the files`,
    ...checks.map(check => `${noun} ${phrase(check.command)}: ${checkPhrase(check, check.seconds)}`),
    ...(undone ? [`It ended worse than iteration ${undone.to}, and was undone.`] : []),
  ];
}

function nothing(lanes: readonly string[]): string {
  if (lanes.length === 0) return 'No changes.';
  return `Each lane has its own changes:\n${lanes.map(lane => `  ralph show ${lane}`).join('\n')}`;
}
