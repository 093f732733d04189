/** `ralph prd run --parallel N`: each lane works on a list of its own, with its story and what has landed. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Settings } from '../../config/settings-shape.ts';
import { commandsOf } from '../../domain/checks/verify-commands.ts';
import { likelyFiles } from '../../domain/lanes/admit.ts';
import type { LaneHead, SentBack } from '../../domain/lanes/board.ts';
import type { RunState } from '../../domain/run/state.ts';
import { isDone, openStories, type ReviewPolicy, sendBackStory } from '../../domain/stories/assignment.ts';
import { buildStoryReport } from '../../domain/stories/report.ts';
import { readList, type Story, type StoryList } from '../../domain/stories/story.ts';
import { pick } from '../../domain/text/fields.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import type { ChildRequest, EndedChild, FilesAt, LaneWork } from '../../parallel/lane-work.ts';
import type { RemoteLanes } from '../../parallel/lanes.ts';
import { type NoteMerge, sentBackWords } from '../../parallel/merging.ts';
import { ensureFolder, readIfThere, tryTo, writeAtomic } from '../../platform/files.ts';
import { policyOf } from '../../run/stories/load.ts';
import { liveLoop } from '../../run/stories/open.ts';
import { standOf } from '../../run/stories/recover.ts';
import { checksOf } from '../../run/turns/check-round.ts';
import type { RunContext } from '../../run/turns/context.ts';
import {
  approvalsPath,
  claimedStories,
  readApprovals,
  withoutClaims,
  writeApprovals,
} from '../../store/approvals.ts';
import { keepStories, readStories } from '../../store/kept.ts';
import type { RunPaths } from '../../store/paths.ts';
import { bytesIn, withActiveIgnored } from '../../store/prd-folder.ts';
import { ownFiles, type PrdPaths, prdPaths } from '../../store/prd-paths.ts';
import { formatTasks, isList, writeTasks } from '../../store/tasks-file.ts';
import type { OwnFile } from '../../workspace/integration.ts';
import { findRepository } from '../../workspace/repository.ts';
import type { Worktree } from '../../workspace/worktree.ts';
import type { Job, LaneRuns, StoryLane } from '../job.ts';
import { parallelJob } from './parallel.ts';
import { type StoriesGiven, storiesJob } from './stories.ts';

export function parallelStories(
  { prd, list, isTrusted = false, recovery }: Pick<StoriesGiven, 'prd' | 'list' | 'isTrusted' | 'recovery'>,
  settings: Settings,
  elsewhere?: RemoteLanes,
): Job {
  return parallelJob({
    ...{ command: 'prd', slots: settings.parallel, elsewhere },
    given: { ralphDir: prd.name, parallel: 'stories' },
    title: list.project,
    async check({ project, resumed }) {
      recovery?.write();
      return liveLoop(prd, project, { own: resumed });
    },
    async work(context, lanes) {
      const { env, project, paths, past } = context;
      const known = readApprovals(approvalsPath(env, project.root, prd));
      const claims = isTrusted ? [] : claimedStories(list, known);
      // Of a run that is resumed its own copy counts.
      const own = recordedList(paths, past()) ?? withoutClaims(list, claims);
      return storiesWork({ prd, list: own, policy: policyOf(settings) }, context, lanes);
    },
  });
}

function recordedList(paths: RunPaths, { stories }: RunState): StoryList | undefined {
  const text = stories && readStories(paths, stories.hash);
  const list = text === undefined ? [] : readList(JSON.parse(text));
  return isList(list) ? list : undefined;
}

export interface StoryLanes {
  readonly prd: PrdPaths;
  /** As it is trusted when the run begins. */
  readonly list: StoryList;
  readonly policy: ReviewPolicy;
}

