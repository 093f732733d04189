/** `ralph prd run`: seed 002's loop. */
import type { Settings } from '../../../config/settings-shape.ts';
import { isProblem } from '../../../domain/problem.ts';
import type { StoryList } from '../../../domain/story.ts';
import { nextAssignment, openStories } from '../../../domain/story-mode.ts';
import { buildStoryPrompt } from '../../../domain/story-prompt.ts';
import { buildStoryReport } from '../../../domain/story-report.ts';
import { storiesKind } from '../../../opening/stories-kind.ts';
import { projectPaths } from '../../../store/paths.ts';
import type { PrdPaths } from '../../../store/prd-paths.ts';
import { isList } from '../../../store/tasks-file.ts';
import { readTemplate } from '../../../store/templates.ts';
import { loadStories } from '../../../stories/load.ts';
import { promptTemplate } from '../../../stories/open.ts';
import { policyOf } from '../../../stories/plan.ts';
import { recoverStories } from '../../../stories/recover.ts';
import { TERMS } from '../../../turns/plan-parts.ts';
import { type Call, type CliCommand, Problems } from '../../command.ts';
import { DRY_RUN, declareSettings, setUp, showPlan } from '../../set-up.ts';
import { startLoop } from '../../start.ts';
import { declarePlace, placeOf } from './place.ts';

export const run: CliCommand = {
  declare(command) {
    declarePlace(command);
    declareSettings(command, 'prd');
    command
      .option('--trust-tasks', 'after a run that was killed: take tasks.json as it is')
      .option(...DRY_RUN)
      .addHelpText('after', EXAMPLES);
  },
  async run(given) {
    const { call, paths } = placeOf(given);
    const { ready, list, recovery } = prepare(call, paths);
    const policy = policyOf(ready.settings);
    if (openStories(list, policy).length === 0) return nothingToDo(call, list, ready.settings);
    if (call.options.dryRun === true) {
      showPlan(call, ready, firstPrompt(ready.settings, list, paths));
      return 0;
    }
    const kind = storiesKind({ prd: paths, list, recovery });
    return startLoop(kind, call, ready);
  },
};

const EXAMPLES = `
Examples:
  ralph prd run
  ralph prd run -n 30 -m opus --max-cost 10
  ralph prd run --agent codex --review-cap 3 --at-cap stop
  ralph prd run --skip-review
  ralph prd run --dry-run
`;

/** Everything that is wrong is said at once: flags, settings, agent, list. */
function prepare(call: Call, paths: PrdPaths) {
  const trusts = call.options.trustTasks === true;
  const recovery = trusts ? undefined : recoverStories(paths, projectPaths(call.cwd));
  let list: StoryList | undefined;
  const ready = setUp('prd', call, settings => {
    if (isProblem(recovery)) return [recovery];
    const loaded = loadStories(paths, policyOf(settings), recovery?.list);
    if (!isList(loaded)) return loaded;
    list = loaded;
    return [];
  });
  if (!list || isProblem(recovery)) throw new Problems([]);
  return { ready, list, recovery };
}

function nothingToDo({ output }: Call, list: StoryList, settings: Settings): 0 {
  const stories = buildStoryReport(list, [], policyOf(settings));
  if (output.json)
    output.answer(
      `${JSON.stringify({ success: true, stopReason: 'all_stories_approved', iterations: [], stories })}\n`,
    );
  else
    output.human(
      `Every story is done already (${stories.done} of ${stories.total}). Next: ralph prd archive\n`,
    );
  return 0;
}

function firstPrompt(settings: Settings, list: StoryList, paths: PrdPaths): string {
  const template = promptTemplate(paths, () => readTemplate('prompt.md'));
  const policy = policyOf(settings);
  return buildStoryPrompt({
    template,
    iteration: 1,
    maxIterations: settings.maximumIterations,
    ralphDir: paths.name,
    assignment: nextAssignment(list, policy),
    policy,
    rule: TERMS.prd(settings).rule,
    feedback: [],
  });
}
