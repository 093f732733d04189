/** Chooses a sandbox: runs a command in each, the strongest first, and takes the first that works. */
import type { Problem } from '../domain/text/problem.ts';
import { container } from './container.ts';
import type { ProbeWorld, ProviderName, SandboxProvider } from './provider.ts';
import { sbx } from './sbx.ts';
import { srt } from './srt.ts';

/** The strongest first. */
export const PROVIDERS: readonly SandboxProvider[] = [sbx, srt, container];

/** `auto`: one if there is one. `any`: one, or it is a problem. A name: that one, or it is a problem. */
export type Wanted = 'auto' | 'any' | 'none' | ProviderName;

export interface Choice {
  /** undefined: none was wanted, or none works here. */
  readonly provider?: SandboxProvider;
  /** What it is made of. */
  readonly what: string;
  /** Why those that were looked at do not work, a line each. */
  readonly refused: readonly string[];
}

export async function chooseProvider(wanted: Wanted, world: ProbeWorld): Promise<Choice | Problem> {
  if (wanted === 'none') return { what: '', refused: [] };
  const named = PROVIDERS.filter(({ name }) => name === wanted);
  const refused: string[] = [];
  for (const provider of named.length > 0 ? named : PROVIDERS) {
    const probe = await provider.probe(world);
    if (probe.ok) return { provider, what: probe.what, refused };
    refused.push(`${provider.name}: ${probe.why.replace(/\.$/, '')} (${probe.fix})`);
  }
  if (wanted === 'auto') return { what: '', refused };
  return {
    where: named.length > 0 ? `--sandbox ${wanted}` : '--sandbox',
    what: `no sandbox works here. ${refused.join('. ')}`,
    fix: 'install one of them and check with `ralph doctor`, or use --no-sandbox',
  };
}
