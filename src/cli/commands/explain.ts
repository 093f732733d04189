/** `ralph explain`: why a run stopped and what to do next, from its ledger alone. */
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import type { UnitReading } from '../../fleet/reading.ts';
import { shownBranch } from '../../fleet/unit.ts';
import { isLeft } from '../../opening/leavings.ts';
import { systemClock } from '../../platform/clock.ts';
import { doubtSentence } from '../../report/ending-words.ts';
import { explainLines, explain as explanationOf } from '../../report/explain.ts';
import { readRun } from '../../report/read-run.ts';
import { viewHasBegun } from '../../report/run-view.ts';
import { answer, type Call, type CliCommand } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { isMeant, RUN_ARGUMENT, RUN_DATABASE, type WantedRun, warnOfLedger, withRun } from '../which-run.ts';

export const explain: CliCommand = {
  declare: command => command.argument(...RUN_ARGUMENT).option(...RUN_DATABASE),
  help: '\nExamples:\n  ralph explain\n  ralph explain 20261115-1203 --json | jq -r .outcome\n',
  run: call => withRun(call, run => show(call, run)),
};

async function show({ output, env }: Call, { id, project, paths, unit }: WantedRun): Promise<ExitCode> {
  const { view, state, integrity } = readRun(id, paths);
  const now = {
    isAlive: state === 'running',
    isClosed: state === 'closed',
    now: systemClock.now(),
    doubt: doubtSentence(integrity.trust),
    isLeft: !unit && state !== 'running' && (await isLeft({ project, env, id })),
    ...(unit && { next: nextOfUnit(unit, viewHasBegun(view)) }),
  };
  // What a program keeps may be read when there is a later run.
  answer(output, { ...explanationOf(view, now), ledger: integrity.trust }, () =>
    explainLines(view, { ...now, isLatest: isMeant(project, id) }, styleOf(output)).join('\n'),
  );
  return warnOfLedger(output, 'explain', integrity.trust);
}

/** It is steered through the database, and not resumed here. */
export function nextOfUnit({ id, paths, unit, isOver }: UnitReading, hasBegun: boolean): readonly string[] {
  const { repoUrl, state } = unit();
  const branch = shownBranch(unit());
  const files = `Its files, but for the raw streams of the agent, are in ${paths.folder}.`;
  if (!isOver())
    return [
      `Follow it: \`ralph fleet logs ${id} --follow\`. Stop it: \`ralph fleet cancel ${id}\`.`,
      `It is ${state}: \`ralph fleet status ${id}\`.`,
    ];
  const more = state === 'done' ? '' : ` Another unit can begin there: --base origin/${branch}.`;
  return [
    hasBegun
      ? `What came of it is on the branch ${branch} of ${repoUrl}.${more}`
      : 'Nothing of it was done: when the reason is gone, submit it again with the same command.',
    `Log: \`ralph fleet logs ${id}\`. ${files}`,
  ];
}
