/**
 * An agent of `ralph prd run` wants to stop: seed 002's Checks 1, 2, 2.5 and 3, while it can still fix what is wrong. What it
 * learns here it learns early; the loop holds everything against its own copy afterwards, whatever happens here.
 */
import { basename, join, relative, resolve } from 'node:path';
import { type HookAnswer, type HookInput, NOTHING } from '../agents/dialect.ts';
import type { HookOrders } from '../domain/session/hook-orders.ts';
import {
  type ForbiddenChange,
  findForbiddenChanges,
  findInvalidStories,
} from '../domain/stories/transitions.ts';
import { formatUncommitted } from '../domain/text/feedback.ts';
import { isProblem } from '../domain/text/problem.ts';
import { readIfThere, tryTo, writePrivate } from '../platform/files.ts';
import { git } from '../platform/git.ts';
import { type Active, readActive } from '../store/active-file.ts';
import { leaveNote } from '../store/hook-notes.ts';
import { runFolder } from '../store/paths.ts';
import { ACTIVE_FILE } from '../store/prd-paths.ts';
import { isList, loadTasks } from '../store/tasks-file.ts';
import { uncommittedPaths } from '../workspace/changes.ts';
import { isRalphs, placeIn } from '../workspace/repository.ts';
import { readStatus } from '../workspace/tree-status.ts';

/** How often an iteration is sent back; then the loop deals with it. A commit that cannot succeed must not be asked for without end. */
const MOST_BLOCKS = 8;

/** Only the agent of a run is asked: in a session of the user's own, a `.ralph-active` that came with a repository decides nothing. */
export async function onStoryStop(orders: HookOrders, input: HookInput): Promise<HookAnswer> {
  const { root } = orders;
  const active = readActive(join(root, ACTIVE_FILE));
  if (!active || !concerns(active, orders)) return NOTHING;
  // A sub-agent will bring its own turn.
  if (input.inSubagent || input.pending > 0) return NOTHING;
  const wrong = [...storyMessages(root, active), ...(await uncommittedMessages(root))];
  const warning =
    active.snapshot || active.terms.skipReview
      ? undefined
      : `⚠️ Ralph: ${ACTIVE_FILE} holds no snapshot, so the changes of this iteration were not checked.`;
  if (wrong.length === 0) return warning === undefined ? NOTHING : { kind: 'say', message: warning };
  const count = countBlock(orders, active);
  if (count > MOST_BLOCKS) {
    const message = `🛑 Ralph: sent back ${MOST_BLOCKS} times; the run deals with what is left.`;
    return { kind: 'say', message };
  }
  const message = `🔄 Ralph: this iteration is not finished (${wrong.length}).`;
  const text = `The agent wanted to stop and was sent back: ${wrong.join(' ')}`;
  leaveNote(runFolder(orders.run).hookNotes, { type: 'notice', level: 'info', text });
  const reason = [REASON, ...wrong.map(each => `- ${each}`)].join('\n');
  return { kind: 'block', reason, message, ...(warning !== undefined && { warning }) };
}

const REASON = 'This Ralph iteration is not finished. Fix this, then stop again:';

/** The agent of another run is none of its business, even if it is in the same folder. */
function concerns({ runId }: Active, { run }: HookOrders): boolean {
  return runId === undefined || runId === basename(run);
}

/** Checks 1, 2 and 2.5. */
function storyMessages(root: string, { ralphDir, terms, snapshot }: Active): readonly string[] {
  const path = resolve(root, ralphDir, 'tasks.json');
  const list = loadTasks(path, relative(root, path));
  if (!isList(list)) return list.map(({ where, what }) => `${where}: ${what}.`);
  const { userStories: stories } = list;
  // A merge need not be solved in one turn; a review has its verdict.
  const isWrongNow = ({ undo }: ForbiddenChange) => undo.kind !== 'none' || terms.mode === 'review';
  return [
    ...findInvalidStories(stories, terms, snapshot),
    ...(snapshot ? findForbiddenChanges(snapshot, stories, terms) : [])
      .filter(isWrongNow)
      .map(({ message }) => message),
  ];
}

/** Check 3. Outside a repository there is nothing to commit to. */
async function uncommittedMessages(root: string): Promise<readonly string[]> {
  const listed = process.env.RALPH_SANDBOX ? await uncommittedInside(root) : await uncommitted(root);
  const paths = listed.filter(path => basename(path) !== ACTIVE_FILE);
  return paths.length === 0 ? [] : [formatUncommitted(paths)];
}

async function uncommitted(root: string): Promise<readonly string[]> {
  const status = await readStatus({ cwd: root, env: process.env });
  const paths = isProblem(status) ? status : await uncommittedPaths(status);
  return isProblem(paths) ? [] : paths;
}

/** In a sandbox there is no state folder, and nothing outside for the repository to reach. */
async function uncommittedInside(root: string): Promise<readonly string[]> {
  const flags = ['--porcelain', '-z', '--no-renames', '--untracked-files=all'];
  const { code, records } = await git(root, process.env).list(['status', ...flags]);
  const { prefix = '' } = placeIn(root) ?? {};
  return code === 0 ? records.map(record => record.slice(3)).filter(path => !isRalphs(path, prefix)) : [];
}

/** How often this iteration has been sent back now; the mark of the loop is written anew for each one. */
function countBlock({ run }: HookOrders, { timestamp }: Active): number {
  const path = runFolder(run).stopBlocks;
  const [stamp, before] = (readIfThere(path) ?? '').split(' ');
  const count = (stamp === timestamp ? Number(before) || 0 : 0) + 1;
  // a wall round the agent: then the host's own cap must do
  tryTo(() => writePrivate(path, `${timestamp} ${count}`));
  return count;
}
