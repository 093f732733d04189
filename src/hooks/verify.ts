/** Runs the checks of a session before the agent may stop: behind the same wall as those of a loop, where there is one. */
import { rmSync } from 'node:fs';
import type { HookInput } from '../agents/dialect.ts';
import { type CheckKeeper, type CheckRound, runChecks } from '../checks/run-checks.ts';
import type { Check, CheckResult } from '../domain/check.ts';
import type { RunEvent } from '../domain/event.ts';
import { parseObject } from '../domain/json.ts';
import type { Contained } from '../domain/proof.ts';
import type { SessionState } from '../domain/session.ts';
import { systemClock } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import { findContainment } from '../platform/containment.ts';
import { readIfThere, tryTo, writePrivate } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { projectPaths, runPaths } from '../store/paths.ts';
import { isLive, type SessionFile } from '../store/session-file.ts';
import { statePaths } from '../store/state.ts';
import { restoreProtected } from './protection.ts';
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
  readonly effects: {
    readonly isPeek: boolean;
    record(root: string, runId: string, ...events: readonly RunEvent[]): void;
  };
}

export interface Verified {
  readonly results: readonly CheckResult[];
  readonly contained: Contained;
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
  const paths = runPaths(projectPaths(root), state.runId);
  const wall = hookSettings(root).containment ? await wallOf(root) : undefined;
  const cancelled = new AbortController();
  const watch = setInterval(() => {
    if (!isLive(file)) cancelled.abort();
  }, LOOK_EVERY);
  const until = systemClock.ticks() + budget * 1000;
  const checks: readonly Check[] = state.checks.map(command => ({
    command,
    failAction: 'APPEND',
    timeout: 0,
  }));
  const round: CheckRound = {
    checks,
    paths: paths.iteration(state.iteration),
    cwd: root,
    root,
    env,
    ...(wall && { sandbox: { checks: wall } }),
    keep: state.kept === null ? undefined : keeperOf(stop, state),
    excerpt: { chars: OUTPUT_CHARS, from: 'tail' },
    parallel: false,
    retries: 0,
    clock: systemClock,
    emit: event => effects.record(root, state.runId, event),
    stopping: cancelled.signal,
    abort: cancelled.signal,
    timeLeft: () => until - systemClock.ticks(),
  };
  const results = await runChecks(round).finally(() => clearInterval(watch));
  return { results: [...results, ...unfinished(checks, results, budget)], contained: wall ? 'pid' : 'none' };
}

/** A check that changes protected files counts for nothing, and they are put back. */
function keeperOf({ root, effects }: Stop, state: SessionState): CheckKeeper {
  const look = async (by?: string) => {
    const record = (...events: readonly RunEvent[]) =>
      effects.record(root, state.runId, ...events.map(event => blamed(event, by)));
    return (await restoreProtected(root, state, record)).map(({ what }) => what);
  };
  return { before: () => look(), after: look };
}

function blamed(event: RunEvent, by: string | undefined): RunEvent {
  return event.type === 'violation' && by !== undefined
    ? { ...event, violation: { ...event.violation, by } }
    : event;
}

async function wallOf(tree: string): Promise<Confinement | undefined> {
  const { env } = process;
  const found = await findContainment({ tree, env, hide: statePaths(env).folder });
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
