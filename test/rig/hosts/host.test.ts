import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { HOST_NAMES, hostCommand, pinnedVersion } from './host.ts';
import { makePlace } from './place.ts';
import { runHost } from './run.ts';
import { HOSTS } from './table.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('every pinned agent is in the table under its own name', () => {
  expect(HOST_NAMES.map(name => HOSTS[name].name)).toEqual(Object.keys(HOSTS));
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
