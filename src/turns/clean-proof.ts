/**
 * Clean proof: every check once more, in a clean checkout of the tree that is handed over. The checkout is outside of the project, since
 * tools look for settings and packages in the folders above: in the project they would find what the agent left there. It has the files of the
 * tree, the protected files of the start, what `.worktreeinclude` names as it was at the start, and what `setup` makes; and no `.git`.
 */
import { delimiter, join, sep } from 'node:path';
import type { CheckKeeper, RoundChanges } from '../checks/run-checks.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Check, CheckResult } from '../domain/check.ts';
import { formatProblem, isProblem } from '../domain/problem.ts';
import { type CleanPlace, makeCleanPlace } from '../workspace/clean-place.ts';
import type { Included } from '../workspace/include.ts';
import type { OwnGit } from '../workspace/own-git.ts';
import type { Protection } from '../workspace/protect.ts';
import type { TurnWorld } from './agent-turn.ts';
import type { CheckKeeping } from './check-keeper.ts';

type Env = TurnWorld['env'];

export interface CleanWorld {
  readonly own: OwnGit;
  readonly settings: Settings;
  readonly env: Env;
  readonly sandbox?: TurnWorld['sandbox'];
  readonly protection: Protection | undefined;
  readonly included: Included;
  readonly keeping: CheckKeeping;
  run(iteration: number, more: RoundChanges): Promise<readonly CheckResult[]>;
}

/** `tree`: what the checks in place saw, and what is handed over. */
export async function proveClean(
  world: CleanWorld,
  iteration: number,
  tree: string,
): Promise<readonly CheckResult[]> {
  const { own, protection, included, sandbox, env, settings } = world;
  const place = makeCleanPlace(sandbox?.checks.scratch);
  if (isProblem(place)) return [notMade(formatProblem(place))];
  const { folder, aside } = place;
  try {
    const problem = await own.checkout(tree, folder);
    if (isProblem(problem)) return [notMade(formatProblem(problem))];
    included.copyTo(folder, aside);
    const there = protection?.at(folder, aside);
    there?.restore();
    return await world.run(iteration, {
      clean: true,
      cwd: join(folder, own.prefix),
      env: movedEnv(env, own.top, folder),
      spell: command => command.split(own.top).join(folder),
      setup: setupCheck(settings),
      keep: watchingAbove(world.keeping.keeper(iteration, there), place),
    });
  } finally {
    place.remove();
  }
}

/** What one check leaves above the checkout, the next one would find. */
function watchingAbove(keep: CheckKeeper, place: CleanPlace): CheckKeeper {
  const above = () => place.strangers().map(path => `${path} is new`);
  return {
    before: async () => [...(await keep.before()), ...above()],
    after: async command => [...(await keep.after(command)), ...above()],
  };
}

/** Without a clean checkout nothing is proven clean. */
export function notMade(why: string): CheckResult {
  return {
    index: -1,
    command: 'clean checkout',
    failAction: 'APPEND',
    passed: false,
    voided: `no clean checkout could be made: ${why}`,
    clean: true,
    isSetup: true,
    exitCode: 1,
    timedOut: false,
    duration: 0,
    output: '',
    outputCut: false,
    logFile: '',
  };
}

function setupCheck({ setup, setupTimeout }: Settings): Check | undefined {
  return setup === undefined ? undefined : { command: setup, failAction: 'APPEND', timeout: setupTimeout };
}

/** A PATH or PYTHONPATH that leads into the project leads into the checkout instead. */
function movedEnv(env: Env, top: string, folder: string): Env {
  const moved = (value: string) =>
    value
      .split(delimiter)
      .map(part => (part === top || part.startsWith(top + sep) ? folder + part.slice(top.length) : part))
      .join(delimiter);
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      value === undefined || name === 'HOME' ? value : moved(value),
    ]),
  );
}
