/** `ralph prd run`: seed 002's loop. */
import type { Settings } from '../../../config/settings-shape.ts';
import { commandsOf } from '../../../domain/checks/verify-commands.ts';
import { nextAssignment } from '../../../domain/stories/assignment.ts';
import { buildStoryPrompt } from '../../../domain/stories/prompt.ts';
import type { StoryList } from '../../../domain/stories/story.ts';
import { openStories } from '../../../opening/stories-run.ts';
import { policyOf } from '../../../run/stories/load.ts';
import { promptTemplate } from '../../../run/stories/open.ts';
import { DONE_RULES } from '../../../run/turns/goal.ts';
import type { PrdPaths } from '../../../store/prd-paths.ts';
import { readTemplate } from '../../../store/prd-paths.ts';
import { type CliCommand, Problems } from '../../command.ts';
import { DRY_RUN, declareSettings, setUp, showPlan } from '../../set-up.ts';
import { startLoop } from '../../start.ts';
import { PR_FLAG, withPullRequest } from '../pr.ts';
import { declarePlace, placeOf } from './place.ts';

export const run: CliCommand = {
  declare(command) {
    declarePlace(command);
    declareSettings(command, 'prd');
    command
      .option(
        '--worktree [name]',
        'work in a git worktree of its own; on the branch ralph/NAME, auto chooses a name',
      )
      .option(
        '--trust-tasks',
        'take tasks.json as it is, with what it calls approved and what a killed run has left',
      )
      .option(...PR_FLAG)
      .option(...DRY_RUN);
  },
  help: `
Examples:
  ralph prd run
  ralph prd run -n 30 -m opus --max-cost 10
  ralph prd run --agent codex --review-cap 3 --at-cap stop
  ralph prd run --check "npm test" --protect "test/**"
  ralph prd run --worktree
  ralph prd run --parallel 4 --check "npm test"
  ralph prd run --skip-review
  ralph prd run --dry-run
`,
  async run(given) {
    const { call: asked, proven } = withPullRequest(given);
    const { call, paths: place } = placeOf(asked);
    const { options, cwd: root, env } = call;
    const isDry = options.dryRun === true;
    const opened = await openStories({
      ...{ root, env, paths: place, isTrusted: options.trustTasks === true },
      worktree: isDry ? undefined : (options.worktree as string | boolean | undefined),
      setUp: own => setUp('prd', call, own),
    });
    if (!('job' in opened)) throw new Problems(opened);
    const { ready, list, paths, job, release } = opened;
    try {
      if (!isDry) return await startLoop(job, call, ready, { proven });
      showPlan(call, ready, firstPrompt(ready.settings, list, paths));
      return 0;
    } finally {
      release();
    }
  },
};

function firstPrompt(settings: Settings, list: StoryList, paths: PrdPaths): string {
  const template = promptTemplate(paths, () => readTemplate('prompt.md'));
  const policy = policyOf(settings);
  const assignment = nextAssignment(list, policy);
  return buildStoryPrompt({
    template,
    iteration: 1,
    maxIterations: settings.maximumIterations,
    ralphDir: paths.name,
    assignment,
    commands: commandsOf(list, assignment.story, settings.checks).map(command => ({ command })),
    policy,
    protect: settings.protect,
    only: settings.only,
    rule: DONE_RULES.prd(settings).rule,
    feedback: [],
  });
}
