/** `--verbose`: what Ralph does, as `[ralph] …` lines. */
import type { RunEvent, RunHead } from '../domain/run/event.ts';
import type { TurnOutcome } from '../domain/run/evidence.ts';
import { oneLine } from '../platform/text.ts';
import { type EventTable, lookUp, type Of } from './event-table.ts';
import { counted, duration, grouped } from './numbers.ts';
import { checkNoun, endedBy, iterationOf, nearMissPhrase, troublePhrase, usagePhrases } from './phrases.ts';

export type Verbose = (event: RunEvent) => readonly string[];

/** `clock` is in milliseconds. */
export function createVerbose(clock: () => number): Verbose {
  let known: Known = { maxIterations: 0, noun: checkNoun('run'), begun: clock() };
  return event => {
    if (event.type === 'run-started' || event.type === 'run-resumed')
      known = { ...known, maxIterations: event.maxIterations, noun: checkNoun(event.command) };
    if (event.type === 'iteration-started') known = { ...known, begun: clock() };
    const lines = lookUp(LINES, event, known, clock) ?? [];
    return lines.map(line => `[ralph] ${oneLine(line, LONGEST)}`);
  };
}

interface Known {
  readonly maxIterations: number;
  readonly noun: string;
  /** When the iteration started. */
  readonly begun: number;
}

const startLines = ({ runId, cwd, checks }: RunHead, { noun }: Known) => [
  `Run ${runId} in ${cwd}`,
  `${noun}s: ${checks.join(', ') || 'none'}`,
];

const LINES: Partial<EventTable<[known: Known, clock: () => number], readonly string[]>> = {
  'run-started': startLines,
  'run-resumed': startLines,
  'iteration-started': ({ iteration }, { maxIterations }) => [
    `Iteration ${iterationOf(iteration, maxIterations)} starting`,
  ],
  'agent-started': event => [`Agent command: ${event.command}`, promptLine(event)],
  agent: ({ event }) => (event.kind === 'unknown' ? [`Unknown record from the agent: ${event.what}`] : []),
  'agent-ended': endedLines,
  'check-started': ({ command }, { noun }) => [`Running ${noun.toLowerCase()}: ${command}`],
  'check-ended': ({ result: { exitCode, timedOut, duration: seconds } }, { noun }) => [
    `${noun} ${timedOut ? 'timed out, ' : ''}exited with code ${exitCode} (${duration(seconds)})`,
  ],
  'iteration-ended': (event, { noun, begun }, clock) => [
    completionLine(event, noun),
    `Iteration ${event.iteration} took ${duration((clock() - begun) / 1000)}`,
  ],
  notice: ({ level, text }) => (level === 'debug' ? [text] : []),
  'run-ended': ({ result }) => [`Run ended: ${result.stopReason} (${duration(result.totalDuration)})`],
  waiting: ({ until, trouble }) => [`Waiting until ${new Date(until).toISOString()} (${trouble.class})`],
  'stories-updated': ({ hash, done, total }) => [`Story list ${hash}: ${done} of ${total} done`],
  mutated: event => ('failed' in event ? [] : [`Faults tried in ${duration(event.seconds)}`]),
  restored: ({ undone }) =>
    undone.map(
      ({ iteration, changes, broke }) => `Undone: iteration ${iteration}: ${changes}; ${broke.join('; ')}`,
    ),
};

const LONGEST = 2_000;

function promptLine({ promptHead, promptChars }: Of<'agent-started'>): string {
  const size = promptHead.length < promptChars ? `${grouped(promptHead.length)} of ` : '';
  return `Prompt (${size}${grouped(promptChars)} chars): ${promptHead}`;
}

function endedLines({ outcome, duration: seconds, usage, toolCalls, toolErrors }: Of<'agent-ended'>) {
  const counts =
    toolCalls === null ? [] : [counted(toolCalls, 'tool call'), counted(toolErrors ?? 0, 'error')];
  const used = [...counts, ...usagePhrases(usage)].join(', ');
  return [`Agent ${outcomeWords(outcome)} (${duration(seconds)}): ${used}`];
}

function outcomeWords(outcome: TurnOutcome): string {
  switch (outcome.kind) {
    case 'completed':
      return 'completed';
    case 'failed':
      return `failed, ${troublePhrase(outcome.trouble)}`;
    case 'ended':
      return `was ended by ${endedBy(outcome.by)}`;
    default:
      return outcome satisfies never;
  }
}

/** A claim only counts when the checks are green. */
function completionLine({ claim, verdict }: Of<'iteration-ended'>, noun: string): string {
  const red =
    verdict.kind === 'stop'
      ? 0
      : verdict.feedback.filter(feedback => feedback.kind === 'check-failed').length;
  const failed = red > 0 ? `, but ${counted(red, noun.toLowerCase())} failed` : '';
  const stops = verdict.kind === 'stop' ? `; the run stops with ${verdict.reason}` : '';
  if (claim.found) return `Completion: the tag is there${failed}${stops}`;
  const miss = claim.nearMiss
    ? nearMissPhrase(claim.nearMiss, claim.said)
    : "no tag in the agent's own words";
  return `Completion: ${miss}${stops}`;
}
