/** Source control after an iteration whose checks pass: seed 001's tasks. A failure here never loses work and never ends the loop. */
import { basename, relative } from 'node:path';
import { firstTag } from '../domain/completion.ts';
import type { Emit, ScmOutcome } from '../domain/event.ts';
import type { PastTask } from '../domain/past-iteration.ts';
import { capture } from '../platform/capture.ts';
import type { Confinement } from '../platform/confinement.ts';
import { complaint, lastLine, withConfig } from '../platform/git.ts';
import { findRepository, type Place } from './repository.ts';

export interface ScmRound {
  readonly command: string;
  readonly tasks: readonly string[];
  /** Those that were begun before the run was cut off. */
  readonly before: readonly PastTask[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly abort: AbortSignal;
  /** What agent and checks run in: hooks run code that is the agent's as much as theirs. Without `words` it hides no keys. */
  readonly sandbox?: { readonly checks: Confinement; readonly words?: string } | undefined;
  readonly emit: Emit;
  /** Asks the agent for a commit message; undefined when it has no answer. */
  askForMessage(): Promise<string | undefined>;
}

/** A push that waits for a password would wait for ever. */
const QUIET_GIT = { GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true' };
const TASK_TIMEOUT = 600_000;

/** False: a task was cut off with the run, or not begun. */
export async function runScmTasks(round: ScmRound): Promise<boolean> {
  const { emit, before } = round;
  for (const task of round.tasks) {
    if (round.abort.aborted) return false;
    const begun = before.find(each => each.task === task);
    if (begun?.outcome === 'failed') return true;
    if (begun?.outcome !== undefined) continue;
    if (!begun) emit({ type: 'scm-started', task, head: await headOf(round) });
    const known = begun && (await cameAbout(round, begun));
    const { outcome, detail } = known ?? (await carryOut(round, task));
    // What we ended ourselves has not failed.
    if (outcome === 'failed' && round.abort.aborted) return false;
    emit({ type: 'scm', task, outcome, detail });
    // A commit that failed must not be followed by a push of the state before it.
    if (outcome === 'failed') return true;
  }
  return true;
}

function carryOut(round: ScmRound, task: string): Promise<TaskResult> {
  return task.trim() === 'commit' ? commit(round) : runTask(round, task.trim().split(/\s+/));
}

/** What became of a task that was cut off; undefined: it may be run again. Nothing is ever done twice. */
async function cameAbout(round: ScmRound, { task, head }: PastTask): Promise<TaskResult | undefined> {
  const name = task.trim();
  if (!isGit(round) || (name !== 'commit' && name !== 'push')) {
    return {
      outcome: 'failed',
      detail: 'it was cut off; whether it was done is not known, so it is not run again',
    };
  }
  const asked = await scm(round, ['rev-parse', ...(name === 'commit' ? ['HEAD^'] : ['HEAD', '@{push}'])]);
  const [one, other] = asked.stdout.trim().split('\n');
  if (asked.code !== 0) return undefined;
  if (name === 'push') return one === other ? { outcome: 'done', detail: 'it had been pushed' } : undefined;
  if (head === null || one !== head) return undefined;
  const { stdout } = await scm(round, ['log', '-1', '--format=%B']);
  return { outcome: 'done', detail: stdout.trim() };
}

async function headOf(round: ScmRound): Promise<string | null> {
  if (!isGit(round)) return null;
  const { code, stdout } = await scm(round, ['rev-parse', '--verify', '--quiet', 'HEAD']);
  return code === 0 ? stdout.trim() : null;
}

function isGit({ command }: ScmRound): boolean {
  return basename(command).replace(/\.exe$/i, '') === 'git';
}

interface TaskResult {
  readonly outcome: ScmOutcome;
  readonly detail: string;
}

async function commit(round: ScmRound): Promise<TaskResult> {
  if (isGit(round)) {
    // New files are the agent's work too. Ralph's own folder is not; what git ignores stays ignored.
    const added = await scm(round, ['add', '--all', '--', ':/', ':(exclude,top,glob)**/.ralph/**']);
    if (added.code !== 0) return { outcome: 'failed', detail: complaint(added.output, added.code) };
    const staged = await scm(round, ['diff', '--cached', '--quiet']);
    if (staged.code === 0) return { outcome: 'nothing-to-do', detail: 'nothing to commit' };
  }
  const message = commitMessage(await round.askForMessage());
  if (message === undefined) {
    return {
      outcome: 'failed',
      detail: 'the agent gave no commit message; the changes stay in the working tree',
    };
  }
  const result = await runTask(round, ['commit', '-am', message]);
  return result.outcome === 'done' ? { outcome: 'done', detail: message } : result;
}

/** The content of the tag, else the first line that is not empty. */
function commitMessage(reply: string | undefined): string | undefined {
  const tagged = reply === undefined ? undefined : firstTag('response', reply);
  const message = tagged ?? reply?.split('\n').find(line => line.trim() !== '');
  return message?.replaceAll('\0', '').trim() || undefined;
}

async function runTask(round: ScmRound, args: readonly string[]): Promise<TaskResult> {
  const { code, output } = await scm(round, args);
  if (code === 0) return { outcome: 'done', detail: lastLine(output) };
  return { outcome: 'failed', detail: complaint(output, code) };
}

/** What must get out with the user's own keys, which are hidden inside. It starts no hook then. */
const GOES_OUT = /^(push|pull|fetch)$/;

function scm({ command, cwd, env, abort, sandbox }: ScmRound, args: readonly string[]) {
  const goesOut = sandbox?.words !== undefined && GOES_OUT.test(args[0] ?? '');
  const own = { ...env, ...QUIET_GIT };
  return capture([command, ...args], {
    cwd,
    env: goesOut ? withConfig(own, { 'core.hooksPath': '/dev/null', 'core.fsmonitor': 'false' }) : own,
    timeout: TASK_TIMEOUT,
    signal: abort,
    confinement: goesOut ? undefined : sandbox?.checks,
  });
}

/** What came of it, in words for the user; `done` when there is a commit. */
export async function commitPaths(
  place: Place,
  paths: readonly string[],
  message: string,
): Promise<{ readonly done: boolean; readonly why: string }> {
  const repository = await findRepository(place);
  if ('what' in repository) return { done: false, why: repository.what };
  const { git } = repository;
  const names = paths.map(path => relative(place.cwd, path) || '.');
  const added = await git.run(['add', '--all', '--', ...names]);
  if (added.code !== 0) return { done: false, why: complaint(added.output, added.code) };
  const commit = await git.run(['commit', '--quiet', '--message', message, '--', ...names]);
  return commit.code === 0
    ? { done: true, why: '' }
    : { done: false, why: complaint(commit.output, commit.code) };
}
