/** `ralph explain`: in plain words why a run stopped, what was missing, what happened on the way, and what to do next. */
import { exitCodeOf, isSuccess, sentenceOf } from '../domain/stop-reason.ts';
import { wrap } from '../platform/text.ts';
import { counted, dollars, duration, wholeSeconds } from './numbers.ts';
import { checkNoun, phrase, tokensPhrase, troublePhrase } from './phrases.ts';
import { type CheckView, elapsed, type IterationView, lastChecks, type RunView } from './run-view.ts';
import { type Paint, paint, type Style } from './style.ts';
import { nextStep } from './summary.ts';

/** What the ledger cannot tell. */
export interface Now {
  readonly isAlive: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface Explanation {
  readonly runId: string;
  /** One sentence: how it stands. */
  readonly outcome: string;
  /** What speaks for that. */
  readonly evidence: readonly string[];
  /** What happened that one should know of before one believes the result. */
  readonly onTheWay: readonly string[];
  /** Where time and money went. */
  readonly spent: readonly string[];
  readonly next: readonly string[];
}

export function explain(view: RunView, now: Now): Explanation {
  return {
    runId: view.runId,
    outcome: outcomeOf(view, now),
    evidence: evidenceOf(view),
    onTheWay: onTheWay(view),
    spent: spentOn(view),
    next: nextSteps(view, now),
  };
}

export function explainLines(view: RunView, now: Now, style: Style): readonly string[] {
  const { outcome, evidence, onTheWay: way, spent, next } = explain(view, now);
  const done = view.ending !== null && isSuccess(view.ending.stopReason);
  const color: Paint = done ? 'green' : view.ending ? 'yellow' : now.isAlive ? 'cyan' : 'red';
  const [first = '', ...rest] = wrap(outcome, style.width);
  return [
    `${phrase(view.runId)}  ralph ${view.command}${view.agent === '' ? '' : ` with ${phrase(view.agent)}`}`,
    paint(style, 'bold', paint(style, color, first)),
    ...rest,
    ...section(done ? 'What proves it' : 'What was missing', evidence, style),
    ...section('On the way', way, style),
    ...section('Where it went', spent, style),
    ...section('Next', next, style),
  ];
}

function section(title: string, items: readonly string[], style: Style): readonly string[] {
  if (items.length === 0) return [];
  return ['', paint(style, 'bold', title), ...items.flatMap(item => wrap(`- ${item}`, style.width))];
}

function outcomeOf(view: RunView, { isAlive, now }: Now): string {
  const { ending } = view;
  if (ending) {
    const detail = ending.detail === null ? '' : ` ${phrase(ending.detail)}`;
    return `${sentenceOf(ending.stopReason)}${detail} (${ending.stopReason}, exit code ${exitCodeOf(ending.stopReason)})`;
  }
  const of = view.maxIterations > 0 ? ` of ${view.maxIterations}` : '';
  const where =
    view.iterations.length === 0
      ? 'before its first iteration'
      : `in iteration ${view.iterations.length}${of}`;
  const since = view.open ? ` for ${wholeSeconds(Math.max(0, now - view.open.since) / 1000)}` : '';
  if (isAlive) return `It is still running ${where}: ${PHASES[view.phase]}${since}.`;
  return `Its process is gone and never said how it ended: it was killed, or the machine went down, ${where}, while ${PHASES[view.phase]}.`;
}

const PHASES: Record<RunView['phase'], string> = {
  between: 'between two steps',
  agent: 'the agent was at work',
  checks: 'the checks ran',
  waiting: 'it waited for a limit to end',
  paused: 'it was paused',
  ended: 'it ended',
};

function evidenceOf(view: RunView): readonly string[] {
  const last = view.iterations.at(-1);
  const noun = checkNoun(view.command).toLowerCase();
  const checks = lastChecks(view);
  if (view.ending && isSuccess(view.ending.stopReason)) {
    const claimed = last?.claim?.found
      ? [`The agent said so in iteration ${last.number}, in its own words.`]
      : [];
    if (view.command === 'prd') return [...approvals(view), ...claimed];
    const nothing = `No ${noun} ran: nothing but the agent's word speaks for it.`;
    return [
      ...(checks.length === 0 ? [nothing] : checks.map(check => checkWords(view, check, noun))),
      ...claimed,
    ];
  }
  const red = checks.filter(({ passed }) => !passed).map(check => checkWords(view, check, noun));
  const green = checks.length - red.length;
  const others = green > 0 ? [`${counted(green, noun)} ${green === 1 ? 'passes' : 'pass'}.`] : [];
  const why = last?.why ? [`Iteration ${last.number} was not enough because ${phrase(last.why)}.`] : [];
  const failed =
    last?.outcome?.kind === 'failed' ? [`The last turn failed: ${troublePhrase(last.outcome.trouble)}.`] : [];
  return [...red, ...others, ...early(view.iterations), ...why, ...failed];
}

/** Who says so of each story: a review in an iteration of its own. */
function approvals({ moves }: RunView): readonly string[] {
  const last = new Map(moves.map(move => [move.story, move]));
  return [...last.values()]
    .filter(({ status }) => status === 'approved')
    .map(({ story, iteration, feedback }) => {
      const but = feedback.trim() === '' ? '' : ` It says: ${phrase(feedback)}`;
      return `A review with a fresh context approved ${phrase(story)} in iteration ${iteration}.${but}`;
    });
}

function checkWords({ iterations }: RunView, check: CheckView, noun: string): string {
  const name = `The ${noun} \`${phrase(check.command)}\``;
  if (check.passed) return `${name} passes (${duration(check.seconds)}).`;
  const reds = iterations.filter(each =>
    each.checks.some(({ index, passed }) => index === check.index && !passed),
  );
  const since = iterations.findLast(each =>
    each.checks.some(({ index, passed }) => index === check.index && passed),
  );
  const history =
    reds.length < 2
      ? ''
      : since
        ? `, red since iteration ${since.number + 1}`
        : `, red in all of its ${reds.length} runs`;
  const how = check.timedOut ? 'ran out of time' : `fails with exit code ${check.exitCode}`;
  const log = check.logFile === '' ? '' : `; its output is in ${phrase(check.logFile)}`;
  return `${name} ${how}${history}${log}.`;
}

/** Claims that the checks did not bear out. */
function early(iterations: readonly IterationView[]): readonly string[] {
  const wrong = iterations.filter(
    ({ claim, checks }) => claim?.found && checks.some(({ passed, ungated }) => !passed && !ungated),
  );
  if (wrong.length === 0) return [];
  const where = numbers(wrong);
  return [`The agent said that it was done while a check was red, in ${where}.`];
}

const MOST = 5;

function onTheWay(view: RunView): readonly string[] {
  const undone = view.violations
    .slice(0, MOST)
    .map(
      ({ what, restored, iteration }) =>
        `Iteration ${iteration}: ${phrase(what)}${restored ? ' (undone)' : ''}.`,
    );
  const more = view.violations.length > MOST ? [`${view.violations.length - MOST} more violations.`] : [];
  const failed = view.iterations.filter(({ outcome }) => outcome?.kind === 'failed');
  const flaky = view.iterations.filter(({ checks }) => checks.some(({ flaked }) => flaked > 0));
  const red = view.baseline.filter(({ passed }) => !passed);
  const retried = view.iterations.filter(({ attempts }) => attempts > 1);
  const told = view.remarks.filter(({ level }) => level !== 'info');
  return [
    ...(red.length > 0
      ? [
          `${counted(red.length, 'check')} was red before the first iteration.`.replace(
            'checks was',
            'checks were',
          ),
        ]
      : []),
    ...undone,
    ...more,
    ...(failed.length > 0 ? [`The turn failed in ${numbers(failed)}.`] : []),
    ...(retried.length > 0 ? [`The agent had to be started again in ${numbers(retried)}.`] : []),
    ...(flaky.length > 0 ? [`A check failed and passed when it was run again, in ${numbers(flaky)}.`] : []),
    ...told
      .slice(-MOST)
      .map(({ text, iteration }) => (iteration > 0 ? `Iteration ${iteration}: ${text}` : text)),
  ];
}

/** `iteration 3`, `iterations 2, 4 and 7`, `12 iterations (2, 4, 7, …)`. */
function numbers(iterations: readonly IterationView[]): string {
  const all = iterations.map(({ number }) => number);
  if (all.length === 1) return `iteration ${all[0]}`;
  if (all.length <= MOST) return `iterations ${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
  return `${all.length} iterations (${all.slice(0, 3).join(', ')}, …)`;
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
  const dearest = view.iterations.reduce<IterationView | undefined>(
    (most, each) => ((each.usage?.cost ?? 0) > (most?.usage?.cost ?? 0) ? each : most),
    undefined,
  );
  const most =
    dearest?.usage?.cost && view.iterations.length > 1
      ? `, most of it in iteration ${dearest.number} (${dollars(dearest.usage.cost)})`
      : '';
  return [
    `${duration(total)} in ${counted(view.iterations.length, 'iteration')}: ${parts.join(', ')}.`,
    ...(cost === undefined ? [] : [`${dollars(cost)}${most}.`]),
    ...(tokens ? [`Tokens: ${tokensPhrase(tokens)}.`] : []),
  ];
}

function nextSteps(view: RunView, { isAlive }: Now): readonly string[] {
  const id = phrase(view.runId);
  if (view.ending) return [`${capital(nextStep({ ...view.ending, iterations: [] }, view.command))}.`];
  if (isAlive) return [`\`ralph log ${id} --follow\` shows it at work; \`ralph cancel ${id}\` ends it.`];
  return [
    `\`ralph resume ${id}\` goes on where it was cut off.`,
    `\`ralph log ${id}\` shows how far it came; the work is in your files.`,
  ];
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
