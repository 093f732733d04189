/** Shows a run on a terminal: lines that stay, a live line below them, the summary at the end. */
import type { RunEvent } from '../domain/run/event.ts';
import type { RunState } from '../domain/run/state.ts';
import { wrapAround } from '../platform/text.ts';
import type { LaneNames } from './board-words.ts';
import { createFormatter } from './format.ts';
import { askingLine, type KeysMode } from './keys.ts';
import { isOn, live, liveLine, NO_RUN } from './live-line.ts';
import type { OpenQuestion } from './run-view.ts';
import { createLiveScreen, createPlainScreen, type LiveScreenOptions } from './screen.ts';
import { paint, type Style } from './style.ts';
import { asText, labelOf, type RunLabel, summaryLines } from './summary.ts';

/** `columns` is asked for at each line; without a terminal `style.width` counts. */
export interface HumanReporterOptions extends Pick<LiveScreenOptions, 'write' | 'columns' | 'clock'> {
  readonly isTTY: boolean;
  readonly style: Style;
  /** Only the final block. */
  readonly quiet?: boolean;
  readonly streamAgentOutput: boolean;
  /** More lines for an event, `createVerbose` as a rule; they are printed before its own. */
  readonly verbose?: (event: RunEvent) => readonly string[];
  readonly later?: LiveScreenOptions['later'];
  /** undefined: no keys are read. */
  readonly keys?: () => KeysMode | undefined;
  /** What a story asks, and nobody has answered. */
  readonly asks?: () => OpenQuestion | undefined;
  /** Whether a command without an id means this run. */
  readonly isLatest?: (runId: string) => boolean;
  /** What they are called, also in lines that are not of the run itself. */
  readonly lanes?: LaneNames;
  /** What the final block calls us in a command, so that it can be pasted where the user is. null: it shows none. */
  readonly us?: string | null;
}

export function createHumanReporter(options: HumanReporterOptions) {
  const { write, isTTY, columns, clock, streamAgentOutput, verbose } = options;
  const {
    quiet = false,
    later = unreferenced,
    keys = () => undefined,
    asks = () => undefined,
    us = 'ralph',
    isLatest = () => false,
  } = options;
  const style = isTTY ? following(columns, options.style) : options.style;
  const formatter = createFormatter(style, options.lanes);
  let state = NO_RUN;
  const line = () => {
    const mode = keys();
    const asking = mode && isOn(state) ? askingLine(mode, style.width - 1) : undefined;
    return asking ?? liveLine(state, style, clock(), mode !== undefined, asks());
  };
  const isLive = isTTY && !quiet;
  const screen = isLive ? createLiveScreen({ write, columns, clock, line, later }) : createPlainScreen(write);

  const linesOf = (event: RunEvent, now: number): readonly string[] => {
    const extra = verbose?.(event).map(text => paint(style, 'dim', text)) ?? [];
    const before = extra.length > 0 ? formatter.rest(now) : [];
    // The live line has the check that runs; its result is the one line that stays.
    const isShownLive = isLive && event.type === 'check-started';
    // Trouble is news even to those who do not want to see what the agent does.
    const isShown = streamAgentOutput || event.type !== 'agent' || event.event.kind === 'trouble';
    return [...before, ...extra, ...(isShown && !isShownLive ? formatter.lines(event, now) : [])];
  };

  return {
    emit(event: RunEvent, past?: RunState) {
      const now = clock();
      state = live(state, event, now, past);
      const lines = quiet ? [] : linesOf(event, now);
      if (event.type !== 'run-ended') return screen.update(lines);
      screen.close();
      const label = { ...labelOf(state.run), isLatest: isLatest(event.result.runId) };
      screen.update([...lines, ...(quiet ? [] : ['']), ...painted(style, event, label, us)]);
    },
    /** The live line has changed. */
    redraw: () => screen.update([]),
    /** Leaves the terminal as it was. May be called twice. */
    close(): void {
      screen.close();
      screen.update(quiet ? [] : formatter.rest(clock()));
    },
  };
}

/** The width is read at each use, so that the lines follow a terminal that changes its size. Some have no size: 0 columns. */
function following(columns: () => number, style: Style): Style {
  return {
    ...style,
    get width() {
      return columns() || style.width;
    },
  };
}

function unreferenced(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
}

function painted(
  style: Style,
  { result }: RunEvent & { type: 'run-ended' },
  label: RunLabel,
  us: string | null,
): readonly string[] {
  const lines = asText(summaryLines(result, label)).flatMap(line => {
    if (us !== null) return line.replaceAll('`ralph ', `\`${us} `);
    return line.includes(': `ralph ') ? [] : line;
  });
  const [outcome = '', ...rest] = lines.flatMap(line => wrapAround(line, style.width));
  return [paint(style, 'bold', paint(style, result.success ? 'green' : 'red', outcome)), ...rest];
}
