/** `ralph explain`: why a run stopped and what to do next, from its ledger alone. */
import { systemClock } from '../../platform/clock.ts';
import { explainLines, explain as explanationOf } from '../../report/explain.ts';
import { readRun } from '../../report/read-run.ts';
import { answer, type CliCommand } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { RUN_ARGUMENT, wantedRun, warnOfLedger } from '../which-run.ts';

export const explain: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .addHelpText(
        'after',
        '\nExamples:\n  ralph explain\n  ralph explain 20261115-1203 --json | jq -r .outcome\n',
      );
  },
  async run(call) {
    const { output } = call;
    const { id, paths } = wantedRun(call);
    const { view, state, integrity } = readRun(id, paths);
    const now = { isAlive: state === 'running', now: systemClock.now() };
    answer(output, { ...explanationOf(view, now), ledger: integrity.trust }, () =>
      explainLines(view, now, styleOf(output)).join('\n'),
    );
    warnOfLedger(output, 'explain', integrity.trust);
    return 0;
  },
};
