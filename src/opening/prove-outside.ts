/** Checks for a command that is no run: behind the wall that the settings name, with logs that nobody keeps. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Check, CheckResult } from '../domain/checks/check.ts';
import type { Emit } from '../domain/run/event.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { systemClock } from '../platform/clock.ts';
import { createDisk } from '../platform/disk.ts';
import { createIntegrityWatch } from '../proof/integrity.ts';
import { type Checkout, prove } from '../proof/prove.ts';
import { runFolder } from '../store/paths.ts';
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
  const logs = mkdtempSync(join(tmpdir(), 'ralph-checks-'));
  try {
    return await prove(
      {
        ...{ cwd, env, checks, iteration: 1, root: logs, paths: runFolder(logs).iteration(1), sandbox },
        excerpt: { chars: 2_000, from: 'tail' },
        ...{ parallel: settings.checkParallel, retries: settings.checkRetries },
        ...{ clock: systemClock, emit, stopping: abort, abort, watch: createIntegrityWatch({ emit }) },
      },
      where,
    );
  } finally {
    rmSync(logs, { recursive: true, force: true });
    await sandbox.close();
  }
}
