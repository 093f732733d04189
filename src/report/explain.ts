/** `ralph explain`: in plain words why a run stopped, what was missing, what happened on the way, and what to do next. */
import { pullRequestOf } from '../domain/forge/forge-state.ts';
import { boardUsage, laneUsage } from '../domain/lanes/board.ts';
import type { LoopCommand } from '../domain/run/event.ts';
import { exitCodeOf, isSuccess } from '../domain/run/stop-reason.ts';
import { dollars } from '../domain/turn/usage.ts';
import { wrap, wrapAround } from '../platform/text.ts';
import { times } from './board-view.ts';
import { bestWords, CLOSED, endedView, nextSteps, START_AGAIN, standingSentence } from './ending-words.ts';
import { issueWords, pullRequestWords } from './forge-words.ts';
import { lookAt, standingOf } from './lane-words.ts';
import { counted, duration, wholeSeconds } from './numbers.ts';
import {
  checkNoun,
  commitPhrase,
  costPhrase,
  phasePhrase,
  phrase,
  tokensPhrase,
  turnPhrase,
  violationPhrase,
} from './phrases.ts';
import { checkProof, claimProof, levelProof, mutationProof, testProof } from './proofs.ts';
import {
  type CheckView,
  elapsed,
  type IterationView,
  lastChecks,
  type RunView,
  viewHasBegun,
} from './run-view.ts';
import { type Paint, paint, type Style } from './style.ts';

/** What the ledger does not say. */
export interface Now {
  readonly isAlive: boolean;
  /** An in-session loop that waits for its host to be opened again. */
  readonly isClosed?: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Why nothing that its ledger says of its result can be believed. */
  readonly doubt?: string | undefined;
  /** A command without an id means it. */
  readonly isLatest?: boolean;
  /** Its work is not in the user's branch yet. */
  readonly isLeft?: boolean;
  /** What to do next, of a run that is not driven from here. */
  readonly next?: readonly string[];
}

export interface Explanation {
  readonly runId: string;
  /** What it was about; null: nobody wrote it down. */
  readonly title: string | null;
  /** One sentence: how it stands. */
  readonly outcome: string;
  /** What supports that. */
  readonly evidence: readonly string[];
  /** What one should know before one trusts the result. */
  readonly onTheWay: readonly string[];
  /** Where time and money went. */
  readonly spent: readonly string[];
  readonly next: readonly string[];
}

export function explain(view: RunView, now: Now): Explanation {
  return {
    runId: view.runId,
    title: view.title,
    outcome: outcomeOf(view, now),
    evidence:
      now.doubt !== undefined
        ? []
        : isDone(view)
          ? [
              ...[...levelProof(view), ...mutationProof(view)].map(({ text }) => `${text}.`),
              ...(view.board ? landed(view) : proofsOf(view)),
            ]
          : [...causesOf(view), ...unlanded(view), ...landed(view)],
    onTheWay: [...ofPullRequest(view), ...onTheWay(view)],
    spent: spentOn(view),
    next: now.next?.map(phrase) ?? whatNext(view, now),
  };
}

export function explainLines(view: RunView, now: Now, style: Style): readonly string[] {
  const { outcome, evidence, onTheWay: way, spent, next } = explain(view, now);
  const color: Paint = isDone(view)
    ? 'green'
    : view.ending
      ? 'yellow'
      : now.isAlive
        ? 'cyan'
        : now.isClosed
          ? 'yellow'
          : 'red';
  const [first = '', ...rest] = wrap(outcome, style.width);
  return [
    `${phrase(view.runId)}  ralph ${phrase(view.command)}${view.agent === '' ? '' : ` with ${phrase(view.agent)}`}`,
    ...(view.title === null ? [] : wrap(phrase(view.title), style.width)),
    paint(style, 'bold', paint(style, color, first)),
    ...rest,
    ...section(isDone(view) ? 'What supports it' : 'What was missing', evidence, style),
    ...section('On the way', way, style),
    ...section('Time and cost', spent, style),
    ...section('Next', next, style),
  ];
}

