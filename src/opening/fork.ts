/** `ralph fork`: a new run that begins with the files of an iteration of another one, in a worktree of its own. */
import { mergeLayers } from '../config/load.ts';
import { treeOf } from '../domain/run/best.ts';
import { knownEntry } from '../domain/run/ledger-entry.ts';
import { trustSentence, trustWith } from '../domain/run/ledger-trust.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../platform/git.ts';
import { keepVersion } from '../run/turns/yours.ts';
import { loadState } from '../store/checkpoint.ts';
import { openJournal, readJournal } from '../store/journal.ts';
import { isRecorded, type ProjectPaths, runPaths } from '../store/paths.ts';
import { type RunFile, readRunFile } from '../store/run-file.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import { openWorktree } from '../workspace/worktree.ts';
import type { Job } from './job.ts';
import { taskJob } from './jobs/task.ts';
import { readTask } from './reopen.ts';
import { type ResumeRequest, settingsAgain } from './resume-run.ts';
import type { SetUp } from './set-up.ts';

export interface ForkRequest extends Pick<ResumeRequest, 'project' | 'env' | 'flags'> {
  /** The iteration that it begins with. */
  readonly at: number;
}

/** With the settings of the old run, and whatever is given now. */
export async function forkRun(
  request: ForkRequest,
  id: string,
): Promise<{ readonly job: Job; readonly ready: SetUp } | readonly Problem[]> {
  const { project, env, at } = request;
  const paths = runPaths(project, id);
  const file = isRecorded(paths) ? readRunFile(paths) : undefined;
  if (!file?.given) return [{ where: id, what: `it cannot be forked here. ${trustSentence(paths.trust)}` }];
  const { given } = file;
  const other = otherKind(file);
  if (other !== undefined) {
    const fix = `\`ralph show ${id} --iteration ${at}\` shows its files: start a run with them`;
    return [
      { where: id, what: `only a run of \`ralph loop\` with one task can be forked, and ${other}`, fix },
    ];
  }
  const task = readTask(paths);
  if (isProblem(task)) return [task];
  const tree = treeAt(project, id, at);
  if (isProblem(tree)) return [tree];
  const ready = await settingsAgain(request, { ...file, given, cwd: project.root });
  if (!('settings' in ready)) return ready;
  const from = await commitAt({ project, env, id, at }, tree, given.worktree);
  if (isProblem(from)) return [from];
  const worktree = await openWorktree({ root: project.root, env, from });
  if (isProblem(worktree)) return [worktree];
  const { yaml, flags } = given;
  return {
    job: taskJob({ task, yaml, worktree, forkOf: { run: id, iteration: at } }),
    ready: { ...ready, flags: mergeLayers(flags, ready.flags) },
  };
}

/** What it is, where it cannot be forked. */
function otherKind({ command, given }: RunFile): string | undefined {
  if (given?.program) return 'a program has started this one, with parts of its own';
  if (given?.parallel !== undefined) return 'this is a parallel run';
  if (given?.lane !== undefined) return 'this one belongs to a parallel run';
  if (command === 'prd') return 'this is a run of stories';
  return command === 'loop' ? undefined : `this is a run of \`ralph ${command}\``;
}

/** The tree of git that an iteration left, as its ledger names it. */
function treeAt(project: ProjectPaths, id: string, at: number): string | Problem {
  const paths = runPaths(project, id);
  const known = new Map<number, string | undefined>();
  const { problems } = readJournal(openJournal(paths), entry => {
    const judged = knownEntry(entry);
    if (judged?.type === 'judged') known.set(judged.iteration, treeOf({ judged }));
  });
  const believed = trustWith(paths.trust, problems);
  if (believed.kind !== 'intact') return { where: id, what: trustSentence(believed) };
  const tree = known.get(at);
  if (tree !== undefined) return tree;
  if (known.has(at))
    return { where: id, what: `the files of iteration ${at} are not known: they are not in git` };
  const all = [...known.keys()];
  const what = `it has no iteration ${at} that was checked`;
  return {
    where: id,
    what,
    ...(all.length > 0 && { fix: `--at ${all.at(-1)}, or one of ${all.join(', ')}` }),
  };
}

/** As a commit in the user's repository, on top of the one that the run began with. */
async function commitAt(
  { project, env, id, at }: Omit<ForkRequest, 'flags'> & { readonly id: string; readonly env: Env },
  tree: string,
  worktree: string | undefined,
): Promise<string | Problem> {
  const cwd = worktree === undefined ? project.root : project.worktree(worktree);
  const found = await openOwnGit({ cwd, env });
  const own = isProblem(found) ? await openOwnGit({ cwd: project.root, env }) : found;
  if (isProblem(own)) return own;
  const { head = null } = loadState(runPaths(project, id)).state.prepared?.start ?? {};
  const message = `Iteration ${at} of run ${id}`;
  return keepVersion(own, { ref: `refs/ralph/kept/${id}/_fork/${at}`, message, head, tree });
}
