/** Runs the checks of a session before the agent may stop: behind the same wall as those of a loop, where there is one. */
import { rmSync } from 'node:fs';
import type { HookInput } from '../agents/dialect.ts';
import type { Check, CheckResult } from '../domain/checks/check.ts';
import type { Contained } from '../domain/checks/proof.ts';
import type { Emit, RunEvent } from '../domain/run/event.ts';
import type { SessionState } from '../domain/session/session.ts';
import { parseObject } from '../domain/text/json.ts';
import { isProblem } from '../domain/text/problem.ts';
import { systemClock } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import { findContainment } from '../platform/containment.ts';
import { readIfThere, tryTo, writePrivate } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { createIntegrityWatch } from '../proof/integrity.ts';
import { prove } from '../proof/prove.ts';
import { clearWay } from '../store/mirror.ts';
import { projectPaths, runPaths } from '../store/paths.ts';
import { isLive, type SessionFile } from '../store/session-file.ts';
import { statePaths } from '../store/state.ts';
import { watchCheckInputs } from '../workspace/check-inputs.ts';
import { createProtection } from '../workspace/protect.ts';
import { unseen } from './protected.ts';
import { hookSettings } from './settings.ts';

/** Seconds that all checks of one stop may take together; a little less than the host gives the hook. */
export const CHECK_BUDGET = 570;
const OUTPUT_CHARS = 2_000;
/** Milliseconds. How soon a check ends whose loop is cancelled. */
const LOOK_EVERY = 500;

interface Stop {
  readonly root: string;
  readonly input: HookInput;
  readonly file: SessionFile;
  /** By the ticks of the clock: the host counts from then on. */
  readonly began: number;
  readonly effects: {
    readonly isPeek: boolean;
    record(root: string, runId: string, ...events: readonly RunEvent[]): void;
  };
}

export interface Verified {
  readonly results: readonly CheckResult[];
  readonly contained: Contained;
  /** What they rest on and one of them has changed. */
  readonly inputsChanged?: readonly string[];
}

/**
 * Every stop runs them: no look at the files could say whether a result still holds, since a check may rest on what git ignores, or on a
 * database. Only the stop that a peek has asked about takes over what the peek saw.
 */
export async function verify(stop: Stop, state: SessionState, budget = CHECK_BUDGET): Promise<Verified> {
  const { checks: seen } = runPaths(projectPaths(stop.root), state.runId).state;
  const name = nameOf(stop.input, state);
  const known = stop.effects.isPeek ? undefined : takeSeen(seen, name);
  if (known) {
    stop.effects.record(stop.root, state.runId, ...known.results.flatMap(asEvents));
    return known;
  }
  const verified = await runAll(stop, state, budget);
  if (stop.effects.isPeek) tryTo(() => writePrivate(seen, JSON.stringify({ name, ...verified })));
  return verified;
}

/** One turn of the loop, and what was said at its end. */
function nameOf({ lastWords }: HookInput, { iteration, toolCalls }: SessionState): string {
  return sha256(JSON.stringify([iteration, toolCalls, lastWords]));
}

/** Once: the next stop looks for itself. */
function takeSeen(path: string, name: string): Verified | undefined {
  const seen = parseObject(tryTo(() => readIfThere(path)) ?? '');
  tryTo(() => rmSync(path, { force: true }));
  if (seen?.name !== name || !Array.isArray(seen.results)) return undefined;
  return seen as unknown as Verified;
}

function asEvents(result: CheckResult): readonly RunEvent[] {
  const { index, command } = result;
  return [
    { type: 'check-started', index, command },
    { type: 'check-ended', result },
  ];
}

async function runAll(stop: Stop, state: SessionState, budget: number): Promise<Verified> {
  const { root, file, effects } = stop;
  const { env } = process;
  const emit: Emit = event => effects.record(root, state.runId, event);
  const wall = hookSettings(root).containment ? await wallOf(root) : undefined;
  const cancelled = new AbortController();
  // Only as long as there is something to cancel: what fails before the checks must not keep the agent waiting.
  const alive = setInterval(() => {
    if (!isLive(file)) cancelled.abort();
  }, LOOK_EVERY).unref();
  const until = stop.began + budget * 1000;
  const { iteration } = state;
  clearWay(runPaths(projectPaths(root), state.runId), iteration);
  const checks = state.checks.map(command => ({ command, failAction: 'APPEND', timeout: 0 }) as const);
  const inputs = watchCheckInputs({ cwd: root, env, commands: state.checks });
  inputs.take();
  const protection = state.kept === null ? undefined : await openProtected(root, state);
  // What cannot be looked at proves nothing.
  const kept = isProblem(protection) ? { sandbox: { restore: () => [unseen(protection)] } } : { protection };
  const watch = createIntegrityWatch({ ...kept, inputs, emit });
  const seen = await prove({
    ...{ checks, iteration, cwd: root, root, env, emit, watch, clock: systemClock },
    paths: runPaths(projectPaths(root), state.runId).iteration(iteration),
    ...(wall && { sandbox: { checks: wall } }),
    excerpt: { chars: OUTPUT_CHARS, from: 'tail' },
    parallel: false,
    retries: 0,
    stopping: cancelled.signal,
    abort: cancelled.signal,
    timeLeft: () => until - systemClock.ticks(),
  }).finally(() => clearInterval(alive));
  const inputsChanged = watch.takeChanged();
  const why = isProblem(protection) ? undefined : await protection?.committed();
  const results = why === undefined ? seen : seen.map(each => ({ ...each, passed: false, voided: why }));
  return {
    results: [...results, ...unfinished(checks, results, budget)],
    contained: wall ? 'pid' : 'none',
    ...(inputsChanged.length > 0 && { inputsChanged }),
  };
}

async function wallOf(tree: string): Promise<Confinement | undefined> {
  const { env } = process;
  const { folder: hide, containment: kept } = statePaths(env);
  const found = await findContainment({ tree, env, hide, kept });
  return found.ok ? found.wall : undefined;
}

/** What the time was not enough for is red. */
function unfinished(
  checks: readonly Check[],
  results: readonly CheckResult[],
  budget: number,
): readonly CheckResult[] {
  return checks.flatMap(({ command, failAction }, index) => {
    if (results.some(result => result.index === index)) return [];
    const output = `Timeout: all checks of a session have ${budget} seconds together, and they were over before this one had ended.`;
    const red = { passed: false, exitCode: 124, timedOut: true, duration: 0 } as const;
    return [{ index, command, failAction, ...red, output, outputCut: false, logFile: '' }];
  });
}

/** As they were kept when the loop began; where nothing is yet, as they are now. What is kept says itself whether new files are looked for. */
export function openProtected(
  root: string,
  { runId, protect, kept, iteration }: Pick<SessionState, 'runId' | 'protect' | 'kept' | 'iteration'>,
  newFiles: 'allow' | 'forbid' = 'allow',
) {
  const paths = runPaths(projectPaths(root), runId);
  clearWay(paths, iteration);
  return createProtection({
    cwd: root,
    env: process.env,
    globs: protect,
    newFiles,
    aside: paths.aside,
    keepIn: paths.state.kept,
    ...(kept !== null && { recall: kept }),
  });
}
