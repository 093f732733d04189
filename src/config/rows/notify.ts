/** Who hears of a run beside the terminal: notifications, and traces. */
import { OCCASIONS } from '../../domain/run/notification.ts';
import { choice, either, list, object, text, webAddress, yesNo } from '../kinds.ts';
import { both, type Setting } from '../setting.ts';

const notify = object({
  command: {
    kind: text(),
    help: 'A shell command; the notification is JSON on its stdin, and in RALPH_OCCASION, RALPH_RUN_ID, RALPH_TITLE, RALPH_STOP_REASON, RALPH_MESSAGE.',
  },
  webhook: { kind: webAddress, help: 'An address that gets the same JSON by POST; tried three times.' },
  bell: {
    kind: yesNo,
    help: 'Ring the bell of the terminal, with a desktop notification if the terminal supports OSC 9. Default true.',
  },
  on: { kind: list(choice(OCCASIONS)), help: 'Only on these occasions. Default: all.' },
});

export const NOTIFY = [
  {
    key: 'notify',
    kind: either(text(), notify),
    flag: both('--notify <cmd>'),
    help: 'A command to run when the run stops, waits for a limit, asks a question or gets stuck; or an object with more kinds of notification.',
  },
] as const satisfies readonly Setting[];

/** Traces for those who watch many runs. */
export const OTEL = [
  {
    key: 'otel',
    kind: webAddress,
    flag: both('--otel <url>'),
    help: 'Send the trace of the run to this address, as OTLP over HTTP. Default: OTEL_EXPORTER_OTLP_ENDPOINT; without either, nowhere.',
  },
  {
    key: 'otelEnv',
    kind: yesNo,
    default: false,
    flag: both('--otel-env'),
    help: 'While a trace is sent: pass OTEL_* variables on to agent and checks, which then may send traces of their own. TRACEPARENT is passed on in any case.',
  },
] as const satisfies readonly Setting[];