export async function storiesWork(
  { prd, policy, ...given }: StoryLanes,
  parts: RunContext,
  runs: LaneRuns,
): Promise<LaneWork | Problem> {
  const { settings, env, project } = parts;
  const repository = await findRepository({ cwd: prd.root, env });
  if (isProblem(repository)) return repository;
  const { prefix } = repository;
  const inTree = (path: string) => `${prefix}${path.slice(prd.root.length + 1)}`;
  const isIgnored =
    (await repository.git.run(['check-ignore', '--quiet', '--no-index', '--', prd.tasks])).code === 0;
  const [tasks, progress] = [inTree(prd.tasks), inTree(prd.progress)];
  // As they are now: in the project every lane can write.
  const documents = [prd.prd, prd.progress, prd.prompt].map(path => [path, readIfThere(path)] as const);
  let { list } = given;
  const unsaid = new Set(parts.past().stories?.unsaid);
  const lists = { tasks, progress, isIgnored, policy };
  return {
    command: 'prd',
    success: 'all_stories_approved',
    branch: list.branchName.trim() || (repository.head.branch ?? null),
    isReviewed: !settings.skipReview,
    lanes: () => openStories(given.list, policy).map(story => laneHead(story, given.list, policy)),
    ownPaths: ownFiles(prd).map(inTree),
    firstFiles: () => (isIgnored ? [] : firstFiles(prd, list, inTree)),
    checksFor(landed) {
      const done = list.userStories.filter(story => isDone(story, policy) || landed.has(story.id));
      const commands = done.flatMap(story => commandsOf(list, story, settings.checks));
      return checksOf([...new Set([...commandsOf(list, undefined, settings.checks), ...commands])], settings);
    },
    filesWith: (lane, child, files) => filesWith(lists, lane, child, files),
    landed(lane, child) {
      list = withLanded(list, lane, child);
      for (const id of child?.past.stories?.unsaid ?? []) unsaid.add(id);
      writeApprovals(approvalsPath(env, project.root, prd), list, parts.runId);
    },
    record(lane) {
      const hash = keepStories(parts.paths, formatTasks(list));
      const { length: total } = list.userStories;
      const done = total - openStories(list, policy).length;
      const moved = list.userStories.find(({ id }) => id === lane);
      const stand = moved && pick(moved, 'id', 'passes', 'reviewStatus', 'reviewFeedback');
      const isUnsaid = moved !== undefined && unsaid.has(moved.id);
      const move = stand && { moved: { ...stand, ...(isUnsaid && { unsaid: true as const }) } };
      parts.emit({ type: 'stories-updated', iteration: 0, hash, done, total, ...move });
    },
    open: child => open(runs, { prd, policy, list, documents }, child),
    resume: child => runs.resume(child, { id: child.lane.id, sync: note => syncOf(child, note) }),
    message: ({ id, title }) => `${id}: ${title}`,
    report: () => buildStoryReport(list, [], policy, { unsaid: [...unsaid] }),
  };
}

function laneHead(story: Story, list: StoryList, policy: ReviewPolicy): LaneHead {
  const { id, title, priority, dependsOn = [], description = '', acceptanceCriteria, notes = '' } = story;
  const isOpen = (other: string) => list.userStories.some(each => each.id === other && !isDone(each, policy));
  const files = likelyFiles([title, description, notes, ...acceptanceCriteria]);
  return { id, title, priority, needs: dependsOn.filter(isOpen), files };
}

function firstFiles(prd: PrdPaths, list: StoryList, inTree: (path: string) => string): readonly OwnFile[] {
  const others = [prd.prd, prd.progress, prd.prompt].flatMap((path): readonly OwnFile[] => {
    return existsSync(path) ? [[inTree(path), bytesIn(path)]] : [];
  });
  // Else every lane would add the line, and each would seem to change what was reviewed. The user's own file stays as it is.
  const ignored: OwnFile = [inTree(prd.gitignore), withActiveIgnored(bytesIn(prd.gitignore))];
  return [[inTree(prd.tasks), formatTasks(list)], ignored, ...others];
}

interface Lists {
  readonly tasks: string;
  readonly progress: string;
  readonly isIgnored: boolean;
  readonly policy: ReviewPolicy;
}

/** The list of the tip with this story as its run left it, and what that run added to the log. */
async function filesWith(
  { tasks, progress, isIgnored }: Lists,
  lane: string,
  child: EndedChild | undefined,
  files: FilesAt,
): Promise<readonly OwnFile[]> {
  if (isIgnored) return [];
  const before = readList(JSON.parse((await files.tip(tasks)) ?? '{}'));
  const [log = '', began = '', own = ''] = [
    await files.tip(progress),
    await files.base(progress),
    await files.own(progress),
  ];
  const added = addedTo(began, own);
  const merged = added === '' || log.includes(added) ? log : `${log.trimEnd()}\n\n${added}\n`;
  return [
    ...(isList(before) ? [[tasks, formatTasks(withLanded(before, lane, child))] as const] : []),
    [progress, merged === '' ? undefined : merged],
  ];
}

