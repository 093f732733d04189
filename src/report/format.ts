/** A run as lines for people: a terminal above its live line, a log file, a replay. */
import type { AgentEvent } from '../domain/agent-event.ts';
import type { CheckResult } from '../domain/check.ts';
import { isLedgerOnly, type LoopCommand, type RunEvent } from '../domain/event.ts';
import type { Feedback, Verdict } from '../domain/verdict.ts';
import { beginning, harmless } from '../platform/text.ts';
import { type Block, createAgentFormat, NOTHING, outputLines } from './format-agent.ts';
import { compact, counted, duration } from './numbers.ts';
import {
  checkNoun,
  checkPhrase,
  deniedPhrase,
  endedBy,
  isLimit,
  iterationOf,
  phrase,
  scmPhrase,
  storyState,
  troublePhrase,
  usagePhrases,
  violationPhrase,
  whyContinue,
} from './phrases.ts';
import { resumptionLines } from './resumption.ts';
import { hanging, mark, type Style, sign, stamped, textWidth, titled } from './style.ts';
import { createTextStream } from './text-stream.ts';
import { betweenLines } from './waits.ts';

export interface Formatter {
  /** Whole lines without line ends. Words that still stream in wait until their row is full. */
  lines(event: RunEvent, now: number): readonly string[];
  /** The words that wait, when nothing follows. */
  rest(now: number): readonly string[];
}

export function createFormatter(style: Style): Formatter {
  const run = createRunFormat(style);
  const agent = createAgentFormat(style);
  const words = createTextStream(() => textWidth(style));
  let group: string | undefined;
  let message: string | undefined;
  let purpose: 'work' | 'commit-message' = 'work';
  let shownTrouble: string | undefined;

  const place = (block: Block, now: number): string[] => {
    if (block.lines.length === 0) return [];
    const gap = group !== undefined && group !== block.group ? [''] : [];
    group = block.group;
    return [...gap, ...block.lines].map(line => stamped(style, line, now));
  };
  const rest = (now: number) => place({ group: 'text', lines: words.end() }, now);

  const speak = (event: AgentEvent & { kind: 'text' }, now: number): string[] => {
    const continues = event.delta === true && event.message === message;
    message = event.message;
    const before = continues ? [] : rest(now);
    const after = event.delta ? words.add(event.text) : [...words.add(shown(event.text)), ...words.end()];
    return [...before, ...place({ group: 'text', lines: trimmed(after, group) }, now)];
  };
  const act = (block: Block, now: number): string[] => {
    if (block.lines.length === 0) return [];
    return [...rest(now), ...place(block, now)];
  };

  return {
    rest,
    lines(event, now) {
      if (event.type === 'agent') {
        // The scm line shows the commit message; only trouble is news here.
        if (purpose === 'commit-message' && event.event.kind !== 'trouble') return [];
        if (event.event.kind === 'trouble' && !event.event.retrying) {
          const { message } = event.event.trouble;
          if (message === shownTrouble) return []; // some agents say it in two records
          shownTrouble = message;
        }
        return event.event.kind === 'text' ? speak(event.event, now) : act(agent(event.event), now);
      }
      if (event.type === 'agent-started') [purpose, shownTrouble] = [event.purpose, undefined];
      if (event.type === 'agent-ended') purpose = 'work';
      return [...rest(now), ...place(run(event, now, shownTrouble), now)];
    },
  };
}

/** Nobody reads more than this of one message in a terminal; the journal has it all. */
const MAX_TEXT = 20_000;

