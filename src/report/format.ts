/** A run as lines for people: a terminal above its live line, a log file, a replay. */
import type { CheckResult } from '../domain/checks/check.ts';
import { failureLines } from '../domain/checks/failure.ts';
import type { BoardEvent } from '../domain/lanes/board-event.ts';
import type { LoopCommand, RunEvent } from '../domain/run/event.ts';
import { sameFor } from '../domain/text/fields.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';
import { beginning, harmless, wrap } from '../platform/text.ts';
import { boardWords, createLaneNames, type LaneNames } from './board-words.ts';
import { BOARD, type EventTable, FORGE, lookUp, NO_NEWS, type Of } from './event-table.ts';
import { type AgentAction, type Block, createAgentFormat, NOTHING, outputLines } from './format-agent.ts';
import { type NewsEvent, newsOf, resumptionLines } from './news.ts';
import { compact, counted, duration } from './numbers.ts';
import {
  checkNoun,
  checkPhrase,
  endedBy,
  isLimit,
  iterationOf,
  phrase,
  storyState,
  troublePhrase,
  usagePhrases,
  violationPhrase,
  whyContinue,
} from './phrases.ts';
import {
  hanging,
  type Mark,
  mark,
  markLines,
  type Paint,
  type Style,
  stamped,
  textWidth,
  titled,
} from './style.ts';

export function createFormatter(style: Style, lanes: LaneNames = createLaneNames()) {
  const agent = createAgentFormat(style);
  const words = createTextStream(() => textWidth(style));
  let group: string | undefined;
  let message: string | undefined;
  let known: Known = {
    ...{ command: 'run', maxIterations: 0, iteration: 0, purpose: 'work', trouble: undefined, lanes },
  };

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
  const act = (event: AgentAction, now: number): string[] => {
    const block = agent(event);
    return block.lines.length === 0 ? [] : [...rest(now), ...place(block, now)];
  };

  return {
    /** The words that wait, when nothing follows. */
    rest,
    /** Whole lines without line ends. Words that still stream in wait until their row is full. */
    lines(event: RunEvent, now: number): readonly string[] {
      if (event.type === 'agent') {
        const { event: action } = event;
        // The scm line shows the commit message; only trouble is news here.
        if (known.purpose === 'commit-message' && action.kind !== 'trouble') return [];
        if (action.kind === 'trouble' && !action.retrying) {
          if (action.trouble.message === known.trouble) return []; // some agents say it in two records
          known = { ...known, trouble: action.trouble.message };
        }
        return action.kind === 'text' ? speak(action, now) : act(action, now);
      }
      if (event.type === 'board-set') lanes.learn(event.lanes);
      const news = newsOf(event, now);
      const lines = news
        ? block(GROUPS[event.type] ?? 'between', style, ...news)
        : (lookUp(BLOCKS, event, style, known) ?? NOTHING);
      known = learn(known, event);
      return [...rest(now), ...place(lines, now)];
    },
  };
}

/** What the lines of an event need to know of those before it. */
interface Known {
  readonly command: LoopCommand;
  readonly maxIterations: number;
  readonly iteration: number;
  readonly purpose: 'work' | 'commit-message';
  /** The trouble of this turn that the reader has already seen. */
  readonly trouble: string | undefined;
  readonly lanes: LaneNames;
}

