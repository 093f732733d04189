/** Makes the folder of a run, unless another run works in the same tree: the two would edit the same files, and neither could be believed. */
import { withoutSecrets } from '../config/secrets.ts';
import type { Problem } from '../domain/problem.ts';
import { createRedactor, redactDeep } from '../domain/secrets.ts';
import type { Clock } from '../platform/clock.ts';
import { ensureFolder } from '../platform/files.ts';
import { ownerName } from '../platform/spawn.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { createRun, liveRuns } from '../store/run-file.ts';
import { withLock } from '../workspace/lock.ts';
import type { Entered } from './kind.ts';
import type { RunRequest } from './open-run.ts';

export async function beginRun(request: RunRequest, entered: Entered, clock: Clock) {
  const { project, resumed, alone = false } = request;
  const { worktree } = entered.given;
  const make = () => resumed ?? newRun(request, entered, clock);
  if (!alone) return make();
  const { runs, beginLock } = project.state();
  ensureFolder(runs);
  return withLock(beginLock, async () => busyTree(project, { worktree, own: resumed?.file.id }) ?? make());
}

interface Tree {
  /** The name of the worktree; undefined: the project itself. */
  readonly worktree: string | undefined;
  /** The run that may be in it. */
  readonly own: string | undefined;
}

function busyTree(project: ProjectPaths, { worktree, own }: Tree): Problem | undefined {
  const other = liveRuns(project).find(({ id, file }) => id !== own && file.given?.worktree === worktree);
  if (!other) return undefined;
  const { id } = other;
  const where = worktree === undefined ? project.root : `worktree ${worktree}`;
  const fix = `\`ralph log ${id} --follow\` shows it, \`ralph cancel ${id}\` stops it, and \`ralph loop … --worktree auto\` works beside it`;
  return { where, what: `the run ${id} is working here`, fix };
}

function newRun(
  { kind, project, settings, flags, program, version, env, child }: RunRequest,
  entered: Entered,
  clock: Clock,
) {
  return createRun(project, {
    command: kind.command,
    version,
    config: redactDeep(withoutSecrets(settings), createRedactor(env)),
    now: clock.now(),
    owner: ownerName(),
    ...(child && { id: child.id }),
    ...(flags && { given: { ...entered.given, flags, ...(program && { program }) } }),
    ...(entered.task !== undefined && { task: entered.task }),
  });
}
