/** A program's runs send their trace by the same switch as the commands. */
import { expect, test } from 'vitest';
import { defineAgent, runLoop } from '../../src/index.ts';
import { receiver } from '../rig/otlp.ts';
import { gitEnv, repo } from '../rig/repo.ts';
// What a call loads, before the time of the first test begins.
import '../../src/library/open.ts';

const agent = defineAgent('worker', async () => ({ text: '<promise>COMPLETE</promise>', toolCalls: 1 }));
const NAMES = new Set(['invoke_workflow ralph', 'iteration', 'invoke_agent worker', 'check']);

test.each(['variable', 'setting'])('one trace by the %s, sent when the call returns', async by => {
  const { spans, url } = await receiver();
  const { dir, read } = repo();
  const env = { ...gitEnv(), ...(by === 'variable' && { OTEL_EXPORTER_OTLP_ENDPOINT: url }) };
  const config = { task: 'x', checks: ['echo "$TRACEPARENT" > seen'] };
  const settings = by === 'setting' ? { otel: url } : {};
  await runLoop({ ...config, settings }, { agent, cwd: dir, env });
  expect(new Set(spans.map(({ name }) => name))).toEqual(NAMES);
  const checks = spans.filter(({ name }) => name === 'check');
  expect(checks.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01\n`)).toContain(read('seen'));
});

test('without either nothing is sent, and a collector that is away changes nothing but a warning', async () => {
  const { spans, url } = await receiver(500, 500, 500);
  const { dir } = repo();
  const warned = new Promise<Error>(resolve => process.once('warning', resolve));
  const run = (otel?: string) =>
    runLoop(
      { task: 'x', checks: ['true'], settings: otel ? { otel } : {} },
      { agent, cwd: dir, env: gitEnv() },
    );
  expect(await run()).toMatchObject({ success: true });
  expect(await run(url)).toMatchObject({ success: true });
  expect(spans).toEqual([]);
  expect(await warned).toMatchObject({
    name: 'RalphWarning',
    message: expect.stringContaining('the trace could not be sent to 127.0.0.1:'),
  });
});
