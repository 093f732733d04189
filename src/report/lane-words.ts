/** What became of the lanes of a parallel run, in words: for the final block and for `ralph explain`. */

import { type Integrated, type LaneOutcome, laneBranch } from '../domain/lanes/board.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { isSuccess, type StopReason } from '../domain/run/stop-reason.ts';
import { dollars } from '../domain/turn/usage.ts';
import { joinWords } from '../platform/shell.ts';
import { times } from './board-view.ts';
import { capital, commitPhrase } from './phrases.ts';
import { TERMINAL_WORDS, type Words } from './words.ts';

/** What the result itself does not know. */
export interface LanePlace {
  readonly cwd?: string | undefined;
  readonly integrated?: Integrated | null | undefined;
}

/** How many landed, each with its commit and cost; then what needs the user, with the commands that show it. */
export function laneLines(
  { runId, lanes }: Pick<LoopResult, 'runId' | 'lanes'>,
  place: LanePlace,
  words: Words,
): readonly string[] {
  if (!lanes) return [];
  const landed = lanes.filter(({ state }) => state === 'landed');
  const open = lanes.filter(({ state }) => state !== 'landed');
  return [
    `- Landed: ${landed.length} of ${lanes.length}`,
    ...landed.flatMap(lane => [
      `  - ${nameOf(lane, words)}: ${factsOf(lane, words).join(', ')}`,
      ...(lane.chosen === undefined ? [] : [`    Chosen: ${words.say(lane.chosen)}`]),
    ]),
    ...(open.length > 0 ? ['- Not landed:'] : []),
    ...open.flatMap(lane => [
      `  - ${nameOf(lane, words)}: ${[standingOf(lane, words), ...factsOf(lane, words)].join(', ')}${
        lane.why === undefined ? '' : `. ${sentence(words.say(lane.why))}`
      }`,
      ...lookAt(lane, runId, place, words).map(look => `    ${look}`),
    ]),
    ...integratedLines(runId, place, words, landed.length > 0),
  ];
}

const STANDING: Readonly<Record<string, string>> = {
  waiting: 'not begun',
  building: 'cut off while it was built',
  reviewing: 'cut off in its review',
  queued: 'in the merge queue',
  kept: 'kept',
  needs_you: 'needs you',
};

/** Why a run is not done, as far as it is because of this lane; of several attempts one is enough. */
export function notLanded(lane: LaneOutcome, reason: StopReason | null): string | undefined {
  if (lane.state === 'landed' || (reason !== null && isSuccess(reason))) return undefined;
  return `did not land: ${standingOf(lane)}`;
}

/** The name of a stop reason before it stays as it is. */
function sentence(why: string): string {
  return /^\w+: /.test(why) ? why : capital(why);
}

export function standingOf(
  { state, returns }: Pick<LaneOutcome, 'state' | 'returns'>,
  { say }: Words = TERMINAL_WORDS,
) {
  if (state === 'waiting' && returns > 0) return 'waits to be repaired';
  return STANDING[state] ?? say(state);
}

function nameOf({ id, title }: LaneOutcome, { say }: Words): string {
  return `${say(id)} ${say(title)}`;
}

function factsOf({ state, commit, cost, returns }: LaneOutcome, { say }: Words): readonly string[] {
  return [
    ...(state === 'landed' && commit ? [say(commitPhrase(commit))] : []),
    ...(cost === null ? [] : [dollars(cost)]),
    ...(returns > 0 ? [`sent back ${times(returns)}`] : []),
  ];
}

/** Commands that can be pasted: its run, and what it has done. */
export function lookAt(
  { runs }: Pick<LaneOutcome, 'runs'>,
  runId: string,
  { cwd }: LanePlace,
  { code }: Words = TERMINAL_WORDS,
): readonly string[] {
  const child = runs.at(-1);
  if (child === undefined) return [];
  const at = cwd === undefined ? [] : ['-C', cwd];
  const range = `ralph/${runId}/_int..${laneBranch(child)}`;
  return [
    `Look: ${code(`ralph log ${child}`)}`,
    `Work: ${code(joinWords(['git', ...at, 'log', '--stat', range]))}`,
  ];
}

/** Where the landed work is now. */
function integratedLines(
  runId: string,
  { cwd, integrated }: LanePlace,
  { say, code }: Words,
  hasLanded: boolean,
): readonly string[] {
  if (!integrated) return hasLanded ? [`- Branch: what has landed is on ${say(`ralph/${runId}/_int`)}`] : [];
  const { branch, commit, problem } = integrated;
  if (problem !== undefined)
    return [
      `- Branch: ${say(branch)} was not moved. ${say(problem)}`,
      // A sentence is cut where it is too long to read; a command must not be.
      `    Merge: ${code(joinWords(['git', ...(cwd === undefined ? [] : ['-C', cwd]), 'merge', `ralph/${runId}/_int`]))}`,
    ];
  return [`- Branch: ${say(branch)} is at ${say(commitPhrase(commit))}, with all that has landed`];
}