function shown(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${beginning(text, MAX_TEXT)}\n… ${compact(text.length - MAX_TEXT)} more characters`;
}

/** Blank lines at the beginning of a message say nothing: blocks are set apart anyway. */
function trimmed(lines: readonly string[], group: string | undefined): readonly string[] {
  if (group === 'text') return lines;
  const first = lines.findIndex(line => line !== '');
  return first === -1 ? [] : lines.slice(first);
}

type OwnEvent = Exclude<RunEvent, { type: 'agent' }>;

/** `shownTrouble` is the trouble of this turn that the reader has already seen. */
type RunFormat = (event: OwnEvent, now: number, shownTrouble?: string) => Block;

function createRunFormat(style: Style): RunFormat {
  let command: LoopCommand = 'run';
  let maxIterations = 0;
  let iteration = 0;

  return (event, now, shownTrouble) => {
    if (isLedgerOnly(event)) return NOTHING;
    switch (event.type) {
      case 'run-started':
      case 'run-resumed':
        ({ command, maxIterations } = event);
        return { group: 'run', lines: runLines(style, event) };
      case 'iteration-started': {
        const again = event.iteration === iteration ? ' (again)' : '';
        iteration = event.iteration;
        const count = `Iteration ${iterationOf(iteration, maxIterations, ' of ')}${again}`;
        const title = [count, ...purposeOf(event)].join(mark(style, 'dot'));
        return { group: `iteration ${iteration}${again}`, lines: [titled(style, title)] };
      }
      case 'agent-started':
        if (event.purpose === 'work') return attemptBlock(style, event.attempt);
        return {
          group: 'scm',
          lines: hanging(style, sign(style, 'note'), 'Asking for a commit message', 'dim'),
        };
      case 'agent-ended':
        return endedBlock(style, event, shownTrouble);
      case 'waiting':
      case 'agent-switched':
      case 'paused':
      case 'continued':
      case 'told':
        return { group: 'between', lines: betweenLines(style, event, now) };
      case 'check-started':
        return {
          group: 'check',
          lines: hanging(style, sign(style, 'tool'), `${checkNoun(command)} "${phrase(event.command)}"`),
        };
      case 'check-ended':
        return { group: 'check', lines: checkLines(style, event.result, command) };
      case 'violation':
        return {
          group: 'check',
          lines: hanging(style, sign(style, 'error'), violationPhrase(event.violation)),
        };
      case 'denied':
        return {
          group: 'denied',
          lines: hanging(style, sign(style, 'warning'), deniedPhrase(event.what)),
        };
      case 'stories-settled':
        return { group: 'stories', lines: hanging(style, sign(style, 'progress'), settledWords(event)) };
      case 'scm':
        return { group: 'scm', lines: scmLines(style, event) };
      case 'iteration-ended':
        if (event.verdict.kind === 'stop' || isPlainNext(command, event.verdict.feedback)) return NOTHING;
        return { group: 'verdict', lines: nextLines(style, event.verdict, command) };
      case 'notice':
        if (event.level === 'debug') return NOTHING;
        return { group: 'notice', lines: noticeLines(style, event.level, event.text) };
      case 'run-ended':
        return NOTHING; // the summary says it
      default:
        return event satisfies never;
    }
  };
}

function settledWords({ moved, done, total }: OwnEvent & { type: 'stories-settled' }): string {
  const count = `${done} of ${total} done`;
  if (!moved) return count;
  const feedback = moved.reviewStatus === 'changes_requested' ? `: ${phrase(moved.reviewFeedback)}` : '';
  return `${phrase(moved.id)} ${storyState({ ...moved, done: moved.passes })}${feedback} (${count})`;
}

function nextLines(style: Style, verdict: Verdict & { kind: 'continue' }, command: LoopCommand) {
  return hanging(style, sign(style, 'next'), `Not done: ${whyContinue(verdict, checkNoun(command))}`);
}

/** Where there are stories, that there is more to do is no news. */
function isPlainNext(command: LoopCommand, feedback: readonly Feedback[]): boolean {
  return command === 'prd' && feedback.length === 0;
}

function purposeOf({ mode, story }: OwnEvent & { type: 'iteration-started' }): readonly string[] {
  if (mode === undefined) return [];
  return [story === undefined ? phrase(mode) : `${phrase(mode)} ${phrase(story)}`];
}

function runLines(
  style: Style,
  event: OwnEvent & { type: 'run-started' | 'run-resumed' },
): readonly string[] {
  const dot = mark(style, 'dot');
  const agent = event.model === undefined ? event.agent : `${event.agent} (${event.model})`;
  const limit = isLimit(event.maxIterations) ? [`up to ${counted(event.maxIterations, 'iteration')}`] : [];
  const title = [`ralph ${event.command}`, phrase(agent), ...limit].join(dot);
  const checks = event.checks.length === 0 ? 'none' : event.checks.map(phrase).join(dot);
  const noun = checkNoun(event.command);
  return [
    ...hanging(style, sign(style, 'tool'), title, 'bold'),
    ...hanging(style, ' ', `Run ${phrase(event.runId)} in ${phrase(event.cwd)}`, 'dim'),
    ...(event.command === 'prd' ? [] : hanging(style, ' ', `${noun}s: ${checks}`, 'dim')),
    ...(event.type === 'run-resumed' ? resumptionLines(style, event) : []),
    ...(event.sandbox === undefined ? [] : hanging(style, ' ', `Sandbox: ${phrase(event.sandbox)}`, 'dim')),
  ];
}

function attemptBlock(style: Style, attempt: number | undefined): Block {
  if (attempt === undefined) return NOTHING;
  return {
    group: 'between',
    lines: hanging(style, sign(style, 'retry'), `Retrying (attempt ${attempt})`),
  };
}

function endedBlock(style: Style, event: OwnEvent & { type: 'agent-ended' }, shownTrouble?: string): Block {
  const { outcome, purpose } = event;
  if (purpose === 'commit-message' && outcome.kind === 'completed') return NOTHING;
  const facts = [
    ...usagePhrases(event.usage),
    ...(event.toolCalls === null ? [] : [`tools: ${event.toolCalls}`, `errors: ${event.toolErrors ?? 0}`]),
    `time: ${duration(event.duration)}`,
  ];
  const spent = `(${facts.join(', ')})`;
  const group = purpose === 'work' ? 'ended' : 'scm';
  switch (outcome.kind) {
    case 'completed':
      return { group, lines: hanging(style, sign(style, 'ok'), `Complete ${spent}`) };
    case 'failed': {
      const why = outcome.trouble.message === shownTrouble ? '' : `: ${troublePhrase(outcome.trouble)}`;
      return { group, lines: hanging(style, sign(style, 'error'), `Failed${why} ${spent}`) };
    }
    case 'ended':
      return {
        group,
        lines: hanging(style, sign(style, 'warning'), `Ended by ${endedBy(outcome.by)} ${spent}`),
      };
    default:
      return outcome satisfies never;
  }
}

function checkLines(style: Style, result: CheckResult, command: LoopCommand): readonly string[] {
  const words = `${checkNoun(command)} "${phrase(result.command)}" ${checkPhrase(result, result.duration)}`;
  if (result.passed) return hanging(style, sign(style, result.flaked ? 'warning' : 'ok'), words);
  const action = command === 'run' ? `, ${result.failAction}` : '';
  const log = result.logFile === '' ? [] : hanging(style, '    ', `Log: ${phrase(result.logFile)}`, 'dim');
  return [
    ...hanging(style, sign(style, 'error'), `${words}${action}`),
    ...outputLines(style, result.output, 'end'),
    ...log,
  ];
}

const SCM_MARKS = { done: 'ok', 'nothing-to-do': 'note', failed: 'error' } as const;

function scmLines(style: Style, event: OwnEvent & { type: 'scm' }): readonly string[] {
  const color = event.outcome === 'nothing-to-do' ? 'dim' : undefined;
  return hanging(style, sign(style, SCM_MARKS[event.outcome]), scmPhrase(event), color);
}

function noticeLines(style: Style, level: 'info' | 'warning', text: string): readonly string[] {
  const words = harmless(beginning(text, MAX_TEXT)).trim();
  if (level === 'info') return hanging(style, sign(style, 'note'), words);
  return hanging(style, sign(style, 'warning'), words, 'yellow');
}
