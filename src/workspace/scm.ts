/** Source control after an iteration whose checks pass: seed 001's tasks. A failure here never loses work; the result of the run says it. */
import { basename } from 'node:path';
import type { Emit, RunStart } from '../domain/run/event.ts';
import type { TaskState } from '../domain/run/state.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import { firstTag } from '../domain/turn/claim.ts';
import type { CaptureOptions } from '../platform/capture.ts';
import type { Confinement } from '../platform/confinement.ts';
import { captureGit, complaint } from '../platform/git.ts';
import { findProgram } from '../platform/programs.ts';
import { commitInside, type Inside } from './commit-in-repository.ts';
import { type CommitPlan, planCommit } from './commit-plan.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import {
  failed,
  isForOutside,
  QUIET_GIT,
  runInside,
  runOutside,
  TASK_TIMEOUT,
  type TaskResult,
} from './scm-network.ts';
import { alignIndex, type IndexOwner } from './user-index.ts';

export interface ScmRound {
  readonly command: string;
  readonly tasks: readonly string[];
  /** Those that were begun before the run was cut off. */
  readonly before: readonly TaskState[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly abort: AbortSignal;
  /** What checks run in: hooks run code that is the agent's as much as theirs. undefined: there is no wall. */
  readonly confinement?: Confinement | undefined;
  /** The wall keeps the user's keys and the network from the inside: what needs them runs on Ralph's own directory, outside. */
  readonly isSandboxed: boolean;
  /** What is the user's own. */
  readonly start: RunStart | undefined;
  /** The tree that was checked; undefined: the files as they are now. */
  readonly checked: string | undefined;
  readonly commitDirty: boolean;
  readonly emit: Emit;
  /** What the agent says when it is done: that is no message. */
  readonly doneWords: readonly string[];
  /** Of a commit that failed before. */
  readonly knownMessage: string | undefined;
  /** Asks the agent for a commit message; undefined when it has no answer. */
  askForMessage(): Promise<string | undefined>;
  /** Where it has none. */
  readonly defaultMessage: string;
  readonly runId: string;
  /** What the run is for. */
  readonly title: string | undefined;
}

/** The branch of the run, where Ralph has made it, has no upstream yet; one of the user's without is refused before the run. */
const NEW_BRANCH = ['-c', 'push.autoSetupRemote=true'];

/** False: a task was cut off with the run, or not begun. */
export async function runScmTasks(round: ScmRound): Promise<boolean> {
  const { emit, before } = round;
  for (const task of round.tasks) {
    if (round.abort.aborted) return false;
    const begun = before.find(each => each.task === task);
    if (begun?.outcome === 'failed') return true;
    if (begun?.outcome !== undefined) continue;
    const result = await resolveTask(round, task, begun);
    // What we ended ourselves has not failed.
    if (result.outcome === 'failed' && round.abort.aborted) return false;
    emit({ type: 'scm', task, ...result });
    // A commit that failed must not be followed by a push of the state before it. One that a hook has changed is checked first.
    if (result.outcome === 'failed' || result.differs) return true;
  }
  return true;
}

async function resolveTask(round: ScmRound, task: string, begun: TaskState | undefined): Promise<TaskResult> {
  const own = isGit(round) ? await openOwnGit(round) : undefined;
  if (own && isProblem(own)) return failed(formatProblem(own));
  const known = begun && (await cameAbout(round, own, begun));
  if (known) return known;
  const [name = '', ...args] = task.trim().split(/\s+/);
  if (own && name === 'commit' && args.length === 0) return commit(round, own, task);
  if (!begun) round.emit({ type: 'scm-started', task, head: (await own?.head())?.commit ?? null });
  if (own && round.isSandboxed && isForOutside(name)) return runOutside(own, round, [name, ...args]);
  if (name === 'commit') return commitPlainly(round);
  const isNew = name === 'push' && own && (await own.head()).branch === round.start?.branch;
  return runTask(round, [...(isNew ? NEW_BRANCH : []), name, ...args]);
}

/** What became of a task that was cut off; undefined: it may be run again. Nothing is ever done twice. */
async function cameAbout(
  round: ScmRound,
  own: OwnGit | undefined,
  { task, head, tree }: TaskState,
): Promise<TaskResult | undefined> {
  const name = task.trim();
  if (!own || (name !== 'commit' && name !== 'push'))
    return failed('it was cut off; whether it was done is not known, so it is not run again');
  const { git } = own.repository;
  const asked = await git.run(['rev-parse', ...(name === 'commit' ? ['HEAD^'] : ['HEAD', '@{push}'])]);
  const [one, other] = asked.stdout.trim().split('\n');
  if (name === 'push')
    return asked.code === 0 && one === other ? { outcome: 'done', detail: 'it had been pushed' } : undefined;
  return (asked.code === 0 ? one : null) === head ? resolveCommit(round, own, head, tree) : undefined;
}

/** A commit on top of where it was begun: it may have been cut off between the commit and the index. undefined: it is not Ralph's. */
async function resolveCommit(
  round: ScmRound,
  own: OwnGit,
  head: string | null,
  tree: string | undefined,
): Promise<TaskResult | undefined> {
  const { commit } = await own.head();
  const committed = commit === undefined ? undefined : await own.treeOf(commit);
  if (commit === undefined || typeof committed !== 'string') return undefined;
  const { stdout } = await own.repository.git.run(['log', '-1', '--no-show-signature', '--format=%B']);
  // A hook may have changed what is in it.
  const differs = committed !== tree;
  if (differs && !stdout.includes(`\nRalph-Run: ${round.runId}\n`)) return undefined;
  const before = await own.treeOf(head ?? undefined);
  if (isProblem(before)) return failed(formatProblem(before));
  const changes = await own.changedPaths(before, committed);
  if (isProblem(changes)) return failed(formatProblem(changes));
  // What was staged since it was cut off is not known: all of it counts as the user's.
  const owner = { ...ownerOf(round, own), users: undefined };
  await alignIndex(own, { commit, parent: head ?? undefined, before, changes }, owner);
  const detail = stdout.replace(/\n\nRalph-Run: [\s\S]*$/, '').trim();
  return { outcome: 'done', detail, commit, ...(differs && { differs }) };
}

function isGit(round: ScmRound): boolean {
  return programName(round) === 'git';
}

function programName({ command }: ScmRound): string {
  return basename(command).replace(/\.exe$/i, '');
}

async function commit(round: ScmRound, own: OwnGit, task: string): Promise<TaskResult> {
  const checked = round.checked ?? (await own.snapshot());
  if (typeof checked !== 'string' && isProblem(checked)) return failed(formatProblem(checked));
  const tree = typeof checked === 'string' ? checked : checked.tree;
  const plan = await planCommit(own, { ...round, checked: tree });
  if (isProblem(plan)) return failed(formatProblem(plan));
  reportLeft(round, plan);
  if (plan.tree === plan.headTree) return { outcome: 'nothing-to-do', detail: 'nothing to commit' };
  round.emit({ type: 'scm-started', task, head: plan.head.commit ?? null, tree: plan.tree });
  const message = await messageFor(round);
  if (round.abort.aborted) return failed('the run was ended');
  const inside = insideOf(round, own, { timeout: TASK_TIMEOUT, signal: round.abort });
  const made = await commitInside(own, plan, withTrailers(message, round), inside, ownerOf(round, own));
  if ('refused' in made) {
    const refused = createRedactor(round.env)(made.refused).slice(-MOST_WORDS);
    return { ...failed(complaint(refused, 1)), refused, message };
  }
  if (isProblem(made)) return { ...failed(made.what), message };
  const { commit } = made;
  if (!made.differs) return { outcome: 'done', detail: message, commit };
  return {
    outcome: 'done',
    detail: `${message} (a ${plan.filtered.length > 0 ? 'filter' : 'hook'} changed what was checked)`,
    differs: true,
    commit,
  };
}

function reportLeft({ emit }: ScmRound, { left }: CommitPlan): void {
  if (left.length === 0) return;
  const more = left.length > SHOWN ? ` and ${left.length - SHOWN} more` : '';
  const text = `Not committed: ${left.slice(0, SHOWN).join(', ')}${more}.`;
  emit({ type: 'notice', level: 'warning', text });
}

const SHOWN = 10;

/** Of what a hook prints the agent gets the end. */
const MOST_WORDS = 4000;

/** Milliseconds for what is not ended with the run. */
const MOMENT = 30_000;

function insideOf(
  { env, confinement }: ScmRound,
  { top }: OwnGit,
  limits: Pick<CaptureOptions, 'timeout' | 'signal'>,
): Inside {
  return (argv, { env: more, input } = {}) =>
    captureGit(argv, { cwd: top, env: { ...env, ...QUIET_GIT, ...more }, confinement, input, ...limits });
}

/** The index is not ended with the run: half of what is done to it would undo work later. */
function ownerOf(round: ScmRound, own: OwnGit): IndexOwner {
  const inside = insideOf(round, own, { timeout: MOMENT });
  return {
    users: round.start?.staged,
    run: round.runId,
    update: (args, input) => inside([own.git.program, ...args], { input }),
    tell: text => round.emit({ type: 'notice', level: 'warning', text }),
  };
}

/** `-a` means something else to Mercurial: there `-A` adds what is new, and all that is known is committed anyway. */
const COMMIT_WORDS: Readonly<Record<string, readonly string[]>> = { hg: ['commit', '-A', '-m'] };

/** Another program than git: it knows itself what it has to commit. */
async function commitPlainly(round: ScmRound): Promise<TaskResult> {
  const message = await messageFor(round);
  if (round.abort.aborted) return failed('the run was ended');
  const result = await runTask(round, [...(COMMIT_WORDS[programName(round)] ?? ['commit', '-am']), message]);
  return result.outcome === 'done' ? { outcome: 'done', detail: message } : result;
}

async function messageFor(round: ScmRound): Promise<string> {
  const { knownMessage, askForMessage, doneWords, defaultMessage } = round;
  if (knownMessage !== undefined) return knownMessage;
  const message = commitMessage(await askForMessage());
  const isDone = doneWords.some(words => words.toLowerCase() === message?.toLowerCase());
  return message === undefined || isDone ? defaultMessage : message;
}

/** The content of the tag, else the first line that is not empty. */
function commitMessage(reply: string | undefined): string | undefined {
  const tagged = reply === undefined ? undefined : firstTag('response', reply);
  // An agent that is used to it says that it is done, here too: that is no message.
  const message =
    tagged ??
    reply
      ?.replace(/<promise>[\s\S]*?<\/promise>/g, '')
      .split('\n')
      .find(line => line.trim() !== '');
  return message?.replaceAll('\0', '').trim() || undefined;
}

/** With the name before it a line has 100 characters at most: what looks at messages refuses longer ones. */
const MOST_TITLE = 88;

/** Which run made it, and what for, as `git interpret-trailers` reads it. */
export function withTrailers(message: string, { runId, title }: Pick<ScmRound, 'runId' | 'title'>): string {
  const words = title?.replace(/\s+/g, ' ').trim();
  const short = words && words.length > MOST_TITLE ? `${words.slice(0, MOST_TITLE - 1).trimEnd()}…` : words;
  const task = short === undefined ? '' : `\nRalph-Task: ${short}`;
  return `${message}\n\nRalph-Run: ${runId}${task}`;
}

async function runTask(round: ScmRound, args: readonly string[]): Promise<TaskResult> {
  const { command, cwd, env } = round;
  const program = findProgram(command, env, cwd);
  return isProblem(program) ? failed(formatProblem(program)) : runInside([program, ...args], round);
}
