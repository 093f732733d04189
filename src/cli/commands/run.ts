/** `ralph run`: seed 001's loop. */
import type { Settings } from '../../config/settings-shape.ts';
import { isProblem } from '../../domain/text/problem.ts';
import { asksFor, markerOf } from '../../domain/turn/claim.ts';
import { promptJob, promptOf } from '../../opening/jobs/prompt.ts';
import { DONE_RULES } from '../../run/turns/goal.ts';
import { type PromptSource, promptSource, text } from '../../run/turns/prompt-source.ts';
import { type CliCommand, fromRoot, orThrow } from '../command.ts';
import { DRY_RUN, declareSettings, setUp, showPlan } from '../set-up.ts';
import { startLoop } from '../start.ts';
import { PR_FLAG, withPullRequest } from './pr.ts';

export const run: CliCommand = {
  declare(command) {
    command
      .option('-p, --prompt <text>', 'the prompt')
      .option(
        '-f, --prompt-file <file>',
        'a file with the prompt, read anew for every iteration; - is stdin',
      );
    declareSettings(command, 'run');
    command.option(...PR_FLAG).option(...DRY_RUN);
  },
  help: `
Examples:
  ralph run -p "Fix the failing test. When all tests pass, say <promise>COMPLETE</promise>"
  ralph run -f PROMPT.md --agent codex -m 20
  ralph run -f PROMPT.md --max-cost 5 --iteration-timeout 1800
  ralph run -f PROMPT.md --dry-run

Checks and source control are set in .ralph/settings.json: ralph init
`,
  async run(asked) {
    const { call, proven } = withPullRequest(asked);
    const given = promptSource(call.options, call.cwd);
    const ready = setUp('run', call, () => (isProblem(given) ? [given] : []));
    const source = orThrow(given);
    if (call.options.dryRun === true) {
      const base = source.read();
      showPlan(
        call,
        ready,
        typeof base === 'string' ? promptOf(ready.settings, base, 1, []) : '',
        ready.settings.checks,
      );
      return 0;
    }
    const file = text(call.options.promptFile);
    const promptFile = file === undefined || file === '-' ? undefined : fromRoot(call, file);
    // What came on stdin is gone when the run is resumed: its own copy is not.
    const read = promptFile === undefined ? source.read() : undefined;
    const prompt = typeof read === 'string' ? read : undefined;
    const job = promptJob({ source, prompt, promptFile });
    return startLoop(job, call, ready, { notices: promptNotices(ready.settings, source), proven });
  },
};

/** An agent that does not know how to end never does. */
function promptNotices(settings: Settings, source: PromptSource): readonly string[] {
  const { rule } = DONE_RULES.run(settings);
  const prompt = source.read();
  if (typeof prompt === 'string' && asksFor(rule, prompt)) return [];
  return [`The prompt does not say how to end: ask the agent for ${markerOf(rule)} when it is done.`];
}
