/** Wires the people and programs that read a run's events. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { NotifySettings, Settings } from '../config/settings-shape.ts';
import type { RecordedEvent } from '../domain/run/event.ts';
import type { RunState } from '../domain/run/state.ts';
import { openQuestions } from '../domain/stories/questions.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import type { SetUp } from '../opening/set-up.ts';
import { systemClock } from '../platform/clock.ts';
import { errorWords } from '../platform/error-words.ts';
import { VERSION } from '../platform/version.ts';
import { childWords, createLaneNames } from '../report/board-words.ts';
import { createHumanReporter, type HumanReporterOptions } from '../report/human.ts';
import type { KeysMode } from '../report/keys.ts';
import { createNotify } from '../report/notify.ts';
import { openOtel } from '../report/otel.ts';
import type { OpenQuestion } from '../report/run-view.ts';
import { DEFAULT_STYLE, type Style } from '../report/style.ts';
import { createVerbose } from '../report/verbose.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { findRun } from '../store/run-file.ts';
import { type Call, refuse } from './command.ts';
import type { Output } from './output.ts';

export type Reporters = ReturnType<typeof createReporters>;

export function createReporters(call: Call, { settings, project }: SetUp, keys: () => KeysMode | undefined) {
  const { output } = call;
  const events = openEvents(call); // before anything else is written
  const now = () => systemClock.now();
  const verbose = output.verbose ? createVerbose(now) : undefined;
  const questions = createQuestions();
  const lanes = createLaneNames();
  const human = humanOf(call, settings, project, {
    ...{ keys, lanes, asks: questions.first },
    // On a terminal the lines must make room for the live line; elsewhere they go where seed 001 wants them.
    ...(verbose && output.humanIsTTY && { verbose }),
  });
  const notify = notifier(call, settings, project.root);
  const failed = (text: string) => output.error(`ralph: ${text}\n`);
  const otel = openOtel(settings.otel, { env: call.env, version: VERSION, failed });
  const working = new Set<string>();
  let isClosed = false;

  return {
    emit(event: RecordedEvent, past: RunState): void {
      questions.own(past);
      if (event.type === 'run-resumed') lanes.learn(past.board?.lanes ?? []);
      events?.write(event);
      if (verbose && !output.humanIsTTY) for (const line of verbose(event)) output.error(`${line}\n`);
      human.emit(event, past);
      notify.emit(event);
      otel?.emit(event);
    },
    /** What happens in a run that belongs to this one. */
    emitOf(lane: string, event: RecordedEvent): void {
      events?.write(event);
      otel?.emit(event);
      questions.lane(event);
      if (event.type === 'iteration-started') working.add(event.run);
      // What every run says before it begins is said once, by the whole.
      const words = working.has(event.run) ? childWords(event) : undefined;
      if (!words) return;
      const [level, text] = words;
      human.emit({ type: 'notice', level, text: `${lanes.of(lane)}: ${text}` });
    },
    /** A line for the user alone. */
    say: (text: string) => human.emit({ type: 'notice', level: 'info', text }),
    redraw: human.redraw,
    /** What a story asks, and nobody has answered. */
    asks: questions.first,
    /** Every notification was sent, or failed, and so was the trace. */
    async allSent(): Promise<void> {
      await Promise.all([notify.allSent(), otel?.allSent()]);
    },
    close(): void {
      if (isClosed) return;
      isClosed = true;
      human.close();
      events?.close();
    },
  };
}

/** Those of the run itself, and those of its lanes. */
function createQuestions() {
  const ofLanes = new Map<string, OpenQuestion>();
  let ofRun: readonly OpenQuestion[] = [];
  return {
    own(past: RunState): void {
      ofRun = openQuestions(past.questions);
    },
    lane(event: RecordedEvent): void {
      if (event.type === 'question-asked') ofLanes.set(event.run, event);
      else if (event.type === 'question-answered' || event.type === 'run-ended') ofLanes.delete(event.run);
    },
    first: (): OpenQuestion | undefined => ofRun[0] ?? [...ofLanes.values()][0],
  };
}

function humanOf(
  { output }: Call,
  settings: Settings,
  project: ProjectPaths,
  more: Pick<HumanReporterOptions, 'keys' | 'asks' | 'lanes' | 'verbose'>,
) {
  return createHumanReporter({
    ...more,
    write: text => output.draw(text),
    isTTY: output.humanIsTTY,
    columns: output.columns,
    us: output.us,
    isLatest: id => findRun(project) === id,
    style: {
      ...styleOf(output),
      timestamps: settings.showTimestamp,
      maxOutputLines: settings.maxOutputLines,
      maxOutputChars: settings.maxOutputChars,
    },
    clock: () => systemClock.now(),
    quiet: output.quiet,
    streamAgentOutput: settings.streamAgentOutput,
  });
}

function notifier({ output, env }: Call, { notify }: Settings, cwd: string) {
  const asked: NotifySettings = typeof notify === 'string' ? { command: notify } : (notify ?? {});
  const { command, webhook, bell = true, on = [] } = asked;
  return createNotify({
    on,
    cwd,
    env,
    redact: createRedactor(env),
    failed: text => output.error(`ralph: ${text}\n`),
    ...(command !== undefined && { command }),
    ...(webhook !== undefined && { webhook }),
    ...(bell && output.humanIsTTY && { terminal: text => output.draw(text) }),
  });
}

export function styleOf(output: Output): Style {
  return { ...DEFAULT_STYLE, color: output.color, emoji: output.emoji, width: output.columns() };
}

/** Where `--events` go. Throws when that cannot be written. */
export function openEvents({ output, cwd }: Call) {
  const { events } = output;
  if (events === undefined) return undefined;
  if (events === '-') return { write: createJsonWriter(output.answer), close() {} };
  let fd: number;
  try {
    fd = openSync(resolve(cwd, events), 'a', 0o600);
  } catch (error) {
    refuse(`--events ${events}`, `it cannot be written: ${errorWords(error)}`);
  }
  let open = true;
  const append = (text: string) => {
    try {
      if (open) writeFileSync(fd, text);
    } catch (error) {
      open = false; // nothing but this copy of the events is lost
      output.error(`ralph: --events ${events}: it cannot be written any more: ${errorWords(error)}\n`);
    }
  };
  return { write: createJsonWriter(append), close: () => closeSync(fd) };
}

/** `--events`: one JSON event a line, each with its time. */
export function createJsonWriter(write: (line: string) => void): (event: RecordedEvent) => void {
  return ({ time, run, iteration, ...event }) => {
    const at = new Date(time).toISOString();
    write(`${JSON.stringify({ at, run, iteration, ...event })}\n`);
  };
}
