/** `ralph watch`: issues with a label become runs in worktrees and pull requests, until Ctrl-C. */
import type { Settings } from '../../config/settings-shape.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { createStopRequest } from '../../engine/stop.ts';
import { harmless } from '../../platform/text.ts';
import { type IssueLine, issueLine } from '../../report/issue-words.ts';
import { type Call, type CliCommand, orThrow, refuseInside } from '../command.ts';
import { pasteable } from '../output.ts';
import { openEvents } from '../reporters.ts';
import { declareSettings, setUp } from '../set-up.ts';
import { listenForSignals } from '../signals.ts';
import { declareFollowing, followFlags, followRequest } from './pr.ts';

export const watch: CliCommand = {
  declare(command) {
    command
      .option('--label <name>', 'work on open issues with this label', 'ralph')
      .option('--once', 'work through what is there, and end');
    declareFollowing(command);
    declareSettings(command, 'loop');
  },
  help: `
Examples:
  ralph watch --check "npm test" --ready
  ralph watch --label agent --parallel 3 --max-cost 20
  ralph watch --once --check "npm test"

An open issue counts where somebody with write permission has set the label.
Each becomes one run in a worktree, and its work a pull request, which is
followed as \`ralph pr --follow\` does it. Its agent may ask: the question is a
comment, the next comment of somebody with write permission is the answer.
Take the label away, or close the issue, and it is stopped. --parallel says
how many at a time; --max-cost and --max-tokens hold for all together.
Exit code 130: Ctrl-C; the same command continues. With --once 0: all is done,
1: some need you. 2: something you can fix.
`,
  async run(call) {
    refuseInside('watch', call);
    const { options, output } = call;
    const flags = followFlags({ options: { ...options, follow: true } });
    const ready = setUp('loop', call, settings => problemsOf(call, settings));
    const { settings, project } = ready;
    const stop = createStopRequest();
    const signals = listenForSignals(text => output.error(text), stop);
    const events = openEvents(call);
    try {
      const { watchIssues } = await import('../../forge/watch.ts');
      const { maxCost, maxTokens, parallel } = settings;
      const ended = orThrow(
        await watchIssues({
          ...{ ...followRequest(call, project), ...flags, ready, stop, parallel },
          money: { maxCost, maxTokens },
          label: String(options.label),
          once: options.once === true,
          onEvent: (_issue, event) => events?.write(event),
          shows: createShow(call),
        }),
      );
      return ended.outcome === 'interrupted' ? 130 : ended.open > 0 ? 1 : 0;
    } finally {
      signals.dispose();
      events?.close();
    }
  },
};

/** On a screen the run alone is no news: it is known a moment after its issue is worked on. */
function createShow({ output }: Call): (line: IssueLine) => void {
  const shown = new Map<number, string>();
  return line => {
    if (output.json) return output.answer(`${JSON.stringify(line)}\n`);
    const news = issueLine({ ...line, runId: null });
    if (shown.get(line.issue) !== news) output.human(`${pasteable(harmless(issueLine(line)), output)}\n`);
    shown.set(line.issue, news);
  };
}

function problemsOf({ options }: Call, settings: Settings): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (where: string, what: string, fix?: string) =>
    problems.push({ where, what, ...(fix !== undefined && { fix }) });
  if (settings.checks.length === 0)
    refuse(
      '--check',
      'at least one is needed: what is not checked gets no pull request',
      '--check "npm test"',
    );
  if (settings.bestOf > 1 || options.agents !== undefined)
    refuse('--best-of', 'an issue gets one run', 'leave it out');
  if (!/^[^\x00-\x1f,]{1,50}$/.test(String(options.label)))
    refuse('--label', 'must be the name of one label');
  return problems;
}