function section(title: string, items: readonly string[], style: Style): readonly string[] {
  if (items.length === 0) return [];
  return ['', paint(style, 'bold', title), ...items.flatMap(item => wrapAround(`- ${item}`, style.width))];
}

function isDone({ ending }: RunView): boolean {
  return ending !== null && isSuccess(ending.stopReason);
}

function outcomeOf(view: RunView, { isAlive, isClosed, now, doubt }: Now): string {
  const { ending, open, phase, iterations, maxIterations, board } = view;
  if (doubt !== undefined) return doubt;
  if (ending)
    return `${standingSentence(view, 'stopped')}${ending.detail ? ` ${phrase(ending.detail)}` : ''} (${phrase(ending.stopReason)}, exit code ${exitCodeOf(ending.stopReason)})`;
  const of = maxIterations > 0 ? ` of ${maxIterations}` : '';
  const where = board
    ? `${board.landed.length} of ${board.lanes.length} landed`
    : iterations.length === 0
      ? 'before its first iteration'
      : `in iteration ${iterations.length}${of}`;
  if (isClosed) return `Closed ${where}. ${CLOSED}`;
  const since = open ? ` (${wholeSeconds(Math.max(0, now - open.since) / 1000)})` : '';
  if (isAlive) return `Still running, ${where}${board ? '' : `: ${phasePhrase(phase)}${since}`}.`;
  if (!viewHasBegun(view)) return standingSentence(view, 'unstarted');
  if (board)
    return `Cut off with ${where}: the process ended without a result (it was killed, or the machine stopped).`;
  return `Cut off ${where}: the process ended without a result (it was killed, or the machine stopped). Last state: ${phasePhrase(phase)}.`;
}

function proofsOf(view: RunView): readonly string[] {
  const last = view.iterations.at(-1);
  const claimed = last?.claim?.found
    ? [`The agent said that it is done in iteration ${last.number}, in its own words.`]
    : [];
  if (view.command === 'prd') return [...approvals(view), ...claimed];
  const noun = checkNoun(view.command);
  const checks = lastChecks(view);
  const unchecked = `No ${noun.toLowerCase()} ran: only the agent's own words support this result.`;
  return [
    ...(checks.length === 0 ? [unchecked] : checks.map(check => checkSentence(view, check))),
    ...claimed,
  ];
}

/** What each commit that landed rests on. */
function landed({ board, lanes: { spans } }: RunView): readonly string[] {
  return (board?.landed ?? []).map(({ story, commit }) => {
    const lane = board?.lanes.find(({ id }) => id === story);
    const { checks } = spans.findLast(span => span.story === story && span.kind === 'checks') ?? {};
    const what = checks
      ? `${counted(checks, 'check')} passed on that commit, in a clean checkout`
      : 'not checked';
    const back = lane && lane.returns > 0 ? `, after it was sent back ${times(lane.returns)}` : '';
    return `${phrase(story)} landed as ${commitPhrase(commit)}${back}: ${what}.`;
  });
}

/** Why each of the others did not land, with what shows it. */
function unlanded({ board, lanes, runId, cwd }: RunView): readonly string[] {
  const open = board?.lanes.filter(({ state }) => state !== 'landed' && state !== 'kept') ?? [];
  return open.flatMap(lane => {
    const back = lanes.marks.findLast(({ story, kind }) => story === lane.id && kind === 'sent-back');
    const needs = lane.needs.filter(id => !board?.landed.some(({ story }) => story === id));
    const why = lane.why ?? (needs.length > 0 ? `it waits for ${needs.join(', ')}` : standingOf(lane));
    const output = back?.detail?.trim().split('\n').slice(-LAST_LINES).map(phrase).join('\n  ');
    return [
      `${phrase(lane.id)} ${phrase(lane.title)}: ${phrase(why)}${/[.!?]$/.test(why) ? '' : '.'}${
        back ? ` Sent back ${times(lane.returns)}, the last time because ${back.text}.` : ''
      }${output ? `\n  ${output}` : ''}`,
      ...lookAt(lane, runId, { cwd }).map(look => `${phrase(lane.id)}: ${look}`),
    ];
  });
}

