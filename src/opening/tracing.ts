/** What agent and checks of a run get of OpenTelemetry: the trace to join, and the variables only where the user wants that. */
import type { Settings } from '../config/settings-shape.ts';
import { otelEnv, otlpTarget } from '../platform/otlp-target.ts';
import { runTrace } from '../platform/trace.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function tracingOf(
  { otel, otelEnv: passesOn }: Pick<Settings, 'otel' | 'otelEnv'>,
  env: Env,
  runId: string,
): { readonly env: Env; readonly trace?: string } {
  const target = otlpTarget(env, otel);
  if (!target || 'refused' in target) return { env };
  const trace = runTrace(runId, env);
  if (passesOn) return { env: otelEnv(env, runId), trace };
  // Several agents begin to send traces as soon as they see one of these.
  const others = Object.entries(env).filter(([name]) => !name.startsWith('OTEL_'));
  return { env: Object.fromEntries(others), trace };
}
