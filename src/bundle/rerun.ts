/** Runs the checks that a bundle names once more, in a clean checkout of the tree that was proven: evidence of one's own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChecks } from '../checks/run-checks.ts';
import type { Check, CheckResult } from '../domain/check.ts';
import type { Emit } from '../domain/event.ts';
import { formatProblem, isProblem } from '../domain/problem.ts';
import { systemClock } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import { runFolder } from '../store/paths.ts';
import { makeCleanPlace } from '../workspace/clean-place.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import type { Place } from '../workspace/repository.ts';
import { type Claim, claims } from './claim.ts';
import type { Found } from './commit.ts';
import type { Predicate } from './format.ts';

export interface Rerun {
  readonly predicate: Predicate;
  /** Where the repository has the tree that was proven. */
  readonly found: Found;
  readonly place: Place;
  /** What the checks run behind; undefined: nothing. */
  readonly wall: Confinement | undefined;
  /** Ends what runs. */
  readonly abort: AbortSignal;
  /** Sees each check begin. */
  begins(command: string): void;
}

export async function rerunChecks(rerun: Rerun): Promise<readonly Claim[]> {
  const { predicate, found, place } = rerun;
  const checks = checksOf(predicate);
  const emit: Emit = event => {
    if (event.type === 'check-started') rerun.begins(event.command);
  };
  if (checks.length === 0) return [claims.fails('rerun', 'the bundle names no check')];
  const own = await openOwnGit(place);
  if (isProblem(own)) return [claims.unknown('rerun', formatProblem(own))];
  const clean = makeCleanPlace();
  if (isProblem(clean)) return [claims.unknown('rerun', formatProblem(clean))];
  const logs = mkdtempSync(join(tmpdir(), 'ralph-rerun-'));
  try {
    const brought = found.commit === undefined ? found.tree : await own.treeOf(found.commit);
    const problem = isProblem(brought) ? brought : await own.checkout(found.tree, clean.folder);
    if (isProblem(problem)) return [claims.unknown('rerun', formatProblem(problem))];
    const results = await runChecks({
      checks,
      setup: setupOf(predicate.settings),
      ...{ cwd: join(clean.folder, own.prefix), root: logs, env: place.env, clean: true },
      paths: runFolder(logs).iteration(1),
      ...(rerun.wall && { sandbox: { checks: rerun.wall } }),
      excerpt: { chars: 2_000, from: 'tail' },
      ...{ parallel: false, retries: 0, clock: systemClock },
      emit,
      ...{ stopping: rerun.abort, abort: rerun.abort },
    });
    const missing = checks.length - results.filter(({ isSetup }) => !isSetup).length;
    const cut =
      missing > 0 ? [claims.unknown('rerun', `${missing} of ${checks.length} checks did not run`)] : [];
    return [...results.map(claimOf), ...cut];
  } finally {
    clean.remove();
    rmSync(logs, { recursive: true, force: true });
  }
}

/** Each command once, whether it ran in place, clean or both. What was excused proves nothing. */
function checksOf({ checks, settings, run }: Predicate): readonly Check[] {
  const commands = checks.filter(({ setup, ungated }) => !setup && !ungated).map(({ command }) => command);
  const timeout = secondsAt(settings[run.command === 'run' ? 'guardrailTimeout' : 'checkTimeout']);
  return [...new Set(commands)].map(command => ({ command, failAction: 'APPEND', timeout }) as const);
}

function setupOf({ setup, setupTimeout }: Predicate['settings']): Check | undefined {
  if (typeof setup !== 'string') return undefined;
  return { command: setup, failAction: 'APPEND', timeout: secondsAt(setupTimeout) };
}

const USUAL_SECONDS = 600;

function secondsAt(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : USUAL_SECONDS;
}

function claimOf({ command, passed, exitCode, timedOut, isSetup, output }: CheckResult): Claim {
  const name = isSetup ? 'rerun, setup' : 'rerun';
  if (passed) return claims.holds(name, `\`${command}\` passes in a clean checkout here`);
  const last = output.trim().split('\n').at(-1)?.trim().slice(0, 200) ?? '';
  const how = timedOut ? 'did not end in time' : `fails with exit code ${exitCode}`;
  return claims.fails(
    name,
    `\`${command}\` ${how} in a clean checkout here${last === '' ? '' : `: ${last}`}`,
  );
}
