/** The trace of a run: its spans, and their shape beside what the official exporter sends (test/fixtures/otlp). */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import type { RecordedEvent, RunEvent } from '../../src/domain/run/event.ts';
import { otlpTarget } from '../../src/platform/otlp-target.ts';
import { childTrace, readTrace, runTrace } from '../../src/platform/trace.ts';
import { createOtel } from '../../src/report/otel.ts';
import { createSpans, type Span } from '../../src/report/spans.ts';

const USAGE = {
  tokens: { input: 10, output: 5, cacheRead: 3, cacheWrite: 1 },
  cost: 0.25,
  costSource: 'agent',
} as const;
const TROUBLE = { class: 'rate-limit', message: 'slow down' } as const;
const HEAD = {
  runId: 'r1',
  command: 'loop',
  agent: 'claude',
  maxIterations: 3,
  checks: ['true'],
  cwd: '/',
} as const;
const TURN = {
  type: 'agent-ended',
  purpose: 'work',
  duration: 1,
  toolCalls: 2,
  toolErrors: 0,
  usage: USAGE,
} as const;
const START = {
  type: 'agent-started',
  purpose: 'work',
  adapter: 'claude',
  command: 'claude',
  promptChars: 1,
  promptHead: 'x',
} as const;
const CHECK = {
  ...{
    index: 4,
    command: 'npm test',
    failAction: 'APPEND' as const,
    passed: false,
    exitCode: 1,
    timedOut: false,
  },
  ...{ duration: 1, output: '', outputCut: false, logFile: 'x' },
} as const;

const STORY: readonly (readonly [
  number,
  RunEvent | { readonly type: 'run-ended'; readonly result: unknown },
])[] = [
  [1_000, { type: 'run-started', ...HEAD }],
  [1_001, { type: 'iteration-started', iteration: 1 }],
  [1_002, START],
  [1_003, { type: 'agent', event: { kind: 'session', sessionId: 's', model: 'opus' } }],
  [1_004, { ...TURN, outcome: { kind: 'failed', trouble: TROUBLE } }],
  [1_005, { type: 'waiting', agent: 'claude', trouble: TROUBLE, until: 2_000 }],
  [2_000, { ...START, attempt: 2 }],
  [2_001, { ...TURN, outcome: { kind: 'completed' } }],
  [2_002, { type: 'check-started', index: 0, command: 'npm test' }],
  [2_003, { type: 'check-ended', result: CHECK }],
  [2_004, { type: 'check-started', index: 1, command: 'cut off' }],
  [
    2_005,
    {
      type: 'run-ended',
      result: { stopReason: 'interrupted', success: false, iterations: [{}], totalCost: 0.5 },
    },
  ],
];
const EVENTS = STORY.map(([time, event]) => ({ ...event, time, run: 'r1', iteration: 1 }) as RecordedEvent);

const spansOf = (env: Readonly<Record<string, string>> = {}) => EVENTS.flatMap(createSpans(env));

test('a run, its iterations, and in these turns, waits and checks', () => {
  const spans = spansOf();
  const byId = new Map(spans.map(span => [span.span, span]));
  const line = ({ name, start, end, error, parent }: Span) =>
    `${name} ${start}-${end} in ${byId.get(parent ?? '')?.name ?? 'nothing'}${error === undefined ? '' : `: ${error}`}`;
  expect(spans.map(line)).toEqual([
    'invoke_agent claude 1002-1004 in iteration: rate-limit',
    'wait 1005-2000 in iteration',
    'invoke_agent claude 2000-2001 in iteration',
    'check 2002-2003 in iteration: failed',
    'check 2004-2005 in iteration',
    'iteration 1001-2005 in invoke_workflow ralph',
    'invoke_workflow ralph 1000-2005 in nothing: interrupted',
  ]);
  expect(new Set(spans.map(({ trace }) => trace)).size).toBe(1);
  expect(byId.size).toBe(spans.length);
  expect(spans[2]?.attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'claude',
    'gen_ai.request.model': 'opus',
    'gen_ai.conversation.id': undefined,
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.usage.cache_creation.input_tokens': 1,
    'ralph.cost_usd': 0.25,
    'ralph.cost_source': 'agent',
    'ralph.tool_calls': 2,
    'ralph.purpose': 'work',
    'ralph.attempt': 2,
  });
});

