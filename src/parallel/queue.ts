/** The merge queue: makes candidates, checks each as it would land, and moves the integration branch. What to do next is decided in `nextMerge`. */
import { availableParallelism } from 'node:os';
import {
  type Board,
  type Candidate,
  laneOf,
  type Queued,
  SENT_BACK,
  type SentBackWhy,
} from '../domain/lanes/board.ts';
import { type Conflict, pathsOf, withConflicts } from '../domain/lanes/conflict.ts';
import { type Checked, checkSlots, nextMerge, type QueueAction } from '../domain/lanes/queue.ts';
import { listSome } from '../domain/text/feedback.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { diskTrouble } from '../platform/disk.ts';
import { errorWords } from '../platform/error-words.ts';
import { warn } from '../run/steps.ts';
import type { RunContext } from '../run/turns/context.ts';
import { inputsAmong, isSameInput } from '../workspace/check-inputs.ts';
import type { Integration } from '../workspace/integration.ts';
import { discardWorktree } from '../workspace/remove-worktree.ts';
import { checkCandidate } from './candidate-checks.ts';
import type { AloneGate } from './check-gate.ts';
import type { LanePlaces } from './lane-place.ts';
import type { LaneWork } from './lane-work.ts';
import { endedChild, failIfFull } from './lanes.ts';
import { buildCandidate, removedWork, undecided, unsolved } from './merging.ts';
import { laneName, worktreeName } from './names.ts';

export interface QueueWorld {
  readonly work: LaneWork;
  readonly parts: RunContext;
  readonly integration: Integration;
  readonly runId: string;
  readonly lanes: number;
  readonly places: LanePlaces;
  readonly gate: AloneGate;
  board(): Board;
}

/** After so many times somebody has to look. */
const MOST_RETURNS = 3;

export type MergeQueue = ReturnType<typeof createQueue>;

export function createQueue(world: QueueWorld) {
  const { parts, board } = world;
  const checking = new Set<number>();
  const checked = new Map<number, Checked>();
  const failed = new Map<number, string>();
  const times = { checks: [] as number[] };
  let busy = false;
  let halted: string | undefined;
  const slots = () =>
    checkSlots({
      lanes: world.lanes,
      story: storySeconds(board()),
      checks: typical(times.checks),
      cores: availableParallelism(),
    });
  return {
    /** Why nothing lands any more. */
    halted: () => halted,
    isBusy: () => busy || checking.size > 0,
    /** Does what can be done now; returns whether something was. `changed` is called when a check is over. */
    async step(changed: () => void): Promise<boolean> {
      if (busy || halted !== undefined || parts.stopping.aborted) return false;
      const action = nextMerge(board(), { checking, checked, slots: slots() });
      if (!action) return false;
      if (action.kind === 'check') {
        const { number } = action.candidate;
        checking.add(number);
        const over = ({ verdict, words, seconds }: Awaited<ReturnType<typeof checkCandidate>>) => {
          checking.delete(number);
          if (verdict === 'cut-off') return changed();
          times.checks.push(seconds);
          if (verdict === 'halt') halted = words;
          else checked.set(number, verdict);
          failed.set(number, words);
          changed();
        };
        // What nobody expected halts the queue: it would wait for this candidate for ever.
        const failedToCheck = (error: unknown) =>
          over({ verdict: 'halt', words: `it could not be checked: ${errorWords(error)}`, seconds: 0 });
        void checkCandidate(world, action).then(over, failedToCheck);
        return true;
      }
      busy = true;
      try {
        const why = await perform(world, action, failed);
        // What a run that is being stopped did not do, the next one does.
        if (!parts.stopping.aborted) halted = why;
      } catch (error) {
        const trouble = diskTrouble(error);
        if (trouble === undefined) throw error;
        parts.disk.failed(trouble);
      } finally {
        busy = false;
      }
      return true;
    },
  };
}