/** Of what checks printed. */
const LAST_LINES = 6;

/** Which review approved each story: an iteration of its own. */
function approvals({ moves }: RunView): readonly string[] {
  const last = new Map(moves.map(move => [move.story, move]));
  return [...last.values()]
    .filter(({ status }) => status === 'approved')
    .map(({ story, iteration, feedback }) => {
      const but = feedback.trim() === '' ? '' : ` It says: ${phrase(feedback)}`;
      return `A review with a fresh context approved ${phrase(story)} in iteration ${iteration}.${but}`;
    });
}

const MOST = 5;

function ofPullRequest({ forge, said }: RunView): readonly string[] {
  const pull = pullRequestOf(forge);
  const issue = issueWords(said);
  return [...(pull ? [`${pullRequestWords(pull)}.`] : []), ...(issue === undefined ? [] : [`${issue}.`])];
}

function onTheWay(view: RunView): readonly string[] {
  const { violations, iterations, baseline, remarks } = view;
  const red = baseline.filter(({ passed }) => !passed).length;
  const where = (test: (iteration: IterationView) => boolean, sentence: string) => {
    const found = iterations.filter(test);
    return found.length > 0 ? [`${sentence} ${numbers(found)}.`] : [];
  };
  const tests = testProof(view);
  return [
    ...tests.slice(0, MOST).map(({ text }) => `${text}.`),
    ...(tests.length > MOST ? [`${tests.length - MOST} more changes to tests.`] : []),
    ...(red > 0 ? [`Failing before the first iteration: ${counted(red, 'check')}.`] : []),
    ...violations
      .slice(0, MOST)
      .map(violation => `Iteration ${violation.iteration}: ${violationPhrase(violation)}.`),
    ...(violations.length > MOST ? [`${violations.length - MOST} more violations.`] : []),
    ...where(({ outcome }) => outcome?.kind === 'failed', 'The turn failed in'),
    ...where(({ attempts }) => attempts > 1, 'The agent had to be started again in'),
    ...where(
      ({ checks }) => checks.some(({ flaked }) => flaked > 0),
      'A flaky check failed and then passed in',
    ),
    ...remarks
      .filter(({ level }) => level !== 'info')
      .slice(-MOST)
      .map(({ text, iteration }) => (iteration > 0 ? `Iteration ${iteration}: ${text}` : text)),
  ];
}

function spentOn(view: RunView): readonly string[] {
  const { agent, checks, waiting } = view.seconds;
  const total = elapsed(view);
  const rest = Math.max(0, total - agent - checks - waiting);
  const parts = [
    `${duration(agent)} in the agent`,
    `${duration(checks)} in checks`,
    ...(waiting >= 1 ? [`${wholeSeconds(waiting)} waiting`] : []),
    ...(rest >= 1 ? [`${wholeSeconds(rest)} between the steps`] : []),
  ];
  const cost = view.usage?.cost;
  const tokens = view.usage?.tokens;
  if (view.board) return spentOnLanes(view, total);
  return [
    `Time: ${duration(total)} in ${counted(view.iterations.length, 'iteration')}: ${parts.join(', ')}.`,
    ...(cost === undefined
      ? []
      : [`Cost: ${costPhrase(cost, view.usage?.unpriced)}${shares(view.iterations)}.`]),
    ...(tokens ? [`Tokens: ${tokensPhrase(tokens, view.usage?.uncounted)}.`] : []),
  ];
}

