/** Checks for a command that is no run: behind the wall that the settings name, with logs that nobody keeps. */
import type { Check, CheckResult } from '../domain/checks/check.ts';
import type { Emit } from '../domain/run/event.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { createDisk } from '../platform/disk.ts';
import { type Checkout, proveAside } from '../proof/prove.ts';
import { chooseSandbox, openSandbox, type SandboxWorld } from './sandbox.ts';

export interface Outside extends Pick<SandboxWorld, 'settings' | 'project' | 'env' | 'paths' | 'ended'> {
  readonly emit: Emit;
  /** Ends what runs. */
  readonly abort: AbortSignal;
}

/** `where`: not in the project as it is. */
export async function proveOutside(
  world: Outside,
  checks: readonly Check[],
  where?: Checkout,
): Promise<readonly CheckResult[] | Problem> {
  const { settings, project, env, emit, abort } = world;
  const chosen = await chooseSandbox(world);
  if (isProblem(chosen)) return chosen;
  const cwd = project.root;
  const sandbox = await openSandbox(chosen, { ...world, cwd, disk: createDisk(), adapters: [] });
  if (isProblem(sandbox)) return sandbox;
  const { checkParallel: parallel, checkRetries: retries } = settings;
  const asked = { cwd, env, checks, emit, abort, parallel, retries, wall: sandbox.checks };
  return proveAside(asked, where).finally(sandbox.close);
}
