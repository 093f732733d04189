import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { ADAPTERS, findAdapter } from '../../../src/agents/registry.ts';
import { expectPageFrame } from '../../hosts/page.ts';
import { expectFrame } from '../../hosts/terminal-page.ts';
import { HOST_NAMES, hostCommand, pinnedVersion } from './host.ts';
import { normaliseStream } from './normalise.ts';
import { makePlace } from './place.ts';
import { runHost } from './run.ts';
import { HOSTS } from './table.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('every pinned agent is in the table under its own name', () => {
  expect(HOST_NAMES.map(name => HOSTS[name].name)).toEqual(Object.keys(HOSTS));
});

test('the tested versions that ralph doctor knows are the pinned ones', () => {
  const adapted = HOST_NAMES.filter(name => findAdapter(name).name === name);
  const tested = ADAPTERS.flatMap(({ name, tested }) => (tested === undefined ? [] : [[name, tested]]));
  expect(Object.fromEntries(tested)).toEqual(
    Object.fromEntries(adapted.map(name => [name, pinnedVersion(name)])),
  );
});

test('the page of agents has the versions, the ways to install and the traps of the tables', () => {
  expectPageFrame();
});

test('the table of terminals has a row for every case and a cell for every host', () => {
  expectFrame();
});

test('a recording is the same whenever it was made', () => {
  const line = (id: string, at: string, ms: number) =>
    `${JSON.stringify({ id, at, tools: [ms > 1 ? 'b' : 'a', ms > 1 ? 'a' : 'b'], duration_ms: ms, tokens: 7 })}\nmore ${id}\n`;
  const first = line('3f2eb2e3-9aea-4a5e-8b0b-267d78d072dd', '2026-03-04T05:06:07.890Z', 1);
  const later = line('19785eb5-48b7-4173-8094-1919ffd8b566', '2027-03-04T05:06:07.890Z', 2);
  const id = '00000000-0000-4000-8000-000000000001';
  const record = { id, at: '2026-01-01T00:00:00.000Z', tools: ['a', 'b'], duration_ms: 1, tokens: 7 };
  const expected = `${JSON.stringify(record)}\nmore ${id}\n`;
  expect([first, later].map(raw => normaliseStream(raw, { places: {} }))).toEqual([expected, expected]);
});

test('an agent that is not installed is an error that says what to run', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'ralph-hosts-'));
  onTestFinished(() => rm(empty, { recursive: true }));
  vi.stubEnv('RALPH_HOSTS_DIR', empty);
  expect(() => hostCommand('codex')).toThrow(
    `codex ${pinnedVersion('codex')} is not installed: run "npm run hosts:install"`,
  );
});

test('a run sees nothing of the machine but PATH', async () => {
  for (const name of [
    'CLAUDE_CONFIG_DIR',
    'ANTHROPIC_API_KEY',
    'OPENAI_API_KEY',
    'GEMINI_API_KEY',
    'COPILOT_MODEL',
  ]) {
    vi.stubEnv(name, 'leaked');
  }
  const place = await makePlace(process.env.PATH ?? '');
  onTestFinished(() => place.remove());
  const argv = [process.execPath, '-e', 'console.log(JSON.stringify(process.env))'];
  const { events } = await runHost(argv, { place, env: { EXTRA: 'given' }, stdin: '' });
  expect(events).toEqual([
    {
      PATH: process.env.PATH,
      HOME: place.home,
      TMPDIR: expect.stringMatching(/tmp$/),
      LANG: 'C.UTF-8',
      EXTRA: 'given',
    },
  ]);
});

test('an aborted run is killed with its children', async () => {
  const place = await makePlace(process.env.PATH ?? '');
  onTestFinished(() => place.remove());
  const ready = join(place.home, 'ready');
  execFileSync('mkfifo', [ready]);
  const stop = new AbortController();
  const script = `sh -c 'echo > ${ready}; exec sleep 1000' & wait`;
  const run = runHost(['sh', '-c', script], { place, env: {}, stdin: '', signal: stop.signal });
  await readFile(ready); // opens when the grandchild writes
  stop.abort();
  // Stdout ends only when every process that holds it has ended.
  expect((await run).signal).toBe('SIGKILL');
});
