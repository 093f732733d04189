/** Judges a recorded run again: its raw streams through today's adapters, its evidence through today's judge. */

import { outcomeOf } from '../../agents/invoke.ts';
import { createReader } from '../../agents/reader.ts';
import { findAdapter } from '../../agents/registry.ts';
import type { Settings } from '../../config/settings-shape.ts';
import type { EndedTurn } from '../../domain/run/event.ts';
import type { TurnOutcome } from '../../domain/run/evidence.ts';
import { evidenceOf } from '../../domain/run/next.ts';
import type { IterationState } from '../../domain/run/state.ts';
import { judge, type Run, type Verdict } from '../../domain/run/verdict.ts';
import { createTurnFold, type Turn } from '../../domain/turn/turn.ts';
import { fileSize, readIfThere, readPages, readPart } from '../../platform/files.ts';
import type { IterationPaths, RunPaths } from '../../store/paths.ts';
import { limitsOf } from './goal.ts';

export interface ReplayedIteration {
  readonly iteration: number;
  readonly recorded: Verdict;
  readonly today: Verdict;
  /** The same verdict with the same feedback. */
  readonly same: boolean;
  /** What is read otherwise today, a line each: the claim, the outcome, the tool calls. */
  readonly differences: readonly string[];
  /** Why the stream could not be read again; then what the ledger says of the turn counts. */
  readonly unread?: string;
}

export interface Replay {
  readonly paths: RunPaths;
  readonly settings: Settings;
  /** What counted as done. */
  readonly terms: Omit<Run, 'limits'>;
}

export function replayIteration(replay: Replay, past: IterationState): ReplayedIteration | undefined {
  const { judged, turn } = past;
  const evidence = evidenceOf(past);
  if (!judged || !turn || !evidence) return undefined;
  const read = readAgain(replay, past, turn);
  const now = 'unread' in read ? turn : read;
  const { blocked: _, ...rest } = evidence;
  const today = judge(
    { ...replay.terms, limits: judged.limits ?? limitsOf(replay.settings) },
    {
      ...rest,
      outcome: now.outcome,
      claim: now.claim,
      ...(now.blocked !== undefined && { blocked: now.blocked }),
    },
  );
  const recorded = judged.verdict;
  return {
    iteration: past.number,
    recorded,
    today,
    same: JSON.stringify(recorded) === JSON.stringify(today),
    differences: differencesOf(turn, now),
    ...('unread' in read && { unread: read.unread }),
  };
}

type Read = Pick<EndedTurn, 'outcome' | 'claim' | 'blocked' | 'toolCalls'>;

function readAgain(
  replay: Replay,
  past: IterationState,
  turn: EndedTurn,
): Read | { readonly unread: string } {
  const { adapter: name, attempt, number } = past;
  if (name === undefined) return { unread: 'the ledger does not say which agent it was' };
  const paths = replay.paths.iteration(number);
  const { agent, agentErrors } = attempt === 1 ? paths : paths.attempt(attempt);
  if (fileSize(agent) === 0) return { unread: 'its raw stream is not there' };
  const adapter = findAdapter(name, name);
  const mode = replay.settings.streamAgentOutput ? 'stream' : 'text';
  const again = foldAgain(replay, adapter, mode, paths, agent);
  const stderr = (readPart(agentErrors, 4_096, 'tail')?.text ?? '').trim();
  // Of how the process ended only the outcome is on record.
  const code = turn.outcome.kind === 'completed' ? 0 : 1;
  const ended = outcomeOf({ adapter, mode, turn: again, end: { kind: 'exited', code }, stderr });
  return {
    outcome: turn.outcome.kind === 'ended' ? turn.outcome : sameTrouble(turn.outcome, ended),
    claim: again.claim,
    ...(again.blocked !== undefined && { blocked: again.blocked }),
    toolCalls: turn.toolCalls === null || attempt > 1 ? turn.toolCalls : again.toolCalls,
  };
}

function foldAgain(
  { terms, settings }: Replay,
  adapter: ReturnType<typeof findAdapter>,
  mode: 'stream' | 'text',
  paths: IterationPaths,
  raw: string,
): Turn {
  const { rule } = terms;
  const fold = createTurnFold({ rule, prices: settings.prices });
  const prompt = readIfThere(paths.prompt) ?? '';
  const reader = createReader({ adapter, mode, prompt, hasReplyFile: false }, fold.add);
  readPages(raw, reader.push);
  reader.end();
  return fold.turn();
}

/** The words of a failure hold its exit code, which is not on record: the class is what the judge goes by. */
function sameTrouble(recorded: TurnOutcome, today: TurnOutcome): TurnOutcome {
  const isSame =
    recorded.kind === 'failed' && today.kind === 'failed' && recorded.trouble.class === today.trouble.class;
  return isSame ? recorded : today;
}

function differencesOf(before: Read, now: Read): readonly string[] {
  const fields = {
    outcome: (read: Read) => read.outcome.kind,
    claim: (read: Read) => JSON.stringify(read.claim),
    blocked: (read: Read) => read.blocked ?? 'no',
    'tool calls': (read: Read) => String(read.toolCalls),
  };
  return Object.entries(fields).flatMap(([name, of]) =>
    of(before) === of(now) ? [] : [`${name}: was ${of(before)}, is ${of(now)}`],
  );
}
