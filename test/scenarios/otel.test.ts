/** The trace of a run, as a receiver on loopback gets it, and what agent and checks are given of it. */
import { expect, test } from 'vitest';
import { speaks } from '../rig/claude-stream.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { receiver } from '../rig/otlp.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const COMPLETE = '<promise>COMPLETE</promise>';
const LOOP = [
  'loop',
  'x',
  '--agent',
  'claude',
  '--check',
  'echo "$TRACEPARENT ${OTEL_SERVICE_NAME-none}" > seen',
];
const OUTER = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

test('one trace: agent and checks can join it, and get no other variable of OpenTelemetry', async () => {
  const { spans, url } = await receiver(503);
  const project = repo();
  const agent = await fakeAgent('claude', speaks(COMPLETE));
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'mine', TRACEPARENT: OUTER };
  const { code, stderr } = await ralph(LOOP, { cwd: project.dir, path: [agent.bin], env });
  expect(code, stderr).toBe(0);
  const named = (name: string) => spans.find(span => span.name === name);
  const [run, iteration, turn, check] = [
    'invoke_workflow ralph',
    'iteration',
    'invoke_agent claude',
    'check',
  ].map(named);
  expect([run?.parentSpanId, iteration?.parentSpanId, turn?.parentSpanId, check?.parentSpanId]).toEqual([
    'b'.repeat(16),
    run?.spanId,
    iteration?.spanId,
    iteration?.spanId,
  ]);
  const given = agent.calls[0]?.env ?? {};
  expect(given.TRACEPARENT).toBe(`00-${'a'.repeat(32)}-${turn?.spanId}-01`);
  expect(Object.keys(given).filter(name => name.startsWith('OTEL_'))).toEqual([]);
  expect(project.read('seen')).toBe(`00-${'a'.repeat(32)}-${check?.spanId}-01 none\n`);
});

test('by choice the variables are passed on, with the run among the attributes', async () => {
  const { spans, url } = await receiver();
  const project = repo();
  const agent = await fakeAgent('claude', speaks(COMPLETE));
  const env = { OTEL_RESOURCE_ATTRIBUTES: 'team=a', OTEL_SERVICE_NAME: 'mine' };
  const args = [...LOOP, '--otel', url, '--otel-env', '--json'];
  const { stdout } = await ralph(args, { cwd: project.dir, path: [agent.bin], env });
  const { runId } = JSON.parse(stdout);
  expect(agent.calls[0]?.env.OTEL_RESOURCE_ATTRIBUTES).toBe(`team=a,ralph.run=${runId}`);
  expect(project.read('seen')).toMatch(/ mine\n$/);
  expect(spans.length).toBeGreaterThan(3);
});

test('a collector that is away, or cannot be spoken to, is reported and changes nothing', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', speaks(COMPLETE));
  const run = (env: Readonly<Record<string, string>>) =>
    ralph(LOOP, { cwd: project.dir, path: [agent.bin], env });
  const away = await run({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  expect([away.code, away.stderr]).toEqual([
    0,
    expect.stringContaining('the trace could not be sent to 127.0.0.1:9'),
  ]);
  const spoken = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  const grpc = await run({ ...spoken, TRACEPARENT: OUTER });
  expect([grpc.code, grpc.stderr]).toEqual([0, expect.stringContaining('asks for grpc')]);
  expect(agent.calls.at(-1)?.env.TRACEPARENT).toBe(OUTER); // no span of ours is between
});