test('it is a part of the trace that Ralph was started in, and else its own, whoever resumes it', () => {
  const outer = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const root = spansOf({ TRACEPARENT: outer }).at(-1);
  expect([root?.trace, root?.parent]).toEqual(['a'.repeat(32), 'b'.repeat(16)]);
  expect(readTrace(runTrace('r1', {}))?.trace).toBe(spansOf().at(-1)?.trace);
  for (const bad of [
    '',
    'x',
    `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
    `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`,
  ])
    expect(readTrace(runTrace('r1', { TRACEPARENT: bad }))).toEqual(readTrace(runTrace('r1', {})));
  expect(childTrace(outer, 'x')).toMatch(/^00-a{32}-[0-9a-f]{16}-01$/);
});

test('what is sent has the shape of what the official exporter sends', async () => {
  const sent = await exported();
  const official = JSON.parse(
    readFileSync(new URL('../fixtures/otlp/official.json', import.meta.url), 'utf8'),
  )[0];
  expect([sent.path, sent.type]).toEqual([official.path, official.contentType]);
  const shape = shapeOf(official.body);
  expect([...shapeOf(sent.body)].filter(each => !shape.has(each))).toEqual([
    '.resourceSpans[].scopeSpans[].schemaUrl string',
  ]);
  const missing = [...shape].filter(each => !shapeOf(sent.body).has(each));
  expect(missing.filter(each => !each.includes('arrayValue'))).toEqual([]);
  const times = JSON.stringify(sent.body).match(/UnixNano":"(\d+)"/g);
  expect(times?.[0]).toBe('UnixNano":"1002000000"');
});

/** Every path and the type of what is there; what depends on the values is seen as one. */
function shapeOf(value: unknown, at = ''): ReadonlySet<string> {
  if (Array.isArray(value)) return new Set(value.flatMap(each => [...shapeOf(each, `${at}[]`)]));
  if (typeof value !== 'object' || value === null) return new Set([`${at} ${typeof value}`]);
  return new Set(Object.entries(value).flatMap(([key, each]) => [...shapeOf(each, `${at}.${key}`)]));
}

async function exported() {
  const got: { path: string | undefined; type: string | undefined; body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    got.push({ path: request.url, type: request.headers['content-type'], body });
    response.end('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  const target = otlpTarget({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  if (!target || 'refused' in target) throw new Error('no target');
  const otel = createOtel({ target, env: {}, version: '1', failed: text => expect.fail(text) });
  for (const event of EVENTS) otel.emit(event);
  await otel.allSent();
  await new Promise(resolve => server.close(resolve));
  return got[0] ?? expect.fail('nothing came');
}

test.each([
  [{}, undefined, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, undefined, 'http://c:4318/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/x' }, undefined, 'http://c/x'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, 'https://mine/v1/traces', 'https://mine/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'true' }, undefined, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' }, undefined, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, undefined, 'refused'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4317' }, undefined, 'refused'],
])('where they go: %j and %s', (env, asked, url) => {
  const target = otlpTarget(env, asked);
  expect(target && ('refused' in target ? 'refused' : target.url)).toBe(url);
});

test('headers are decoded, and the name of the service wins over the attributes', () => {
  const target = otlpTarget({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, broken,a=b=c',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,team=a%2Cb',
    OTEL_SERVICE_NAME: 'mine',
  });
  expect(target).toMatchObject({
    headers: { authorization: 'Bearer x', a: 'b=c' },
    resource: { 'service.name': 'mine', team: 'a,b' },
  });
});
