/**
 * A proof: checks in one place, with what they rest on looked after, behind a wall, in their time, with their output kept and redacted.
 * Whoever runs checks says where, and asks here: in the work tree as it is, in a copy of it, or in a clean checkout of a tree.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, sep } from 'node:path';
import { type Check, type CheckResult, CLEAN_CHECKOUT } from '../domain/checks/check.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { systemClock } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import { isReallyBelow } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { runFolder } from '../store/paths.ts';
import { watchCheckInputs } from '../workspace/check-inputs.ts';
import { makeCleanPlace } from '../workspace/clean-checkout.ts';
import type { OwnGit } from '../workspace/own-git.ts';
import type { Protection } from '../workspace/protect.ts';
import { createIntegrityWatch, type IntegrityWatch, type WatchedCopy } from './integrity.ts';
import { type CheckRound, runChecks } from './run-checks.ts';

export interface Proving
  extends Omit<CheckRound, 'keep' | 'spell' | 'setup' | 'without' | 'clean' | 'hide' | 'room'> {
  readonly watch: IntegrityWatch;
}

/** A copy of the work tree that is there already. */
export interface Copy extends Omit<WatchedCopy, 'inputs'> {
  /** The tops of the work tree and of the copy: what leads into the one leads into the other. */
  readonly from: string;
  readonly to: string;
  readonly cwd: string;
  readonly setup?: Check | undefined;
}

/**
 * A checkout of a tree, made for these checks alone. It is outside of the project, since tools look for settings and packages in the
 * folders above: in the project they would find what the agent left there. It has the files of the tree, the protected files of the start,
 * what `fill` puts there and `setup` makes; and no `.git`.
 */
export interface Checkout {
  readonly own: OwnGit;
  readonly tree: string;
  /** The tree that names the submodules; absent: the same one. */
  readonly links?: string;
  /** Nothing else is in it: what passes there is proven clean. */
  readonly clean?: true;
  /** What of the work tree is not in it, each with the reason. */
  readonly without?: readonly string[];
  /** Makes it ready; where that fails, no check is run. */
  readonly setup?: Check | undefined;
  readonly protection?: Pick<Protection, 'at'> | undefined;
  /** What it needs beside the files of the tree; `aside` takes what is in the way. */
  fill?(folder: string, aside: string): Promise<void> | void;
}

/** In the order of the configuration. Fewer results than checks only when they were stopped or their time is up. */
export function prove(proving: Proving, where?: Copy | Checkout): Promise<readonly CheckResult[]> {
  if (!where) return runChecks({ ...proving, keep: proving.watch.during(proving.iteration) });
  return 'to' in where ? inCopy(proving, where, where) : inCheckout(proving, where);
}

interface Aside
  extends Pick<Proving, 'cwd' | 'env' | 'checks' | 'abort'>,
    Partial<Pick<Proving, 'emit' | 'parallel' | 'retries' | 'untilRed'>> {
  /** What they run behind; undefined: nothing. */
  readonly wall: Confinement | undefined;
}

/** For whoever is no run: the logs are not kept, and of the work tree nothing is looked after. */
export async function proveAside(
  { wall, emit = () => {}, ...asked }: Aside,
  where?: Copy | Checkout,
): Promise<readonly CheckResult[]> {
  const logs = mkdtempSync(join(tmpdir(), 'ralph-checks-'));
  const proving: Proving = {
    ...{ iteration: 1, parallel: false, retries: 0, excerpt: { chars: 2_000, from: 'tail' }, ...asked },
    ...{ root: logs, paths: runFolder(logs).iteration(1), stopping: asked.abort, clock: systemClock },
    ...{ emit, watch: createIntegrityWatch({ emit }), ...(wall && { sandbox: { checks: wall } }) },
  };
  try {
    return await prove(proving, where);
  } finally {
    rmSync(logs, { recursive: true, force: true });
  }
}

async function inCheckout(proving: Proving, where: Checkout): Promise<readonly CheckResult[]> {
  const { own, tree, protection } = where;
  const { scratch, rooms } = proving.sandbox?.checks ?? {};
  // What the agent wrote to is not shown to a clean proof: it gets a room beside that, where there are some.
  const isApart = where.clean && rooms !== undefined;
  const place = makeCleanPlace(isApart ? rooms : scratch);
  if (isProblem(place)) return [notMade(formatProblem(place))];
  const { folder, aside, strangers } = place;
  const room = isApart ? dirname(folder) : undefined;
  try {
    const problem = await own.checkoutAll(tree, folder, where.links);
    if (problem) return [notMade(formatProblem(problem))];
    await where.fill?.(folder, aside);
    const there = protection?.at(folder, aside);
    await there?.restore(true);
    const hide = where.clean && hiddenFrom(folder, [own.top, proving.root], own.repository);
    const places = { from: own.top, to: folder, cwd: join(folder, own.prefix) };
    const copy = { ...places, protected: there, strangers, isApart: isApart && hide?.includes(own.top) };
    return await inCopy(proving, copy, { ...where, room, ...(hide && { hide }) });
  } finally {
    await place.remove();
  }
}

function inCopy(
  proving: Proving,
  copy: Copy,
  { setup, clean, without, hide, room }: Pick<CheckRound, 'setup' | 'clean' | 'without' | 'hide' | 'room'>,
): Promise<readonly CheckResult[]> {
  const { from, to, cwd } = copy;
  const env = movedEnv(proving.env, from, to);
  const commands = proving.checks.map(({ command }) => command);
  const inputs = watchCheckInputs({ cwd, env, commands });
  const keep = proving.watch.during(proving.iteration, { ...copy, inputs });
  const spell = (command: string) => command.split(from).join(to);
  const ready = { setup, ...(clean && { clean }), ...(without?.length && { without }) };
  return runChecks({ ...proving, ...ready, cwd, env, spell, keep, hide, room });
}

/**
 * The work tree, the project around it, and its git directories where they lie elsewhere: what passes only thanks to them is not proven. The
 * inner one first: the outer one covers it.
 */
function hiddenFrom(
  place: string,
  tops: readonly string[],
  { commonDir, gitDir }: OwnGit['repository'],
): readonly string[] {
  const elsewhere = [commonDir, gitDir].filter(folder => !tops.some(top => isReallyBelow(folder, top)));
  const apart = [...tops, ...elsewhere].filter(folder => !isReallyBelow(place, folder));
  return [...new Set(apart)].sort((a, b) => b.length - a.length);
}

/** Without a clean checkout nothing is proven clean. */
export function notMade(why: string): CheckResult {
  return {
    index: -1,
    command: CLEAN_CHECKOUT,
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

/** A PATH or PYTHONPATH that leads into the project leads into the copy instead. */
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