/** What a run has written behind what it began with; others may have written there, too, when it was brought up to date. */
function addedTo(began: string, own: string): string {
  const [before, lines] = [began.trimEnd().split('\n'), own.split('\n')];
  const same = lines.findIndex((line, at) => line !== before[at]);
  return same === -1 ? '' : lines.slice(same).join('\n').trim();
}

/** Stories that its agent has added come along: they were built with it. */
function withLanded(list: StoryList, lane: string, child: EndedChild | undefined): StoryList {
  const own = trustedOf(child);
  if (!own) return list;
  const known = new Set(list.userStories.map(({ id }) => id));
  const fresh = own.userStories.filter(({ id }) => !known.has(id));
  const mine = own.userStories.find(({ id }) => id === lane);
  return {
    ...list,
    userStories: [...list.userStories.map(story => (story.id === lane && mine ? mine : story)), ...fresh],
  };
}

function trustedOf(child: EndedChild | undefined): StoryList | undefined {
  const stand = child && standOf(child.paths, { state: child.past, problems: [] });
  return stand === undefined || stand === 'unknown' ? undefined : stand.trusted;
}

interface Opening extends StoryLanes {
  /** What the agents of all lanes get to read: each with its text. */
  readonly documents: readonly (readonly [path: string, text: string | undefined])[];
}

async function open(runs: LaneRuns, { prd: ours, policy, list, documents }: Opening, child: ChildRequest) {
  const { worktree, lane, sentBack } = child;
  const prd = prdPaths(worktree.cwd, ours.name);
  ensureFolder(prd.folder);
  const aside = dirname(worktree.path);
  for (const [path, text] of documents) {
    const to = join(prd.folder, basename(path));
    if (text !== undefined && !existsSync(to)) writeAtomic(to, text, 0o644, aside);
  }
  const sync = (note: NoteMerge) => syncOf(child, note);
  const job = storyJob({ prd, policy, list }, { id: lane.id, sentBack, sync, aside }, worktree);
  return isProblem(job) ? job : runs.open(child, job);
}

export interface StoryWork extends StoryLane {
  /** Why it begins anew. */
  readonly sentBack?: SentBack | undefined;
  /** A folder beside its files, for what is not whole yet. */
  readonly aside: string;
}

/** One story of a list as a run of its own: its list holds that story and what has landed. */
export function storyJob(
  { prd, policy, list }: StoryLanes,
  { id, sentBack, sync, aside }: StoryWork,
  worktree?: Worktree,
): Job | Problem {
  const before = list.userStories.find(each => each.id === id);
  if (!before) return { where: id, what: 'there is no such story' };
  const own = sentBack ? again({ ...before, ...notesIn(prd, id) }, sentBack, policy) : before;
  const userStories = list.userStories.flatMap(each =>
    each.id === id ? [own] : isDone(each, policy) ? [each] : [],
  );
  const laneList = { ...list, userStories };
  writeTasks(prd.tasks, laneList, aside);
  return storiesJob({ prd, list: laneList, policy, isTrusted: true, worktree, lane: { id, sync } });
}

/** The words of its agent. Whatever else is in the file may have been written by the code that was checked. */
function notesIn({ tasks }: PrdPaths, id: string): Pick<Story, 'notes'> {
  const list = tryTo(() => readList(JSON.parse(readIfThere(tasks) ?? '{}')));
  const left = list && isList(list) ? list.userStories.find(each => each.id === id) : undefined;
  return left ? pick(left, 'notes') : {};
}

/** What only the merge has changed is looked at again; the rest is worked on. */
function again(story: Story, sentBack: SentBack, policy: ReviewPolicy): Story {
  if (sentBack.why === 'changed' && !policy.skipReview)
    return { ...story, passes: false, reviewStatus: 'needs_review', reviewCount: 0 };
  return sendBackStory(story, sentBackWords(sentBack), policy);
}

async function syncOf({ sync }: ChildRequest, note: NoteMerge): Promise<string | undefined> {
  const misfit = await sync(note);
  return misfit && sentBackWords(misfit);
}
