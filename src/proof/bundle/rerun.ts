/** Runs the checks that a bundle names once more, in a clean checkout of the tree that was proven: evidence of one's own. */
import { join } from 'node:path';
import type { Check, CheckResult } from '../../domain/checks/check.ts';
import { outcomeWords } from '../../domain/checks/words.ts';
import type { Emit } from '../../domain/run/event.ts';
import { formatProblem, isProblem } from '../../domain/text/problem.ts';
import type { Confinement } from '../../platform/confinement.ts';
import { markOf } from '../../workspace/keep-files.ts';
import { openOwnGit } from '../../workspace/own-git.ts';
import type { ProtectedCopy } from '../../workspace/protect.ts';
import type { Place } from '../../workspace/repository.ts';
import { proveAside } from '../prove.ts';
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
  const { predicate, found, place, wall, abort } = rerun;
  const checks = checksOf(predicate);
  if (checks.length === 0) return [claims.fails('rerun', 'the bundle names no check')];
  const own = await openOwnGit(place);
  if (isProblem(own)) return [claims.unknown('rerun', formatProblem(own))];
  const brought = found.commit === undefined ? found.tree : await own.treeOf(found.commit);
  if (isProblem(brought)) return [claims.unknown('rerun', formatProblem(brought))];
  const emit: Emit = event => {
    if (event.type === 'check-started') rerun.begins(event.command);
  };
  const results = await proveAside(
    { ...place, checks, wall, emit, abort },
    {
      ...{ own, tree: found.tree, clean: true, setup: setupOf(predicate.settings) },
      protection: { at: folder => filesIn(folder, predicate.protected) },
    },
  );
  const missing = checks.length - results.filter(({ isSetup }) => !isSetup).length;
  const cut =
    missing > 0 ? [claims.unknown('rerun', `${missing} of ${checks.length} checks did not run`)] : [];
  return [...results.map(claimOf), ...cut];
}

/** The protected files of the bundle: nobody but a check changes them here, and what has changed one counts for nothing. */
function filesIn(folder: string, files: Predicate['protected']): ProtectedCopy {
  const marks = () => files.map(({ path }) => [path, markOf(join(folder, path))] as const);
  return {
    restore: async () => [],
    isFresh: () => false,
    watch() {
      const before = new Map(marks());
      return () =>
        marks().flatMap(([path, mark]) => (before.get(path) === mark ? [] : [`${path} was changed`]));
    },
  };
}

/** Each command once, whether it ran in place, clean or both. What was excused proves nothing. */
function checksOf({ checks, settings, run }: Predicate): readonly Check[] {
  const commands = checks.filter(({ setup, ungated }) => !setup && !ungated).map(({ command }) => command);
  const timeout = secondsAt((run.command === 'run' && settings.guardrailTimeout) || settings.checkTimeout);
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

function claimOf(result: CheckResult): Claim {
  const { index, command, passed, isSetup, voided, output } = result;
  if (index < 0) return claims.unknown('rerun', voided ?? '');
  const name = isSetup ? 'rerun, setup' : 'rerun';
  const words = `\`${command}\` ${outcomeWords(result)} here`;
  if (passed) return claims.holds(name, words);
  const last = output.trim().split('\n').at(-1)?.trim().slice(0, 200) ?? '';
  return claims.fails(name, last === '' ? words : `${words}: ${last}`);
}
