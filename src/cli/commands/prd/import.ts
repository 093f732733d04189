/** `ralph prd import`: the stories of another loop's prd.json, of a Markdown task list, or of the issues of a GitHub repository. */
import { readFileSync } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import {
  convertForeignList,
  type Draft,
  findDuplicate,
  importStories,
} from '../../../domain/stories/import.ts';
import { readMarkdownTasks } from '../../../domain/stories/markdown-tasks.ts';
import { readList, type StoryList } from '../../../domain/stories/story.ts';
import { pick } from '../../../domain/text/fields.ts';
import type { Problem } from '../../../domain/text/problem.ts';
import { systemClock } from '../../../platform/clock.ts';
import { errorWords } from '../../../platform/error-words.ts';
import { readIfThere } from '../../../platform/files.ts';
import { liveLoop } from '../../../run/stories/open.ts';
import { approvalsPath, claimedStories, readApprovals, writeApprovals } from '../../../store/approvals.ts';
import { projectPaths } from '../../../store/paths.ts';
import { branchFor, fillFolder, ignoreActive } from '../../../store/prd-folder.ts';
import type { PrdPaths } from '../../../store/prd-paths.ts';
import { isUntouchedTemplate, readTemplate } from '../../../store/prd-paths.ts';
import { isList, loadTasks, writeTasks } from '../../../store/tasks-file.ts';
import { readIssues, repositoryIn } from '../../../workspace/github-issues.ts';
import {
  answer,
  type Call,
  type CliCommand,
  orThrow,
  Problems,
  refuse,
  refuseInside,
} from '../../command.ts';
import { checkWords, declarePlace, foundChecks, placeOf } from './place.ts';

export const importList: CliCommand = {
  declare: command =>
    declarePlace(command)
      .argument('<source>', 'a prd.json with userStories, a Markdown file (.md), or github:OWNER/REPO')
      .option('--label <label>', 'of a GitHub repository: only issues with this label')
      .option('--trust', 'of a Markdown file: what is ticked there is approved, and not reviewed'),
  help: '\nExamples:\n  ralph prd import prd.json\n  ralph prd import TODO.md\n  ralph prd import github:OWNER/REPO --label ralph\n\nWhat is done there is imported as built, and waits for a review. A task list and issues can be imported again: what is\nstill open is brought up to date, what is under way or done is left as it is.\n',
  async run(given) {
    const { call, paths } = placeOf(given);
    const [source = ''] = call.args;
    const repository = repositoryIn(source);
    const { label, trust } = call.options;
    if (repository === undefined && source.startsWith('github:'))
      refuse(source, 'it names no repository', 'github:OWNER/REPO');
    if (label !== undefined && repository === undefined) refuse('--label', 'only issues have labels');
    if (repository === undefined && !/\.(md|markdown)$/i.test(source))
      return importForeign(given, call, paths);
    if (trust === true) refuseInside('prd import --trust', call);
    const found =
      repository === undefined
        ? readMarkdown(resolve(given.cwd, source), source)
        : {
            drafts: orThrow(
              await readIssues({
                ...{ repository, env: call.env, root: paths.root },
                label: label as string | undefined,
              }),
            ),
          };
    return importDrafts(call, paths, { ...found, from: source, trust: trust === true });
  },
};

interface Found {
  readonly title?: string;
  readonly drafts: readonly Draft[];
}

function readMarkdown(path: string, name: string): Found {
  try {
    return readMarkdownTasks(readFileSync(path, 'utf8'));
  } catch (error) {
    return refuse(name, `cannot be read: ${errorWords(error)}`);
  }
}

interface Drafts extends Found {
  readonly from: string;
  readonly trust: boolean;
}

function importDrafts(call: Call, paths: PrdPaths, { title, drafts, from, trust }: Drafts): 0 {
  if (drafts.length === 0)
    refuse(from, repositoryIn(from) ? 'there is no open issue' : 'there is no task, such as `- [ ] Log in`');
  const twice = findDuplicate(drafts);
  if (twice !== undefined)
    refuse(from, `${twice} is there more than once`, 'give each task an id of its own');
  const busy = liveLoop(paths, projectPaths(paths.root));
  if (busy) throw new Problems([busy]);
  const before = listBefore(call, paths, title);
  const { list: merged, added, updated, kept } = importStories(before, drafts, { from, trust });
  const list = readList(merged);
  if (!isList(list)) throw new Problems(list.map(flaw => ({ where: from, what: flaw.message })));
  fillFolder(paths, { name: list.project.trim() || undefined, now: systemClock.now() });
  if (trust) vouch(call, paths, before, list);
  writeTasks(paths.tasks, list);
  ignoreActive(paths);
  const tasks = relative(call.cwd, paths.tasks);
  answer(
    call.output,
    { stories: list.userStories.length, added, updated, kept },
    () => `${added.length} stories were added to ${tasks}, ${updated.length} updated, ${kept.length} left alone because they are under way or done.
${termsOf(list)}Next: write ${paths.name}/prd.md, then ralph prd run`,
  );
  return 0;
}

