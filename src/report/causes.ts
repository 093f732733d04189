/** Why a run is not done, with the words of whatever says so: for every ending there is a cause. */
import type { LoopCommand } from '../domain/event.ts';
import { endedView } from './ending-words.ts';
import { counted } from './numbers.ts';
import { checkNoun, phasePhrase, phrase, turnPhrase } from './phrases.ts';
import { checkProof, claimProof } from './proofs.ts';
import { type CheckView, type IterationView, lastChecks, type RunView } from './run-view.ts';

export function causesOf(view: RunView): readonly string[] {
  const last = view.iterations.at(-1);
  const checks = lastChecks(view);
  const red = checks.filter(({ passed }) => !passed);
  const green = checks.length - red.length;
  const turn = last?.outcome ? turnPhrase(last.outcome) : undefined;
  const causes = [
    ...red.map(check => checkSentence(view, check)),
    ...(green > 0 ? [`${counted(green, checkNoun(view.command).toLowerCase())} passed.`] : []),
    ...claims(view, red.length > 0),
    ...(last?.why ? [`Iteration ${last.number} was not enough: ${phrase(last.why)}.`] : []),
    ...(last && turn !== undefined ? [`Iteration ${last.number}: ${turn}.`] : []),
    ...(red.length > 0 ? [] : limits(view)),
  ];
  return causes.length > 0 || view.board ? causes : [nothing(view)];
}

/** A check with the part of its output that says why it failed. */
export function checkSentence(
  { iterations, command }: Pick<RunView, 'iterations' | 'command'>,
  check: CheckView,
): string {
  const { text } = checkProof(check, checkNoun(command as LoopCommand));
  if (check.passed) return `${text}.`;
  const isIt = (wanted: boolean) => (each: IterationView) =>
    each.checks.some(({ index, passed }) => index === check.index && passed === wanted);
  const reds = iterations.filter(isIt(false)).length;
  const green = iterations.findLast(isIt(true));
  const since = green
    ? `, failing since iteration ${green.number + 1}`
    : `, failed in all of its ${reds} runs`;
  const log = check.logFile === '' ? '' : `. Output: ${phrase(check.logFile)}`;
  const cause = check.cause?.map(line => `\n    ${line}`).join('') ?? '';
  return `${text}${reds < 2 ? '' : since}${log}${cause}`;
}

/** Claims that the checks contradict; where they do not, that there was none. */
function claims(view: RunView, isRed: boolean): readonly string[] {
  const wrong = view.iterations.filter(
    ({ claim, checks }) => claim?.found && checks.some(({ passed, ungated }) => !passed && !ungated),
  );
  if (wrong.length > 0)
    return [`The agent said that it was done while a check failed, in ${numbers(wrong)}.`];
  if (isRed || view.ending?.stopReason === 'blocked') return [];
  return claimProof(view).flatMap(({ holds, text }) => (holds === 'no' ? [`${text}.`] : []));
}

/** The limit that stopped it. */
function limits(view: RunView): readonly string[] {
  const raise = endedView(view)?.raise;
  return raise ? [`The limit \`--${raise.flag}\` was reached: ${raise.words}.`] : [];
}

/** It ended before anything could be judged. */
function nothing({ ending, iterations, phase }: RunView): string {
  if (!ending) return `Nothing was judged yet: ${phasePhrase(phase)}.`;
  if (iterations.length === 0) return 'It stopped before its first iteration: nothing was done or checked.';
  return `Nothing was checked in ${numbers(iterations)}, and the agent did not finish.`;
}

const MOST = 5;

/** `iteration 3`, `iterations 2, 4 and 7`, `12 iterations (2, 4, 7, …)`. */
export function numbers(iterations: readonly Pick<IterationView, 'number'>[]): string {
  const all = iterations.map(({ number }) => number);
  if (all.length === 1) return `iteration ${all[0]}`;
  if (all.length <= MOST) return `iterations ${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
  return `${all.length} iterations (${all.slice(0, 3).join(', ')}, …)`;
}