function learn(known: Known, event: RunEvent): Known {
  if (event.type === 'run-started' || event.type === 'run-resumed')
    return { ...known, command: event.command, maxIterations: event.maxIterations };
  if (event.type === 'iteration-started') return { ...known, iteration: event.iteration };
  if (event.type === 'agent-started') return { ...known, purpose: event.purpose, trouble: undefined };
  return event.type === 'agent-ended' ? { ...known, purpose: 'work' } : known;
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

/** The blocks of news, where they do not stand between the steps. */
const GROUPS: Partial<Record<RunEvent['type'], string>> = {
  mutated: 'check',
  denied: 'denied',
  scm: 'scm',
  restored: 'restored',
  ...sameFor('forge', ...FORGE),
};

const BLOCKS: Omit<EventTable<[style: Style, known: Known], Block>, NewsEvent['type']> = {
  'run-started': (event, style) => ({ group: 'run', lines: runLines(style, event) }),
  'run-resumed': (event, style) => ({ group: 'run', lines: runLines(style, event) }),
  'iteration-started': iterationBlock,
  'agent-started': startedBlock,
  agent: null,
  'agent-ended': endedBlock,
  'check-started': (event, style, { command }) =>
    block('check', style, 'tool', `${checkNoun(command)} "${phrase(event.command)}"`),
  'check-ended': ({ result }, style, { command }) => ({
    group: 'check',
    lines: checkLines(style, result, command),
  }),
  violation: (event, style) => block('check', style, 'error', violationPhrase(event.violation)),
  'stories-updated': (event, style) => block('stories', style, 'progress', storyWords(event)),
  'iteration-ended': verdictBlock,
  notice: noticeBlock,
  ...sameFor(boardBlock, ...BOARD),
  ...NO_NEWS,
  'run-ended': null, // the summary says it
};

function boardBlock(event: BoardEvent, style: Style, { lanes }: Known): Block {
  const line = boardWords(event, lanes);
  return line ? block('board', style, ...line) : NOTHING;
}

function block(group: string, style: Style, mark: Mark, words: string, color?: Paint): Block {
  return { group, lines: markLines(style, mark, words, color) };
}

function iterationBlock(event: Of<'iteration-started'>, style: Style, known: Known): Block {
  const { iteration, mode, story } = event;
  const again = iteration === known.iteration ? ' (again)' : '';
  const count = `Iteration ${iterationOf(iteration, known.maxIterations, ' of ')}${again}`;
  const purpose =
    mode === undefined ? [] : [[mode, ...(story === undefined ? [] : [story])].map(phrase).join(' ')];
  const title = [count, ...purpose].join(mark(style, 'dot'));
  return { group: `iteration ${iteration}${again}`, lines: [titled(style, title)] };
}

function startedBlock({ purpose, attempt }: Of<'agent-started'>, style: Style): Block {
  if (purpose !== 'work') return block('scm', style, 'note', 'Asking for a commit message', 'dim');
  return attempt === undefined ? NOTHING : block('between', style, 'retry', `Retrying (attempt ${attempt})`);
}

function storyWords({ moved, done, total }: Of<'stories-updated'>): string {
  const count = `${done} of ${total} done`;
  if (!moved) return count;
  const { id, passes: isDone, reviewStatus, reviewFeedback, reviewCount = 0, reviewCap } = moved;
  const reviews = reviewCount > 0 && reviewCap !== undefined ? ` (${reviewCount} of ${reviewCap})` : '';
  const feedback = reviewStatus === 'changes_requested' ? `: ${phrase(reviewFeedback)}` : '';
  return `${phrase(id)}: ${storyState({ reviewStatus, done: isDone })}${reviews}${feedback} · ${count}`;
}

/** Where there are stories, that there is more to do is no news. */
function verdictBlock({ verdict }: Of<'iteration-ended'>, style: Style, { command }: Known): Block {
  if (verdict.kind === 'stop' || (command === 'prd' && verdict.feedback.length === 0)) return NOTHING;
  return block('verdict', style, 'next', `Not done: ${whyContinue(verdict, checkNoun(command))}`);
}

function runLines(style: Style, event: Of<'run-started' | 'run-resumed'>): readonly string[] {
  const dot = mark(style, 'dot');
  const agent = event.model === undefined ? event.agent : `${event.agent} (${event.model})`;
  const limit = isLimit(event.maxIterations) ? [`up to ${counted(event.maxIterations, 'iteration')}`] : [];
  const title = [`ralph ${event.command}`, phrase(agent), ...limit].join(dot);
  const checks = event.checks.length === 0 ? 'none' : event.checks.map(phrase).join(dot);
  const noun = checkNoun(event.command);
  return [
    ...markLines(style, 'tool', title, 'bold'),
    ...(event.title === undefined ? [] : hanging(style, ' ', phrase(event.title))),
    ...hanging(style, ' ', `Run ${phrase(event.runId)} in ${phrase(event.cwd)}`, 'dim'),
    ...(event.command === 'prd' ? [] : hanging(style, ' ', `${noun}s: ${checks}`, 'dim')),
    ...(event.type === 'run-resumed' ? resumptionLines(style, event) : []),
    ...(event.sandbox === undefined ? [] : hanging(style, ' ', `Sandbox: ${phrase(event.sandbox)}`, 'dim')),
  ];
}

function endedBlock(event: Of<'agent-ended'>, style: Style, { trouble: shownTrouble }: Known): Block {
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
      return block(group, style, 'ok', `Complete ${spent}`);
    case 'failed': {
      const why = outcome.trouble.message === shownTrouble ? '' : `: ${troublePhrase(outcome.trouble)}`;
      return block(group, style, 'error', `Failed${why} ${spent}`);
    }
    case 'ended':
      return block(group, style, 'warning', `Ended by ${endedBy(outcome.by)} ${spent}`);
    default:
      return outcome satisfies never;
  }
}

function checkLines(style: Style, result: CheckResult, command: LoopCommand): readonly string[] {
  const words = `${checkNoun(command)} "${phrase(result.command)}" ${checkPhrase(result, result.duration)}`;
  if (result.passed) return markLines(style, result.flaked ? 'warning' : 'ok', words);
  const action = command === 'run' ? `, ${result.failAction}` : '';
  const roomy = {
    ...style,
    maxOutputLines: 4 * style.maxOutputLines,
    maxOutputChars: 4 * style.maxOutputChars,
  };
  const log = result.logFile === '' ? [] : hanging(style, '    ', `Log: ${phrase(result.logFile)}`, 'dim');
  return [
    ...markLines(style, 'error', `${words}${action}`),
    ...outputLines(roomy, failureLines(result.output, roomy.maxOutputLines).join('\n')),
    ...log,
  ];
}

function noticeBlock({ level, text }: Of<'notice'>, style: Style): Block {
  const words = harmless(beginning(text, MAX_TEXT)).trim();
  if (level === 'debug') return NOTHING;
  return level === 'info'
    ? block('notice', style, 'note', words)
    : block('notice', style, 'warning', words, 'yellow');
}

/** Invisible characters fill no row; past this many for a column they are passed on anyway. */
const UNITS_PER_COLUMN = 16;

/** The agent's words as they stream in, handed on as whole rows: a log never holds half a line, a screen never jumps. */
export function createTextStream(width: () => number) {
  let waiting = '';
  return {
    /** More words. Gives the rows that are full; the rest waits. */
    add(text: string): readonly string[] {
      waiting += text;
      if (!text.includes('\n') && waiting.length <= width()) return [];
      // Cleaned as a whole, so that an escape sequence which came in two pieces is still seen as one.
      const rows = wrap(harmless(waiting), width());
      const rest = rows.at(-1) ?? '';
      const isOverlong = rest.length > width() * UNITS_PER_COLUMN;
      waiting = isOverlong ? '' : rest;
      return (isOverlong ? rows : rows.slice(0, -1)).map(row => row.trimEnd());
    },
    /** What waited, when no more words follow. */
    end(): readonly string[] {
      const rows = waiting.trim() === '' ? [] : wrap(harmless(waiting).trimEnd(), width());
      waiting = '';
      return rows;
    },
  };
}