/** What is there, unless it is the template. */
function listBefore(call: Call, paths: PrdPaths, title = ''): StoryList {
  const tasks = readIfThere(paths.tasks);
  if (tasks === undefined || isUntouchedTemplate(tasks)) {
    const named = tasks === undefined ? undefined : namedIn(tasks);
    const list = { project: title, branchName: '', description: '', ...named, userStories: [] };
    return completed(call, paths, list);
  }
  const list = loadTasks(paths.tasks, relative(paths.root, paths.tasks));
  if (!isList(list)) throw new Problems(list);
  return list;
}

/** What `ralph prd init --name` has written into the template. */
function namedIn(tasks: string): Pick<StoryList, 'project' | 'branchName'> | undefined {
  const [own, template] = [tasks, readTemplate('tasks.json')].map(text => JSON.parse(text) as StoryList);
  if (!own || own.branchName === template?.branchName) return undefined;
  return pick(own, 'project', 'branchName');
}

/** A new list has a branch of its own, and the checks of its project, unless it says otherwise. */
function completed(call: Call, paths: PrdPaths, list: StoryList): StoryList {
  const { branchName, verifyCommands = [], project } = list;
  return {
    ...list,
    branchName: branchName.trim() || branchFor(project.trim() || basename(paths.root)),
    verifyCommands: verifyCommands.length > 0 ? verifyCommands : foundChecks(call, paths),
  };
}

/** Where it is built, and what is checked. */
function termsOf({ branchName, verifyCommands = [] }: StoryList): string {
  return `${branchName.trim() === '' ? '' : `Branch: ${branchName}\n`}${checkWords(verifyCommands)}`;
}

/** Puts what the user trusts on record; what was only claimed before stays a claim. */
function vouch({ env }: Call, paths: PrdPaths, before: StoryList, list: StoryList): void {
  const path = approvalsPath(env, paths.root, paths);
  const claimed = new Set(claimedStories(before, readApprovals(path)));
  const userStories = list.userStories.filter(({ id }) => !claimed.has(id));
  const trouble = writeApprovals(path, { ...list, userStories }, 'import');
  if (trouble !== undefined) refuse(path, `cannot be written: ${trouble}`);
}

function importForeign(given: Call, call: Call, paths: PrdPaths): 0 {
  const [file = ''] = call.args;
  const foreign = readForeign(resolve(given.cwd, file), file);
  const problems = [...(isList(foreign) ? [] : foreign), ...inTheWay(paths)];
  if (problems.length > 0 || !isList(foreign)) throw new Problems(problems);
  const list = completed(call, paths, foreign);
  fillFolder(paths, { name: list.project.trim() || undefined, now: systemClock.now() });
  writeTasks(paths.tasks, list);
  ignoreActive(paths);
  const waiting = list.userStories.filter(story => story.reviewStatus === 'needs_review').length;
  const { length: stories } = list.userStories;
  const tasks = relative(call.cwd, paths.tasks);
  answer(
    call.output,
    { stories, waiting },
    () => `${stories} stories are in ${tasks}; ${waiting} of them are built and wait for a review.
${termsOf(list)}Next: write ${paths.name}/prd.md, then ralph prd run`,
  );
  return 0;
}

function readForeign(path: string, name: string): StoryList | readonly Problem[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    return [{ where: name, what: `cannot be read: ${errorWords(error)}` }];
  }
  const list = readList(convertForeignList(value));
  return isList(list) ? list : list.map(flaw => ({ where: name, what: flaw.message }));
}

/** A list that somebody has written is not overwritten. */
function inTheWay(paths: PrdPaths): readonly Problem[] {
  const tasks = readIfThere(paths.tasks);
  if (tasks === undefined || isUntouchedTemplate(tasks)) return [];
  const where = relative(paths.root, paths.tasks);
  const what = 'is there already, and nothing is overwritten';
  return [{ where, what, fix: 'ralph prd archive --force' }];
}
