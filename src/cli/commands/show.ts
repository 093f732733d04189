/** `ralph show`: what a run is about, how it stands, and what it changed. */
import { filesOf } from '../../domain/diffstat.ts';
import { createRedactor } from '../../domain/secrets.ts';
import { changesOf, diffLines, statLines } from '../../report/changes.ts';
import { standingSentence } from '../../report/ending-words.ts';
import { phrase } from '../../report/phrases.ts';
import { readRun } from '../../report/read-run.ts';
import { childrenOf } from '../../store/child-runs.ts';
import { projectAt } from '../../store/paths.ts';
import { answer, type CliCommand } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { RUN_ARGUMENT, wantedRun, warnOfLedger } from '../which-run.ts';

/** More than this is for a pager and `git diff`. */
const MOST = 4_000_000;

export const show: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .option('--stat', 'only how much changed in each file')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph show\n  ralph show --stat\n  ralph show 20261115-1203 | less -R\n',
      );
  },
  async run(call) {
    const { output, env, cwd, options } = call;
    const { id, paths } = wantedRun(call);
    const { view, state, integrity } = readRun(id, paths);
    const kept = changesOf(view, paths, MOST);
    const diff = createRedactor(env)(kept?.text ?? '');
    const files = filesOf(diff);
    const lanes = view.board ? childrenOf(projectAt(cwd, env), id) : [];
    const { title } = view;
    const style = styleOf(output);
    const lines = () => [
      `${phrase(id)}  ${title === null ? `ralph ${view.command}` : phrase(title)}`,
      standingSentence(view, state),
      '',
      ...(files.length > 0 ? statLines(files, style) : [nothing(lanes)]),
      ...(files.length > 0 && options.stat !== true ? ['', ...diffLines(diff, style)] : []),
      ...(kept && kept.left > 0 ? [`… ${kept.left} more bytes in ${kept.file}`] : []),
    ];
    const stat = files.map(({ name, added, removed }) => ({ name, added, removed }));
    answer(output, { runId: id, title, state, files: stat, diff }, () => lines().join('\n'));
    warnOfLedger(output, 'show', integrity.trust);
    return 0;
  },
};

function nothing(lanes: readonly string[]): string {
  if (lanes.length === 0) return 'No changes.';
  return `Each lane has its own changes:\n${lanes.map(lane => `  ralph show ${lane}`).join('\n')}`;
}
