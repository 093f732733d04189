/** `--verbose`: what Ralph does, as `[ralph] …` lines. */
import type { RunEvent } from '../domain/event.ts';
import type { TurnOutcome } from '../domain/evidence.ts';
import { oneLine } from '../platform/text.ts';
import { counted, duration, grouped } from './numbers.ts';
import { checkNoun, endedBy, iterationOf, nearMissPhrase, troublePhrase, usagePhrases } from './phrases.ts';

export type Verbose = (event: RunEvent) => readonly string[];

/** `clock` is in milliseconds. */
export function createVerbose(clock: () => number): Verbose {
  let maxIterations = 0;
  let noun: string = checkNoun('run');
  let begun = clock();

  const linesOf = (event: RunEvent): readonly string[] => {
    switch (event.type) {
      case 'run-started':
      case 'run-resumed':
        maxIterations = event.maxIterations;
        noun = checkNoun(event.command);
        return [`Run ${event.runId} in ${event.cwd}`, `${noun}s: ${event.checks.join(', ') || 'none'}`];
      case 'iteration-started':
        begun = clock();
        return [`Iteration ${iterationOf(event.iteration, maxIterations)} starting`];
      case 'agent-started':
        return [`Agent command: ${event.command}`, promptLine(event)];
      case 'agent':
        return event.event.kind === 'unknown' ? [`Unknown record from the agent: ${event.event.what}`] : [];
      case 'agent-ended': {
        const { toolCalls, toolErrors } = event;
        const counts =
          toolCalls === null ? [] : [counted(toolCalls, 'tool call'), counted(toolErrors ?? 0, 'error')];
        const used = [...counts, ...usagePhrases(event.usage)].join(', ');
        return [`Agent ${outcomeWords(event.outcome)} (${duration(event.duration)}): ${used}`];
      }
      case 'check-started':
        return [`Running ${noun.toLowerCase()}: ${event.command}`];
      case 'check-ended': {
        const { exitCode, timedOut, duration: seconds } = event.result;
        return [
          `${noun} ${timedOut ? 'timed out, ' : ''}exited with code ${exitCode} (${duration(seconds)})`,
        ];
      }
      case 'iteration-ended': {
        const took = duration((clock() - begun) / 1000);
        return [completionLine(event, noun), `Iteration ${event.iteration} took ${took}`];
      }
      case 'notice':
        return event.level === 'debug' ? [event.text] : [];
      case 'run-ended':
        return [`Run ended: ${event.result.stopReason} (${duration(event.result.totalDuration)})`];
      case 'waiting':
        return [`Waiting until ${new Date(event.until).toISOString()} (${event.trouble.class})`];
      case 'stories-settled':
        return [`Story list ${event.hash}: ${event.done} of ${event.total} done`];
      case 'prepared':
      case 'turn-ended':
      case 'tampered':
      case 'violation':
      case 'judged':
      case 'scm-started':
      case 'denied':
      case 'scm':
      case 'agent-switched':
      case 'paused':
      case 'continued':
      case 'told':
        return [];
      default:
        return event satisfies never;
    }
  };

  return event => linesOf(event).map(line => `[ralph] ${oneLine(line, LONGEST)}`);
}

const LONGEST = 2_000;

function promptLine({ promptHead, promptChars }: RunEvent & { type: 'agent-started' }): string {
  const size = promptHead.length < promptChars ? `${grouped(promptHead.length)} of ` : '';
  return `Prompt (${size}${grouped(promptChars)} chars): ${promptHead}`;
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
function completionLine({ claim, verdict }: RunEvent & { type: 'iteration-ended' }, noun: string): string {
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
