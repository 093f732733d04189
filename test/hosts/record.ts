/**
 * `npm run hosts:record`: the recordings in test/streams that can be made anew, from the real CLIs, called as Ralph
 * calls them. Afterwards `UPDATE_STREAMS=1 npx vitest run test/agents` writes what they are read as.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'vitest';
import { findAdapter } from '../../src/agents/registry.ts';
import { HOST_NAMES, type HostName, hostCommand, hostFolder } from '../rig/hosts/host.ts';
import { normaliseReport, normaliseStream } from '../rig/hosts/normalise.ts';
import { runHost } from '../rig/hosts/run.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { HELPER_ASKED } from './subagent.ts';

const STREAMS = join(import.meta.dirname, '../streams');
const AGENTS = HOST_NAMES.filter(name => findAdapter(name).name === name);

for (const [scenario, { not = [] }] of Object.entries(SCENARIOS)) {
  for (const name of AGENTS.filter(each => !not.includes(each))) {
    test.concurrent(`${name}: ${scenario}`, context => record(name, scenario, context));
  }
}

async function record(
  name: HostName,
  scenario: string,
  { signal, expect, onTestFinished }: TestContext,
): Promise<void> {
  const wanted = SCENARIOS[scenario] as Scenario;
  const session = await hostSession(name, ({ repo }) => wanted.script(name, repo));
  onTestFinished(() => session.close());
  session.server.release(HELPER_ASKED);
  const { env = {}, flags = session.flags } = wanted.set?.(session) ?? {};
  const patient = HOSTS[name].patient?.(session.server.url);
  const called = { flags: patient?.flags ?? flags, env: { ...patient?.env, ...env } };
  const { stdout, report } = await callAsRalph(session, { ...called, signal });
  expect(session.server.problems).toEqual([]);
  const file = join(STREAMS, name, wanted.names?.[name] ?? scenario);
  const around = { places: placesOf(session), unsteady: HOSTS[name].unsteady };
  writeFileSync(`${file}.jsonl`, normaliseStream(stdout, around));
  if (report !== undefined) writeFileSync(`${file}.report.json`, normaliseReport(report, around));
}

interface Called {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** With the adapter's own words; the file that an agent reports into is kept. */
async function callAsRalph({ host, place, env }: HostSession, called: Called) {
  const invocation = findAdapter(host.name).invocation({
    command: hostCommand(host.name),
    flags: called.flags,
    mode: 'stream',
    permissions: 'skip',
    scratch: join(place.home, 'scratch'),
  });
  const { stdout } = await runHost(invocation.argv, {
    place,
    env: { ...invocation.env, ...env, ...called.env },
    stdin: 'Do the scripted task.',
    signal: called.signal,
  });
  return { stdout, report: invocation.reportFile && readFileSync(invocation.reportFile, 'utf8') };
}

function placesOf({ place, server, host }: HostSession): Readonly<Record<string, string>> {
  return {
    [place.repo]: '/home/you/repo',
    [place.repo.replaceAll('/', '-')]: '-home-you-repo',
    [place.home]: '/home/you',
    [place.root]: '/home/you/work',
    [hostFolder(host.name)]: `/opt/${host.name}`,
    [`127.0.0.1:${server.port}`]: '127.0.0.1:8080',
  };
}
