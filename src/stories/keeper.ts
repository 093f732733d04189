/**
 * Keeps the story list of a `ralph prd run`. Ralph's own copy is here, in the memory of the loop, where no agent can write.
 * After every iteration what the agent left is held against it: what is not allowed is undone, told, and set aside.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Emit } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import { formatProblem } from '../domain/problem.ts';
import type { Story, StoryList } from '../domain/story.ts';
import {
  type Assignment,
  nextAssignment,
  openStories,
  type ReviewPolicy,
  type StoryMode,
} from '../domain/story-mode.ts';
import { repairList, storiesById } from '../domain/story-repair.ts';
import type { StoryRules } from '../domain/transitions.ts';
import { ensureFolder, errorWords, readIfThere, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { formatActive, type NewActive, removeActive, writeActive } from '../store/active-file.ts';
import type { RunPaths } from '../store/paths.ts';
import { ACTIVE_FILE, type PrdPaths } from '../store/prd-paths.ts';
import { createTasksReader, formatTasks, isList } from '../store/tasks-file.ts';
import { blockedAt, clearPath } from '../workspace/move-aside.ts';
import { changeWords } from '../workspace/protect.ts';
import { createFileStore, type SavedFile } from '../workspace/snapshot.ts';
import { loadStories } from './load.ts';

export interface KeeperOptions
  extends Pick<NewActive, 'runId' | 'maxIterations' | 'isolation'>,
    Pick<RunPaths, 'aside' | 'stories'> {
  readonly paths: PrdPaths;
  readonly list: StoryList;
  readonly policy: ReviewPolicy;
  /** The iteration that a resumed run was in. */
  readonly begun?: Begun;
  readonly emit: Emit;
  now(): number;
}

export interface Begun {
  readonly iteration: number;
  readonly mode: StoryMode;
  readonly story?: string;
  /** What its agent left is in the list already. */
  readonly isSettled: boolean;
}

export interface Settlement {
  readonly violations: readonly Violation[];
  readonly missing: readonly string[];
}

export interface StoryKeeper {
  /** Ralph's own copy. */
  list(): StoryList;
  /** What the iteration is for; the story is the one that it really moved, once it is over. */
  assignment(): Assignment;
  /** Chooses what the next iteration is for and tells the hooks. */
  begin(): Assignment;
  /** `isWhole`: the turn ended by itself, so that what it left out counts against it. */
  settle(iteration: number, isWhole: boolean): Settlement;
  /** The user has had his hands on the files: what he left is trusted, if it is in order. */
  trust(): void;
  /** Writes Ralph's copy down, under its hash, and has the ledger vouch for it. */
  record(iteration: number): void;
  release(): void;
}

export function createStoryKeeper(options: KeeperOptions): StoryKeeper {
  const { paths, policy, emit } = options;
  const files = keptFiles(options);
  let list = options.list;
  let assignment = options.begun ? assignmentOf(options.begun, list) : nextAssignment(list, policy);
  let moved: Story | undefined;
  let recorded: { readonly list: StoryList; readonly hash: string } | undefined;

  return {
    list: () => list,
    assignment: () => assignment,
    begin() {
      assignment = nextAssignment(list, policy);
      files.mark(termsOf(assignment, policy), list.userStories);
      return assignment;
    },
    settle(iteration, isWhole) {
      if (options.begun?.isSettled && options.begun.iteration === iteration) return NOTHING_LEFT;
      const left = files.left();
      const settled = repairList(list, left, termsOf(assignment, policy));
      const restored = !settled.repaired || files.write(settled.list, iteration);
      if (!settled.repaired) files.believe(settled.list);
      const rules = settled.forbidden.map(what => ({ what, restored, isSentence: true }) as const);
      moved = movedStory(list, settled.list);
      assignment = { ...assignment, ...(moved && { story: moved }) };
      list = settled.list;
      const { autoApproved } = settled;
      if (autoApproved) emit({ type: 'notice', level: 'warning', text: letThrough(autoApproved, policy) });
      return {
        violations: [...rules, ...files.restore(iteration)],
        missing: isWhole ? settled.missing : [],
      };
    },
    trust() {
      const own = loadStories(paths, policy);
      if (isList(own)) list = own;
      else {
        const what = own.map(formatProblem).join('; ');
        emit({
          type: 'notice',
          level: 'warning',
          text: `The story list stays as it was before the pause: ${what}`,
        });
      }
      files.keepAgain();
    },
    record(iteration) {
      if (recorded?.list !== list) recorded = { list, hash: keepCopy(list, options.stories) };
      const { hash } = recorded;
      const { length: total } = list.userStories;
      const done = total - openStories(list, policy).length;
      emit({
        type: 'stories-settled',
        iteration,
        hash,
        done,
        total,
        ...(moved && { moved: standOf(moved) }),
      });
    },
    release() {
      files.close();
      removeActive(paths.active);
    },
  };
}

/** A copy of the list under its hash, which it answers. */
function keepCopy(list: StoryList, pathOf: RunPaths['stories']): string {
  const text = formatTasks(list);
  const hash = storiesHash(text);
  const copy = pathOf(hash);
  ensureFolder(dirname(copy));
  writeAtomic(copy, text);
  return hash;
}

const NOTHING_LEFT: Settlement = { violations: [], missing: [] };

