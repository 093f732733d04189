/** Source control after an iteration whose checks pass: seed 001's tasks. A failure here never loses work; the result of the run says it. */
import { basename } from 'node:path';
import { firstTag } from '../domain/completion.ts';
import type { Emit, RunStart, ScmResult } from '../domain/event.ts';
import type { PastTask } from '../domain/past-iteration.ts';
import { formatProblem, isProblem } from '../domain/problem.ts';
import { type CaptureOptions, capture } from '../platform/capture.ts';
import type { Confinement } from '../platform/confinement.ts';
import { complaint, lastLine } from '../platform/git.ts';
import { findProgram } from '../platform/programs.ts';
import { type CommitPlan, planCommit } from './commit-plan.ts';
import { alignIndex, commitInside, type Inside, type Insides } from './hand-over.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import { isForOutside, runOutside } from './scm-network.ts';

export interface ScmRound {
  readonly command: string;
  readonly tasks: readonly string[];
  /** Those that were begun before the run was cut off. */
  readonly before: readonly PastTask[];
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
  readonly doneWords: string;
  /** Asks the agent for a commit message; undefined when it has no answer. */
  askForMessage(): Promise<string | undefined>;
  /** Where it has none. */
  readonly defaultMessage: string;
  /** Behind the message of every commit: which run made it, and what for. */
  readonly trailers: Readonly<Record<string, string>>;
}

/** A push that waits for a password would wait for ever. */
const QUIET_GIT = { GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true' };
const TASK_TIMEOUT = 600_000;
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
    const result = await settle(round, task, begun);
    // What we ended ourselves has not failed.
    if (result.outcome === 'failed' && round.abort.aborted) return false;
    emit({ type: 'scm', task, ...result });
    // A commit that failed must not be followed by a push of the state before it. One that a hook has changed is checked first.
    if (result.outcome === 'failed' || result.differs) return true;
  }
  return true;
}

type TaskResult = Omit<ScmResult, 'task'>;

async function settle(round: ScmRound, task: string, begun: PastTask | undefined): Promise<TaskResult> {
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

function failed(detail: string): TaskResult {
  return { outcome: 'failed', detail };
}

/** What became of a task that was cut off; undefined: it may be run again. Nothing is ever done twice. */
async function cameAbout(
  round: ScmRound,
  own: OwnGit | undefined,
  { task, head, tree }: PastTask,
): Promise<TaskResult | undefined> {
  const name = task.trim();
  if (!own || (name !== 'commit' && name !== 'push'))
    return failed('it was cut off; whether it was done is not known, so it is not run again');
  const { git } = own.repository;
  const asked = await git.run(['rev-parse', ...(name === 'commit' ? ['HEAD^'] : ['HEAD', '@{push}'])]);
  const [one, other] = asked.stdout.trim().split('\n');
  if (name === 'push')
    return asked.code === 0 && one === other ? { outcome: 'done', detail: 'it had been pushed' } : undefined;
  const { commit } = await own.head();
  const isOurs = commit !== undefined && tree !== undefined && (await own.treeOf(commit)) === tree;
  if (!isOurs || (asked.code === 0 ? one : null) !== head) return undefined;
  // It may have been cut off between the commit and the index.
  const before = await own.treeOf(head ?? undefined);
  if (!isProblem(before)) await alignIndex(before, commit, own.git.program, insidesOf(round, own).toTheEnd);
  const { stdout } = await git.run(['log', '-1', '--no-show-signature', '--format=%B']);
  return { outcome: 'done', detail: stdout.replace(/\n\nRalph-Run: [\s\S]*$/, '').trim() };
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
  const made = await commitInside(own, plan, withTrailers(message, round), insidesOf(round, own));
  if (isProblem(made)) return failed(made.what);
  if (made.notice) round.emit({ type: 'notice', level: 'warning', text: made.notice });
  const { commit } = made;
  if (!made.differs) return { outcome: 'done', detail: message, commit };
  return { outcome: 'done', detail: `${message} (a hook changed what was checked)`, differs: true, commit };
}

function reportLeft({ emit }: ScmRound, { left }: CommitPlan): void {
  if (left.length === 0) return;
  const more = left.length > SHOWN ? ` and ${left.length - SHOWN} more` : '';
  const text = `Not committed: ${left.slice(0, SHOWN).join(', ')}${more}.`;
  emit({ type: 'notice', level: 'warning', text });
}

const SHOWN = 10;

/** Milliseconds for what is not ended with the run. */
const MOMENT = 30_000;

function insidesOf(round: ScmRound, { top }: OwnGit): Insides {
  const { env, abort, confinement } = round;
  const within =
    (limits: Pick<CaptureOptions, 'timeout' | 'signal'>): Inside =>
    (argv, more) =>
      capture(argv, { cwd: top, env: { ...env, ...QUIET_GIT, ...more }, confinement, ...limits });
  return {
    inside: within({ timeout: TASK_TIMEOUT, signal: abort }),
    toTheEnd: within({ timeout: MOMENT }),
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

async function messageFor({ askForMessage, doneWords, defaultMessage }: ScmRound): Promise<string> {
  const message = commitMessage(await askForMessage());
  return message === undefined || message.toLowerCase() === doneWords.toLowerCase()
    ? defaultMessage
    : message;
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

/** As `git interpret-trailers` reads them. */
function withTrailers(message: string, { trailers }: ScmRound): string {
  const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value.replace(/\s+/g, ' ')}`);
  return `${message}\n\n${lines.join('\n')}`;
}

async function runTask(round: ScmRound, args: readonly string[]): Promise<TaskResult> {
  const { command, cwd, env, abort, confinement } = round;
  const program = findProgram(command, env, cwd);
  if (isProblem(program)) return failed(formatProblem(program));
  const { code, output } = await capture([program, ...args], {
    cwd,
    env: { ...env, ...QUIET_GIT },
    timeout: TASK_TIMEOUT,
    signal: abort,
    confinement,
  });
  return code === 0 ? { outcome: 'done', detail: lastLine(output) } : failed(complaint(output, code));
}
