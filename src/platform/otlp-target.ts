/** Where traces go: by the setting, else by the variables that OpenTelemetry defines for it. */
import { decodeUri, type Env } from '../domain/text/secret-values.ts';

export interface OtlpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one request. */
  readonly timeout: number;
  /** What is said of the program that sends them. */
  readonly resource: Readonly<Record<string, string>>;
}

/** undefined: nowhere. `refused`: they were asked for, and cannot be sent. */
export function otlpTarget(env: Env, asked?: string): OtlpTarget | { readonly refused: string } | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined;
  const exporter = env.OTEL_TRACES_EXPORTER;
  if (asked === undefined && exporter && exporter !== 'otlp') return undefined;
  const url = asked
    ? below(asked)
    : env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || below(env.OTEL_EXPORTER_OTLP_ENDPOINT);
  if (!url) return undefined;
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol === 'grpc')
    return { refused: 'traces are sent as OTLP over HTTP, and OTEL_EXPORTER_OTLP_PROTOCOL asks for grpc' };
  if (!/^https?:/.test(url) || !URL.canParse(url))
    return { refused: 'the address for traces is no http address' };
  const timeout = Number(env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT || env.OTEL_EXPORTER_OTLP_TIMEOUT);
  return {
    url,
    headers: {
      ...pairs(env.OTEL_EXPORTER_OTLP_HEADERS),
      ...pairs(env.OTEL_EXPORTER_OTLP_TRACES_HEADERS),
    },
    timeout: timeout > 0 ? timeout : 10_000,
    resource: {
      'service.name': 'ralph',
      ...pairs(env.OTEL_RESOURCE_ATTRIBUTES),
      ...(env.OTEL_SERVICE_NAME && { 'service.name': env.OTEL_SERVICE_NAME }),
    },
  };
}

/** The variables of OpenTelemetry, with the run among the attributes, for who is started in it. */
export function otelEnv(env: Env, runId: string): Env {
  const attributes = [env.OTEL_RESOURCE_ATTRIBUTES, `ralph.run=${runId}`].filter(Boolean).join(',');
  return { ...env, OTEL_RESOURCE_ATTRIBUTES: attributes };
}

function below(endpoint: string | undefined): string | undefined {
  return (
    endpoint && (/\/v1\/traces$/.test(endpoint) ? endpoint : `${endpoint.replace(/\/+$/, '')}/v1/traces`)
  );
}

/** `a=1,b=two%20words`; what is not so is left out. */
function pairs(list = ''): Readonly<Record<string, string>> {
  const entries = list.split(',').flatMap(pair => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decodeUri(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(entries);
}