/** Which iteration cost far more than the others; where none did, what each cost. */
function shares(iterations: readonly IterationView[]): string {
  const costs = iterations.flatMap(({ number, usage }) =>
    usage?.cost === undefined ? [] : [{ number, cost: usage.cost }],
  );
  const sum = costs.reduce((all, { cost }) => all + cost, 0);
  if (costs.length < 2 || sum === 0) return '';
  const most = costs.reduce((a, b) => (b.cost > a.cost ? b : a));
  if (most.cost > sum / 2) return `, most of it in iteration ${most.number} (${dollars(most.cost)})`;
  return `, about ${dollars(sum / costs.length)} per iteration`;
}

/** Less is no more than how numbers are rounded. */
const LEAST = 1e-6;

function spentOnLanes({ board, ending }: RunView, total: number): readonly string[] {
  if (!board) return [];
  const used = boardUsage(board);
  const { cost, unpriced } = used ?? {};
  const tokens = ending?.totalTokens ?? used?.tokens;
  const iterations = board.lanes.reduce((sum, lane) => sum + lane.iterations, 0);
  const lanes = board.lanes.flatMap(lane => {
    const own = laneUsage(lane)?.cost;
    return own === undefined ? [] : [`${phrase(lane.id)} ${dollars(own)}`];
  });
  const all = ending?.totalCost ?? cost;
  const rest = (all ?? 0) - (cost ?? 0);
  if (rest > LEAST) lanes.push(`runs that are not over ${dollars(rest)}`);
  return [
    `Time: ${duration(total)}, for ${counted(iterations, 'iteration')} in ${counted(board.lanes.length, 'lane')}.`,
    ...(all === undefined || all === null
      ? []
      : [`Cost: ${costPhrase(all, unpriced)}: ${lanes.join(', ')}.`]),
    ...(tokens ? [`Tokens: ${tokensPhrase(tokens)}.`] : []),
  ];
}

function isOpen({ forge }: RunView): boolean {
  const pull = pullRequestOf(forge);
  return pull !== null && pull.outcome !== 'merged' && pull.outcome !== 'pull_request_closed';
}

function whatNext(view: RunView, { isAlive, isClosed, isLatest, isLeft, doubt }: Now): readonly string[] {
  const id = isLatest ? '' : ` ${phrase(view.runId)}`;
  if (doubt !== undefined) return [`Log: \`ralph log${id}\`.`];
  const ended = endedView(view);
  const land = isOpen(view)
    ? [`Stay with its pull request: \`ralph pr${id} --follow\`.`]
    : isLeft
      ? [`Take it over: \`ralph land${id}\`.`]
      : [];
  if (ended) return [...land, ...nextSteps({ ...ended, isLatest }).map(step => `${step}.`)];
  const stop = view.command === 'session' ? 'session cancel' : `cancel${id}`;
  if (isAlive) return [`Follow it: \`ralph log${id} --follow\`. Stop it: \`ralph ${stop}\`.`];
  if (!viewHasBegun(view)) return [`${START_AGAIN}.`, `Log: \`ralph log${id}\`.`];
  const again =
    view.command !== 'session'
      ? `Resume where it was cut off: \`ralph resume${id}\``
      : isClosed
        ? 'Continue in a terminal: `ralph continue-here`. End it: `ralph session cancel`'
        : 'Start the loop again in its session';
  return [`${again}.`, `Log: \`ralph log${id}\`. The changes so far are in your files.`];
}

/** Why a run is not done, with the words of whatever says so: for every ending there is a cause. */
function causesOf(view: RunView): readonly string[] {
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
    ...bestWords(view),
  ];
  return causes.length > 0 || view.board ? causes : [nothing(view)];
}

/** A check with the part of its output that says why it failed. */
function checkSentence(
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

/** `iteration 3`, `iterations 2, 4 and 7`, `12 iterations (2, 4, 7, …)`. */
function numbers(iterations: readonly Pick<IterationView, 'number'>[]): string {
  const all = iterations.map(({ number }) => number);
  if (all.length === 1) return `iteration ${all[0]}`;
  if (all.length <= MOST) return `iterations ${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
  return `${all.length} iterations (${all.slice(0, 3).join(', ')}, …)`;
}
