/** What `ralph prd run` begins with: the list, its worktree, and everything that is wrong, at once. */
import { existsSync } from 'node:fs';
import type { Settings } from '../config/settings-shape.ts';
import { allCommands } from '../domain/checks/verify-commands.ts';
import type { StoryList } from '../domain/stories/story.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import { loadStories, policyOf } from '../run/stories/load.ts';
import { recoverStories } from '../run/stories/recover.ts';
import { projectPaths } from '../store/paths.ts';
import { slug } from '../store/prd-folder.ts';
import { type PrdPaths, prdPaths } from '../store/prd-paths.ts';
import { isList, loadTasks } from '../store/tasks-file.ts';
import { openWorktree, type Worktree } from '../workspace/worktree.ts';
import type { Job } from './job.ts';
import { parallelStories } from './jobs/parallel-stories.ts';
import { storiesJob } from './jobs/stories.ts';
import { isNamed } from './jobs/task.ts';
import { type SetUp, unstartable } from './set-up.ts';

export interface StoriesRequest {
  readonly root: string;
  readonly env: Env;
  readonly paths: PrdPaths;
  /** true: one that is named after the branch of the list. */
  readonly worktree?: string | boolean | undefined;
  /** The user takes the list as it is, approvals included. */
  readonly isTrusted: boolean;
  /** Checks that are functions: no program is looked for. */
  readonly functions?: readonly string[];
  setUp(own: (settings: Settings) => readonly Problem[]): SetUp | readonly Problem[];
}

export interface ReadyStories {
  readonly ready: SetUp;
  readonly list: StoryList;
  readonly paths: PrdPaths;
  readonly job: Job;
  /** Gives up the worktree. */
  release(): void;
}

export async function openStories(request: StoriesRequest): Promise<ReadyStories | readonly Problem[]> {
  const { paths: ours, isTrusted } = request;
  const worktree = await worktreeOf(request);
  if (worktree && !('path' in worktree)) return worktree;
  const paths = worktree ? prdPaths(worktree.cwd, ours.name) : ours;
  let isOpened = false;
  try {
    const prepared = prepare(request, paths, worktree?.name);
    if (!('list' in prepared)) return prepared;
    const { ready, list, recovery } = prepared;
    const { settings } = ready;
    const given = { prd: paths, list, policy: policyOf(settings), recovery, isTrusted, worktree };
    const job = settings.parallel > 1 ? parallelStories(given, settings) : storiesJob(given);
    isOpened = true;
    return { ready, list, paths, job, release: () => worktree?.release() };
  } finally {
    if (!isOpened) worktree?.release();
  }
}

async function worktreeOf(request: StoriesRequest): Promise<Worktree | readonly Problem[] | undefined> {
  const { worktree: wanted, paths, root, env } = request;
  if (!wanted) return undefined;
  const tasks = loadTasks(paths.tasks, paths.tasks);
  const named = isList(tasks) ? slug(tasks.branchName.replace(/^ralph\//, '')) : undefined;
  const name = isNamed(wanted) ? wanted : named;
  // What is wrong with the settings is said before anything is created.
  const ready = request.setUp(() => []);
  if (!('settings' in ready)) return ready;
  const worktree = await openWorktree({ root, env, ...(name !== undefined && { name }) });
  if (isProblem(worktree)) return [worktree];
  if (!existsSync(paths.tasks) || existsSync(prdPaths(worktree.cwd, paths.name).tasks)) return worktree;
  worktree.release();
  const what = `${paths.name}/tasks.json is not in it, because it is not committed`;
  const fix = `\`${joinWords(['git', 'add', paths.name])} && git commit\``;
  return [{ where: `worktree ${worktree.name}`, what, fix }];
}

function prepare(request: StoriesRequest, paths: PrdPaths, worktree: string | undefined) {
  const { root, env, isTrusted, functions = [] } = request;
  const recovery = isTrusted ? undefined : recoverStories(paths, projectPaths(root, env), worktree);
  let list: StoryList | undefined;
  const ready = request.setUp(settings => {
    if (isProblem(recovery)) return [recovery];
    const loaded = loadStories(paths, policyOf(settings), recovery?.list);
    if (!isList(loaded)) return loaded;
    list = loaded;
    const commands = allCommands(loaded, settings.checks).filter(each => !functions.includes(each));
    return [
      ...unstartable(commands, settings, { cwd: paths.root, env }),
      ...parallelProblems(settings, commands, worktree),
    ];
  });
  if (!('settings' in ready) || !list || isProblem(recovery)) return 'settings' in ready ? [] : ready;
  return { ready, list, recovery };
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
