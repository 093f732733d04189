/** Traces for those who watch many runs. */
import { webAddress, yesNo } from '../kinds.ts';
import { both, type Setting } from '../setting.ts';

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
