/** How a run stands, why it stopped and what to do next: every reader takes the words from here. */

import { type Proven, provenWords } from '../domain/checks/proof.ts';
import type { LoopCommand } from '../domain/run/event.ts';
import { headlineOf } from '../domain/run/headline.ts';
import type { LedgerTrust } from '../domain/run/ledger-trust.ts';
import { adviceIn } from '../domain/run/limits.ts';
import type { Standing } from '../domain/run/overview.ts';
import { countChecks, type LoopResult, provenBy } from '../domain/run/result.ts';
import { type KnownLimits, type Raise, raiseIn, resumeCommand } from '../domain/run/resume-command.ts';
import { endingOf } from '../domain/run/stop-reason.ts';
import { pick } from '../domain/text/fields.ts';
import { bestPhrase, capital, phasePhrase, phrase } from './phrases.ts';
import { lastChecks, type RunReading, type RunView, viewHasBegun } from './run-view.ts';
import { TERMINAL_WORDS, type Words } from './words.ts';

/** An ended run, from its result or from its ledger. */
export interface EndedRun {
  readonly runId: string;
  /** A command without an id means it. */
  readonly isLatest?: boolean | undefined;
  readonly command: LoopCommand;
  readonly stopReason: string;
  /** How to raise the limit that stopped it, where one did and it is known. */
  readonly raise: Raise | undefined;
  /** Its settings or its ledger have changed: whoever resumes it has to accept that. */
  readonly needsAccept?: boolean;
  /** An agent was asked for something: before that there is nothing to resume. */
  readonly hasBegun: boolean;
  /** The exact limit, the last error; with what to do about it, where that is known. */
  readonly detail?: string | null;
}

/** The final sentence of a run. */
export function resultSentence(result: LoopResult, words: Words = TERMINAL_WORDS): string {
  const { detail } = result;
  const sentence = phrase(headlineOf(provenBy(result), words.say));
  return detail ? `${sentence} ${words.say(detail)}` : sentence;
}

/** What a run has proven, as its ledger has it; undefined: it has not ended. */
export function viewProven(view: RunView): Proven | undefined {
  const { ending, sandbox } = view;
  return ending ? { ...ending, checks: countChecks(lastChecks(view)), sandbox } : undefined;
}

/** `Proof: checked in place · contained`. */
export function proofLine(run: Proven, { say }: Words = TERMINAL_WORDS): string {
  return `Proof: ${say(provenWords(run))}`;
}

export function endedRun(
  result: LoopResult,
  command: LoopCommand,
  known: KnownLimits & { readonly hasBegun?: boolean | undefined },
): EndedRun {
  const raise = raiseIn(result, result.iterations.length, known);
  return {
    ...pick(result, 'runId', 'stopReason', 'detail'),
    command,
    raise,
    hasBegun: known.hasBegun ?? true,
  };
}

/** The same of a run that was read from its ledger. */
export function endedView(view: RunView): EndedRun | undefined {
  const { runId, command, ending, iterations } = view;
  if (!ending) return undefined;
  const raise = raiseIn(ending, iterations.length, view);
  return { ...pick(ending, 'stopReason', 'detail'), runId, command, raise, hasBegun: viewHasBegun(view) };
}

/** Of an in-session loop whose host has ended. */
export const CLOSED =
  'The program that this session ran in has ended, and the loop is kept. Open the session again and type the loop command without a task, or continue in a terminal: `ralph continue-here`.';

/** Of a run that was cut off while it was set up, or in the checks before its first iteration. */
const UNSTARTED = 'It did not begin: it was cut off before its first iteration, and nothing was done.';

/** What to do with a run that ended before its first iteration. */
export const START_AGAIN = 'Nothing was done: start it again with the same command';

/** How a run stands, in a sentence; the detail of its ending is not in it. */
export function standingSentence(view: RunView, state: Standing): string {
  const { phase } = view;
  const proven = viewProven(view);
  if (proven) return phrase(headlineOf(proven));
  if (state === 'closed') return CLOSED;
  if (state === 'unstarted') return UNSTARTED;
  if (state === 'crashed') return 'Cut off: the process ended without a result.';
  if (phase === 'paused' || phase === 'waiting') return `${capital(phasePhrase(phase))}.`;
  return phase === 'between' || phase === 'ended' ? 'Running.' : `Running: ${phasePhrase(phase)}.`;
}

/** The same as a reader may believe it: what a ledger says that Ralph did not record here, or that was changed, is no result. */
export function headline({
  view,
  state,
  integrity,
}: Pick<RunReading, 'view' | 'state' | 'integrity'>): string {
  return doubtSentence(integrity.trust) ?? standingSentence(view, state);
}

/** undefined: there is no doubt. */
export function doubtSentence({ kind }: LedgerTrust): string | undefined {
  if (kind === 'intact') return undefined;
  const why = kind === 'changed' ? 'its ledger has been changed' : 'it was not recorded on this machine';
  return `Not verified: ${why}. Do not believe it: run the checks yourself before you use its work.`;
}

/** What to do after a run has ended: each command can be pasted. */
export function nextSteps(run: EndedRun): readonly [first: string, ...rest: string[]] {
  const { todo: usual, canResume } = endingOf(run.stopReason);
  const advice = canResume ? adviceIn(run.detail ?? null) : undefined;
  const todo = advice === undefined ? usual : capital(phrase(advice));
  const id = run.isLatest ? '' : ` ${phrase(run.runId)}`;
  const log = `Log: \`ralph log${id}\``;
  if (canResume && !run.hasBegun) return todo === '' ? [START_AGAIN, log] : [todo, START_AGAIN, log];
  const look = [`Changes: \`ralph show${id}\``, log, `Report: \`ralph report${id} -o run.html\``];
  if (!canResume) return [todo, ...look];
  return todo === '' ? [resumePhrase(run), ...look] : [todo, resumePhrase(run), ...look];
}

/** `` Resume: `ralph resume ID --max-iterations 4` (2 of 2 used) ``; a loop inside a session is started again in its host. */
export function resumePhrase(run: EndedRun): string {
  const { runId, command, stopReason, raise, needsAccept, isLatest } = run;
  const [flag] = endingOf(stopReason).raise;
  if (command === 'session')
    return `Start the loop again in its session${flag === undefined ? '' : ` with a higher \`--${flag}\``}`;
  const used = raise ? ` (${raise.words})` : '';
  const accept = needsAccept ? ' --accept-changes' : '';
  const why = needsAccept ? ' (something has changed since: without it the command says what)' : '';
  return `Resume: \`${resumeCommand(isLatest ? null : phrase(runId), stopReason, raise)}${accept}\`${used}${why}`;
}

/** Which iteration was better than the last one, and where the files stand. */
export function bestWords({ ending, iterations }: Pick<RunView, 'ending' | 'iterations'>): readonly string[] {
  const { best, restored } = ending ?? {};
  const last = iterations.at(-1)?.number;
  if (!best || best.iteration === last) return [];
  const { checks = [] } = iterations.find(({ number }) => number === best.iteration) ?? {};
  const line = `The best was ${bestPhrase(best, checks.filter(({ clean }) => !clean).length)}.`;
  if (!restored) return [`${line} The files are as iteration ${last} left them.`];
  const { bringBack } = restored;
  const back = bringBack === undefined ? '' : ` This brings it back: \`${phrase(bringBack)}\`.`;
  const files = 'The files are as it left them; what came after it is put aside.';
  return [`${line} ${files}${back} What is said here of checks is of iteration ${last}.`];
}
