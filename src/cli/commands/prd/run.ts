/** `ralph prd run`: seed 002's loop. */
import { existsSync } from 'node:fs';
import type { Settings } from '../../../config/settings-shape.ts';
import { isProblem, type Problem } from '../../../domain/problem.ts';
import type { StoryList } from '../../../domain/story.ts';
import { nextAssignment } from '../../../domain/story-mode.ts';
import { buildStoryPrompt } from '../../../domain/story-prompt.ts';
import { allCommands, commandsOf } from '../../../domain/verify-commands.ts';
import { parallelStories } from '../../../opening/parallel-stories.ts';
import { storiesKind } from '../../../opening/stories-kind.ts';
import { joinWords } from '../../../platform/shell.ts';
import { projectPaths } from '../../../store/paths.ts';
import { slug } from '../../../store/prd-folder.ts';
import { type PrdPaths, prdPaths } from '../../../store/prd-paths.ts';
import { isList, loadTasks } from '../../../store/tasks-file.ts';
import { readTemplate } from '../../../store/templates.ts';
import { loadStories } from '../../../stories/load.ts';
import { promptTemplate } from '../../../stories/open.ts';
import { recoverStories } from '../../../stories/recover.ts';
import { policyOf } from '../../../stories/standing.ts';
import { TERMS } from '../../../turns/plan-parts.ts';
import { openWorktree, type Worktree } from '../../../workspace/worktree.ts';
import { type Call, type CliCommand, orThrow, Problems, refuse } from '../../command.ts';
import { DRY_RUN, declareSettings, setUp, showPlan, unstartable } from '../../set-up.ts';
import { startLoop } from '../../start.ts';
import { declarePlace, placeOf } from './place.ts';

export const run: CliCommand = {
  declare(command) {
    declarePlace(command);
    declareSettings(command, 'prd');
    command
      .option('--worktree [name]', 'work in a git worktree of its own, on the branch ralph/NAME')
      .option(
        '--trust-tasks',
        'take tasks.json as it is, with what it calls approved and what a killed run has left',
      )
      .option(...DRY_RUN)
      .addHelpText('after', EXAMPLES);
  },
  async run(given) {
    const { call, paths: ours } = placeOf(given);
    const worktree = await worktreeOf(call, ours);
    const paths = worktree ? prdPaths(worktree.cwd, ours.name) : ours;
    try {
      const { ready, list, recovery, isTrusted } = prepare(call, paths, worktree?.name);
      if (call.options.dryRun === true) {
        showPlan(call, ready, firstPrompt(ready.settings, list, paths));
        return 0;
      }
      const policy = policyOf(ready.settings);
      const given = { prd: paths, list, policy, recovery, isTrusted, worktree };
      const isParallel = ready.settings.parallel > 1;
      return await startLoop(
        isParallel ? parallelStories(given, ready.settings) : storiesKind(given),
        call,
        ready,
      );
    } finally {
      worktree?.release();
    }
  },
};

const EXAMPLES = `
Examples:
  ralph prd run
  ralph prd run -n 30 -m opus --max-cost 10
  ralph prd run --agent codex --review-cap 3 --at-cap stop
  ralph prd run --check "npm test" --protect "test/**"
  ralph prd run --worktree
  ralph prd run --parallel 4 --check "npm test"
  ralph prd run --skip-review
  ralph prd run --dry-run
`;

/** A worktree without a name of its own is named after the branch of the list. */
async function worktreeOf(call: Call, paths: PrdPaths): Promise<Worktree | undefined> {
  const { options, cwd: root, env } = call;
  const { worktree: wanted, dryRun } = options;
  if (!wanted || dryRun === true) return undefined;
  const tasks = loadTasks(paths.tasks, paths.tasks);
  const named = isList(tasks) ? slug(tasks.branchName.replace(/^ralph\//, '')) : undefined;
  const name = typeof wanted === 'string' ? wanted : named;
  // What is wrong with the flags is said before anything is created.
  setUp('prd', call, () => []);
  const worktree = orThrow(await openWorktree({ root, env, ...(name !== undefined && { name }) }));
  if (!existsSync(paths.tasks) || existsSync(prdPaths(worktree.cwd, paths.name).tasks)) return worktree;
  worktree.release();
  const what = `${paths.name}/tasks.json is not in it, because it is not committed`;
  const fix = `\`${joinWords(['git', 'add', paths.name])} && git commit\``;
  return refuse(`worktree ${worktree.name}`, what, fix);
}

/** Everything that is wrong is said at once: flags, settings, agent, list. */
function prepare(call: Call, paths: PrdPaths, worktree: string | undefined) {
  const isTrusted = call.options.trustTasks === true;
  const recovery = isTrusted ? undefined : recoverStories(paths, projectPaths(call.cwd), worktree);
  let list: StoryList | undefined;
  const ready = setUp('prd', call, settings => {
    if (isProblem(recovery)) return [recovery];
    const loaded = loadStories(paths, policyOf(settings), recovery?.list);
    if (!isList(loaded)) return loaded;
    list = loaded;
    const commands = allCommands(loaded, settings.checks);
    const { env } = call;
    return [
      ...unstartable(commands, settings, { cwd: paths.root, env }),
      ...parallelProblems(settings, commands, worktree),
    ];
  });
  if (!list || isProblem(recovery)) throw new Problems([]);
  return { ready, list, recovery, isTrusted };
}

/** Merging without a check would be merging by judgement. */
function parallelProblems(
  { parallel, unchecked }: Settings,
  commands: readonly string[],
  worktree: string | undefined,
): readonly Problem[] {
  if (parallel === 1) return [];
  const noWorktree = {
    where: '--worktree',
    what: 'with --parallel every story has a worktree of its own',
    fix: 'leave it out',
  };
  const noCheck = {
    where: '--parallel',
    what: 'there is no check, so nobody would know whether what is merged still works',
    fix: '--check "npm test", or --unchecked if you accept that',
  };
  return [
    ...(worktree === undefined ? [] : [noWorktree]),
    ...(commands.length === 0 && !unchecked ? [noCheck] : []),
  ];
}

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
    rule: TERMS.prd(settings).rule,
    feedback: [],
  });
}
