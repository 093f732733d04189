/** The sandboxes that can be tried on this machine, each found out by running something in it. */

import { container } from '../../src/sandbox/container.ts';
import type { ContainerOptions, SandboxProvider } from '../../src/sandbox/provider.ts';
import { srt } from '../../src/sandbox/srt.ts';
import { startEngine } from './engine.ts';

export interface Candidate {
  readonly name: string;
  readonly provider: SandboxProvider;
  readonly container: ContainerOptions;
  /** Why it cannot be tried here. */
  readonly missing?: string;
}

const engine = await startEngine();
const env = process.env;

async function candidate(provider: SandboxProvider, options: ContainerOptions): Promise<Candidate> {
  const probe = await provider.probe({ cwd: '/', env, container: options });
  const common = { name: provider.name, provider, container: options };
  return probe.ok ? common : { ...common, missing: `${probe.why} (${probe.fix})` };
}

export const CANDIDATES: readonly Candidate[] = [
  await candidate(srt, { args: [] }),
  'options' in engine
    ? await candidate(container, engine.options)
    : { name: 'container', provider: container, container: { args: [] }, missing: engine.why },
];

/** When all has been tried. */
export async function closeProviders(): Promise<void> {
  if ('stop' in engine) await engine.stop();
}

/** In CI a sandbox that is missing is a failure: RALPH_REQUIRE_SANDBOX=srt,container. */
export const REQUIRED = (process.env.RALPH_REQUIRE_SANDBOX ?? '').split(',').filter(Boolean);