function assignmentOf({ mode, story: id }: Begun, { userStories }: StoryList): Assignment {
  const story = userStories.find(each => each.id === id);
  return { mode, ...(story && { story }) };
}

function standOf({ id, passes, reviewStatus, reviewFeedback }: Story) {
  return { id, passes, reviewStatus, reviewFeedback };
}

export function storiesHash(text: string): string {
  return sha256(text).slice(0, 32);
}

function termsOf({ mode, story }: Assignment, policy: ReviewPolicy): StoryRules {
  return { ...policy, mode, ...(story && { story: story.id }) };
}

/** The story whose review state changed in this iteration. */
function movedStory(before: StoryList, after: StoryList): Story | undefined {
  if (before === after) return undefined;
  const known = storiesById(before);
  return after.userStories.find(now => {
    const was = known.get(now.id);
    return was && (was.reviewStatus !== now.reviewStatus || was.passes !== now.passes);
  });
}

function letThrough({ id, reviewFeedback }: Story, { reviewCap }: ReviewPolicy): string {
  return `${id} has had ${reviewCap} reviews and was let through: ${reviewFeedback}`;
}

/** The files around the list: those that are not the agent's, and the log that it may only add to. */
function keptFiles({ paths, aside, ...options }: KeeperOptions) {
  const store = createFileStore();
  // With links resolved once, so that a link made since then is seen as one.
  const top = realpathSync(dirname(paths.folder));
  const inside = (path: string) => `${basename(paths.folder)}/${basename(path)}`;
  const keepAll = () =>
    [paths.prd, paths.prompt].flatMap((path): readonly (readonly [string, SavedFile])[] => {
      const file = store.keep(path);
      return file ? [[path, file]] : [];
    });
  let kept = keepAll();
  let active = '';
  let log = readLog(paths.progress);
  const tasks = createTasksReader(paths.tasks);
  /** Whatever is in the way is set aside; false when it could not be. */
  const replace = (path: string, iteration: number, write: (to: string) => void): boolean => {
    try {
      clearPath(top, inside(path), join(aside, String(iteration)));
      write(join(top, inside(path)));
      return true;
    } catch (error) {
      options.emit({
        type: 'notice',
        level: 'warning',
        text: `${path} cannot be put back: ${errorWords(error)}.`,
      });
      return false;
    }
  };
  /** What a kill leaves of it lies in the run's folder, not among the user's files. */
  const writeOwn = (to: string, text: string) => writeAtomic(to, text, 0o644, dirname(aside));
  const isBlocked = (path: string) => blockedAt(top, inside(path)) !== undefined;

  const restoreKept = (iteration: number): readonly Violation[] =>
    kept.flatMap(([path, file]) => {
      const difference = isBlocked(path) ? { kind: 'deleted' as const } : store.difference(file, path);
      if (!difference) return [];
      const restored = replace(path, iteration, to => store.restoreFile(file, to));
      return [{ what: changeWords(`${paths.name}/${basename(path)}`, difference), restored }];
    });
  const restoreLog = (iteration: number): readonly Violation[] => {
    const now = isBlocked(paths.progress) ? '' : readLog(paths.progress);
    if (log === '' || (now !== '' && squeezed(now).includes(entriesOf(log)))) {
      log = now;
      return [];
    }
    const before = log;
    const restored = replace(paths.progress, iteration, to => writeOwn(to, before));
    const what = now === '' ? 'was deleted' : 'lost what earlier iterations wrote; it is only added to';
    return [{ what: `${paths.name}/progress.txt ${what}`, restored }];
  };
  const restoreMark = (): readonly Violation[] => {
    if (active === '' || readText(paths.active) === active) return [];
    return [{ what: `${ACTIVE_FILE} was changed; it is Ralph's own`, restored: true }];
  };

  return {
    mark(terms: StoryRules, stories: readonly Story[]): void {
      active = formatActive({ ...options, now: options.now(), ralphDir: paths.name, terms, stories });
      const stat = lstatSync(paths.active, { throwIfNoEntry: false });
      if (stat && !stat.isFile()) clearPath(paths.root, ACTIVE_FILE, aside);
      writeActive(paths.active, active);
    },
    left: () => (isBlocked(paths.tasks) ? undefined : tasks.read()),
    believe: tasks.believe,
    write: (list: StoryList, iteration: number) =>
      replace(paths.tasks, iteration, to => writeOwn(to, formatTasks(list))),
    restore: (iteration: number) => [...restoreKept(iteration), ...restoreLog(iteration), ...restoreMark()],
    keepAgain(): void {
      kept = keepAll();
      log = readLog(paths.progress);
    },
    close: () => store.close(),
  };
}

/** Never through a link; undefined when there is nothing that can be read. */
function readText(path: string): string | undefined {
  try {
    return lstatSync(path).isFile() ? readIfThere(path) : undefined;
  } catch {
    return undefined;
  }
}

function readLog(path: string): string {
  return readText(path) ?? '';
}

const squeezed = (text: string) => text.replace(/\s+/g, ' ').trim();

/** What stands below the line: the top of the log is there to be edited. */
function entriesOf(log: string): string {
  const line = /^---\s*$/m.exec(log);
  return line ? squeezed(log.slice(line.index + line[0].length)) : '';
}