function typical(seconds: readonly number[]): number | undefined {
  const sorted = [...seconds].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

function storySeconds({ lanes }: Board): number | undefined {
  return typical(
    lanes.flatMap(({ startedAt, endedAt }) => (startedAt && endedAt ? [(endedAt - startedAt) / 1000] : [])),
  );
}

/** Returns why nothing lands any more; undefined: it may. */
async function perform(
  world: QueueWorld,
  action: Exclude<QueueAction, { readonly kind: 'check' }>,
  failed: ReadonlyMap<number, string>,
): Promise<string | undefined> {
  switch (action.kind) {
    case 'build':
      return build(world, action.entry, action.onto);
    case 'land':
      return land(world, action.entry, action.candidate);
    case 'send-back': {
      const { number } = action.candidate;
      return sendBack(world, action.entry, {
        why: action.why,
        files: [],
        number,
        detail: failed.get(number) ?? '',
      });
    }
    default:
      return action satisfies never;
  }
}

async function build(world: QueueWorld, entry: Queued, onto: string): Promise<string | undefined> {
  const { integration, work, parts, board } = world;
  const lane = laneOf(board(), entry.story);
  if (!lane) return undefined;
  const child = endedChild(world, lane.runs.at(-1) ?? '');
  const number = board().candidates + 1;
  const isMerge = lane.merges !== undefined;
  const made = { head: entry.head, message: work.message(lane), date: entry.at, isMerge };
  const missing = await integration.own.bring(entry.head);
  const built =
    missing ??
    (await buildCandidate(integration, onto, made, work.ownPaths, files =>
      work.filesWith(lane.id, child, files),
    ));
  const open = missing ? [] : await undecided(integration, entry.head, lane.conflicts);
  if (!isProblem(open) && open.length > 0 && !isProblem(built)) {
    const also = built.kind === 'conflict' ? built.conflicts : [];
    return sendBack(world, entry, conflictBack(withConflicts(open, also), number));
  }
  if (isProblem(built) || isProblem(open) || built.kind === 'empty') {
    const problem = [built, open].find(isProblem);
    const why = problem ? `it cannot be merged: ${formatProblem(problem)}` : EMPTY;
    // What a pull request asks for may need no change.
    const needsYou = problem !== undefined || !lane.isRound;
    if (failIfFull(world, why)) return undefined;
    parts.emit({ type: 'lane-kept', story: lane.id, why, needsYou, commit: entry.head });
    return undefined;
  }
  if (built.kind === 'conflict') return sendBack(world, entry, conflictBack(built.conflicts, number));
  const { commit } = built;
  const marked = await unsolved(integration, onto, commit);
  if (isProblem(marked)) return formatProblem(marked);
  if (marked.length > 0)
    return sendBack(world, entry, { why: 'conflict', files: marked, number, detail: '' });
  // A review is of a change: another change was not reviewed.
  const patch = work.isReviewed ? await integration.patchOf(onto, commit, work.ownPaths) : entry.patch;
  if (patch !== entry.patch) return sendBack(world, entry, { why: 'changed', files: [], number, detail: '' });
  const unkept = await integration.pin(`queue/${number}`, commit);
  if (unkept) return formatProblem(unkept);
  parts.emit({ type: 'candidate', story: entry.story, number, tip: onto, commit });
  return undefined;
}

function conflictBack(conflicts: readonly Conflict[], number: number): Back {
  return { why: 'conflict', files: pathsOf(conflicts), conflicts, number, detail: '' };
}

const EMPTY =
  'there is no change in it that has not landed already: either nothing had to be done, or the work is gone from its folder';

/** Compare and swap: whoever moved the branch in between is not overwritten. */
async function land(world: QueueWorld, entry: Queued, candidate: Candidate): Promise<string | undefined> {
  const { integration, parts, board, work, runId, places } = world;
  const { number, commit, tip } = candidate;
  const isThere = (await integration.tip()) === commit || (await integration.swap(tip, commit));
  if (isProblem(isThere)) return formatProblem(isThere);
  if (!isThere) return movedWords(integration);
  const tree = await integration.own.treeOf(commit);
  const removed = await removedWork(integration, board(), candidate, work.ownPaths);
  if (isProblem(removed))
    warn(
      parts.emit,
      `Whether ${entry.story} takes away what had landed is not known: ${formatProblem(removed)}`,
    );
  else if (removed.length > 0)
    warn(parts.emit, `${entry.story} takes away what had landed before it: ${listSome(removed)}.`);
  const delivered = await integration.deliver(commit, tip);
  if (delivered)
    warn(parts.emit, `What has landed is not in your repository yet: ${formatProblem(delivered)}`);
  const moved = await integration.publish(tip);
  if (moved !== undefined) warn(parts.emit, moved);
  const child = laneOf(board(), entry.story)?.runs.at(-1) ?? '';
  work.landed(entry.story, endedChild({ parts }, child));
  const inputs = await changedInputs(world, commit, entry.story);
  parts.emit({
    type: 'landed',
    ...{ story: entry.story, number, commit, tree: isProblem(tree) ? '' : tree },
    ...inputs,
  });
  work.record?.(entry.story);
  await places.close(entry.story);
  await clearAway(parts, worktreeName(runId, { id: entry.story }, board()), commit);
  await integration.unpin(laneName(child));
  return undefined;
}

/** Whoever can push can have moved it, an agent too: nothing is built on what no check has seen, and nothing of it is taken away. */
export async function movedWords(integration: Integration): Promise<string> {
  const others = await integration.others();
  if (isProblem(others)) return formatProblem(others);
  return `${others}, and not by Ralph: nothing lands on what nobody checked. What has landed is kept; to continue from what is there now, start again from that branch.`;
}

/** What the checks rest on and somebody has changed since the run began; `commit`: with the work of that lane. */
export async function changedInputs(
  {
    parts,
    integration: { own, readFile },
    work,
    board,
  }: Pick<QueueWorld, 'parts' | 'integration' | 'work' | 'board'>,
  commit: string,
  lane: string,
): Promise<{ readonly inputsChanged?: readonly string[] }> {
  const { base, landed } = board();
  const checks = work.checksFor(new Set([...landed.map(({ story }) => story), lane]));
  const options = { cwd: parts.project.root, commands: checks.map(({ command }) => command) };
  const changed = await own.changedPaths(`${base}^{tree}`, `${commit}^{tree}`);
  // What cannot be looked at may be anything.
  if (isProblem(changed)) return { inputsChanged: [formatProblem(changed)] };
  const here = changed.filter(({ path }) => path.startsWith(own.prefix));
  const paths = here.map(({ path }) => path.slice(own.prefix.length));
  const inputsChanged: string[] = [];
  for (const path of inputsAmong(paths, options)) {
    const texts = [base, commit].map(at => readFile(at, `${own.prefix}${path}`));
    if (!isSameInput(path, await Promise.all(texts), options)) inputsChanged.push(path);
  }
  return inputsChanged.length === 0 ? {} : { inputsChanged };
}

/** All of it is in what has landed. */
export async function clearAway(
  { project, env, emit }: RunContext,
  name: string,
  landed: string,
): Promise<void> {
  const problem = await discardWorktree({ root: project.root, env, name, heldBy: landed });
  if (problem) warn(emit, `The worktree ${name} is left: ${formatProblem(problem)}`);
}

interface Back {
  readonly why: SentBackWhy;
  readonly files: readonly string[];
  readonly conflicts?: readonly Conflict[];
  readonly number: number;
  readonly detail: string;
}

async function sendBack(
  { board, parts, integration }: QueueWorld,
  entry: Queued,
  back: Back,
): Promise<undefined> {
  const { story, head } = entry;
  const returns = (laneOf(board(), story)?.returns ?? 0) + 1;
  const others = await landedSince(integration, board(), head);
  parts.emit({ type: 'sent-back', story, ...back, others });
  if (returns < MOST_RETURNS) return;
  const where = back.files.length === 0 ? '' : ` in ${listSome(back.files)}`;
  const why = `it was sent back ${returns} times; the last time: ${SENT_BACK[back.why]}${where}`;
  parts.emit({ type: 'lane-kept', story, why, needsYou: true, commit: head });
}

/** Titles of what has landed since this work was last brought up to date. */
async function landedSince(integration: Integration, board: Board, head: string): Promise<readonly string[]> {
  const titles: string[] = [];
  for (const { story, commit } of board.landed)
    if (!(await integration.isAncestor(commit, head))) titles.push(laneOf(board, story)?.title ?? story);
  return titles;
}
