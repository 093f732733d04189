/** How a run stands, why it stopped and what to do next: every reader takes the words from here. */
import type { LoopCommand } from '../domain/event.ts';
import type { Limits } from '../domain/limits.ts';
import { type Proven, provenWords } from '../domain/proof.ts';
import type { LoopResult } from '../domain/result.ts';
import { type Raise, raiseOf, resumeCommand, usedBy } from '../domain/resume-command.ts';
import { endingOf, endingSentence, isProven } from '../domain/stop-reason.ts';
import { capital, phasePhrase, phrase } from './phrases.ts';
import { lastChecks, type RunReading, type RunView, type Standing } from './run-view.ts';
import { TERMINAL_WORDS, type Words } from './words.ts';

/** An ended run, from its result or from its ledger. */
export interface EndedRun {
  readonly runId: string;
  readonly command: LoopCommand;
  readonly stopReason: string;
  /** How to raise the limit that stopped it, where one did and it is known. */
  readonly raise: Raise | undefined;
  /** Its settings or its ledger have changed: whoever resumes it has to accept that. */
  readonly needsAccept?: boolean;
}

/** The final sentence of a run. */
export function resultSentence(result: LoopResult, words: Words = TERMINAL_WORDS): string {
  const { stopReason, detail, iterations } = result;
  const checks = iterations.reduce((sum, { checkResults }) => sum + checkResults.length, 0);
  const sentence = phrase(endingSentence(stopReason, null, checks));
  return detail ? `${sentence} ${words.say(detail)}` : sentence;
}

/** What a run has proven, as its ledger has it; undefined: it has not ended. */
export function viewProven(view: RunView): Proven | undefined {
  const { ending, sandbox } = view;
  if (!ending) return undefined;
  const { stopReason, proof } = ending;
  return {
    success: isProven(stopReason),
    proof,
    passed: lastChecks(view).filter(({ passed }) => passed).length,
    sandbox,
  };
}

/** `Proof: checked in place · contained`. */
export function proofLine(run: Proven, { say }: Words = TERMINAL_WORDS): string {
  return `Proof: ${say(provenWords(run))}`;
}

export function endedRun(result: LoopResult, command: LoopCommand, known: KnownLimits): EndedRun {
  const { runId, stopReason, iterations } = result;
  return { runId, command, stopReason, raise: raiseIn(result, iterations.length, known) };
}

interface KnownLimits {
  readonly limits?: Limits | null | undefined;
  readonly maxIterations?: number | undefined;
}

/** A parallel run has no verdict that says its limits; how many iterations it may have is known from its start. */
function raiseIn(
  result: Omit<LoopResult, 'iterations'>,
  iterations: number,
  { limits, maxIterations }: KnownLimits,
): Raise | undefined {
  const { stopReason, lanes } = result;
  const known = limits ?? (lanes && maxIterations ? { maxIterations } : undefined);
  const count = lanes ? lanes.reduce((sum, lane) => sum + (lane.iterations ?? 0), 0) : iterations;
  return raiseOf(stopReason, known, usedBy(result, count));
}

/** The same of a run that was read from its ledger. */
export function endedView(view: RunView): EndedRun | undefined {
  const { runId, command, ending, iterations } = view;
  if (!ending) return undefined;
  const { stopReason } = ending;
  return { runId, command, stopReason, raise: raiseIn(ending, iterations.length, view) };
}

/** Of an in-session loop whose host has ended. */
export const CLOSED =
  'The program that this session ran in has ended, and the loop is kept. Open the session again and type the loop command without a task, or continue in a terminal: `ralph continue-here`.';

/** How a run stands, in a sentence; the detail of its ending is not in it. */
export function standingSentence(view: RunView, state: Standing): string {
  const { ending, phase } = view;
  if (ending) return phrase(endingSentence(ending.stopReason, null, lastChecks(view).length));
  if (state === 'closed') return CLOSED;
  if (state === 'crashed') return 'Cut off: the process ended without a result.';
  if (phase === 'paused' || phase === 'waiting') return `${capital(phasePhrase(phase))}.`;
  return phase === 'between' || phase === 'ended' ? 'Running.' : `Running: ${phasePhrase(phase)}.`;
}

/** The same as a reader may believe it: what a ledger says that was changed is no result. */
export function headline({
  view,
  state,
  integrity,
}: Pick<RunReading, 'view' | 'state' | 'integrity'>): string {
  const sentence = standingSentence(view, state);
  return integrity.trust.kind === 'changed' ? `${UNBELIEVED} It says: ${sentence}` : sentence;
}

export const UNBELIEVED =
  'Do not believe this run: its ledger has been changed. Run the checks yourself before you use its work.';

/** What to do after a run has ended: each command can be pasted. */
export function nextSteps(run: EndedRun): readonly [first: string, ...rest: string[]] {
  const { todo, canResume } = endingOf(run.stopReason);
  const id = phrase(run.runId);
  const look = [
    `Changes: \`ralph show ${id}\``,
    `Log: \`ralph log ${id}\``,
    `Report: \`ralph report ${id} -o run.html\``,
  ];
  if (!canResume) return [todo, ...look];
  return todo === '' ? [resumePhrase(run), ...look] : [todo, resumePhrase(run), ...look];
}

/** `` Resume: `ralph resume ID --max-iterations 4` (2 of 2 used) ``; a loop inside a session is started again in its host. */
export function resumePhrase({ runId, command, stopReason, raise, needsAccept }: EndedRun): string {
  const [flag] = endingOf(stopReason).raise;
  if (command === 'session')
    return `Start the loop again in its session${flag === undefined ? '' : ` with a higher \`--${flag}\``}`;
  const used = raise ? ` (${raise.words})` : '';
  const accept = needsAccept ? ' --accept-changes' : '';
  const why = needsAccept ? ' (something has changed since: without it the command says what)' : '';
  return `Resume: \`${resumeCommand(phrase(runId), stopReason, raise)}${accept}\`${used}${why}`;
}
