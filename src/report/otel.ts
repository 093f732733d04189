/** Sends the trace of a run as OTLP over HTTP, in JSON. A run never waits for it, but for a moment at its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedEvent } from '../domain/run/event.ts';
import { type OtlpTarget, otlpTarget } from '../platform/otlp-target.ts';
import { postJson } from './post.ts';
import { type Attributes, createSpans, SEMANTIC_CONVENTIONS, type Span } from './spans.ts';

export interface OtelOptions {
  readonly target: OtlpTarget;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Once: one sentence. */
  readonly failed: (text: string) => void;
  readonly pause?: (ms: number) => Promise<unknown>;
}

/** Sends to where the setting or the variables say; undefined: nowhere. */
export function openOtel(
  asked: string | undefined,
  options: Pick<OtelOptions, 'env' | 'version' | 'failed'>,
) {
  const target = otlpTarget(options.env, asked);
  if (target && 'refused' in target) options.failed(target.refused);
  return !target || 'refused' in target ? undefined : createOtel({ ...options, target });
}

/** More are dropped: a collector that is away for days must not fill the memory. */
const MOST_WAITING = 10_000;

export function createOtel(options: OtelOptions) {
  const read = createSpans(options.env);
  let waiting: Span[] = [];
  let sending = Promise.resolve();
  let isBroken = false;
  const flush = () => {
    if (waiting.length === 0) return;
    const spans = waiting;
    waiting = [];
    sending = sending.then(async () => {
      const { target, pause } = options;
      const post = {
        ...target,
        tries: isBroken ? ONCE : TRIES,
        again: (status: number) => AGAIN.has(status),
      };
      const why = await postJson(JSON.stringify(requestOf(spans, options)), { ...post, pause });
      if (why !== undefined && !isBroken)
        options.failed(`the trace could not be sent to ${hostOf(options)}: ${why}`);
      isBroken ||= why !== undefined;
    });
  };
  return {
    emit(event: RecordedEvent): void {
      waiting.push(...read(event).slice(0, MOST_WAITING - waiting.length));
      if (event.type === 'iteration-ended' || event.type === 'run-ended') flush();
    },
    /** All of it was sent, or failed, or took too long. Never rejects. */
    async allSent(): Promise<void> {
      flush();
      await Promise.race([sending, sleep(options.target.timeout, undefined, { ref: false })]);
    },
  };
}

/** The rest of the address may hold a secret. */
const hostOf = ({ target }: OtelOptions) => new URL(target.url).host;

/** Milliseconds before each try. */
const TRIES = [0, 500, 2_000];
/** It has failed before. */
const ONCE = [0];
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

function requestOf(spans: readonly Span[], { target, version }: OtelOptions) {
  const attributes = attributesOf({ 'service.version': version, ...target.resource });
  const scope = { name: 'ralph', version };
  return {
    resourceSpans: [
      {
        resource: { attributes, droppedAttributesCount: 0 },
        scopeSpans: [{ scope, spans: spans.map(spanOf), schemaUrl: SEMANTIC_CONVENTIONS }],
      },
    ],
  };
}

/** Of a span in this process; and of one whose parent is in another. */
const INTERNAL = 1;
const FAILED = 2;
const SAMPLED = 0x101;

function spanOf({ trace, span, parent, name, start, end, attributes, error }: Span) {
  return {
    traceId: trace,
    spanId: span,
    ...(parent !== undefined && { parentSpanId: parent }),
    name,
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    attributes: attributesOf({ ...attributes, 'error.type': error }),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    status: error === undefined ? { code: 0 } : { code: FAILED, message: error },
    links: [],
    droppedLinksCount: 0,
    flags: SAMPLED,
  };
}

/** More digits than a number has. */
function nanoseconds(milliseconds: number): string {
  return `${BigInt(Math.round(milliseconds * 1000)) * 1000n}`;
}

function attributesOf(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: value } : { doubleValue: value };
}
