/** `simulate()`: the same as `ralph simulate`, without a terminal. */
import { resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { createStopRequest } from '../engine/stop.ts';
import { environment } from '../platform/shell.ts';
import { VERSION } from '../platform/version.ts';
import { projectRoot } from '../store/paths.ts';
import type { SimulateConfig, Simulation } from './calls.ts';
import type { RunOptions } from './config.ts';
import { readChecks, settingsLayer } from './given.ts';
import { createListener } from './listen.ts';
import { simulateFailures } from './simulate.ts';

/** A signal that fires rejects the call with its reason. */
export async function simulateForProgram(
  { failures = [], ...config }: SimulateConfig,
  { cwd = process.cwd(), env = environment(), signal }: Pick<RunOptions, 'cwd' | 'env' | 'signal'>,
): Promise<Simulation | readonly Problem[]> {
  const stop = createStopRequest();
  const listener = createListener(signal ? { signal } : {}, stop);
  try {
    const ended = await simulateFailures({
      ...{ root: projectRoot(resolve(cwd)), env, wanted: failures, stop, version: VERSION, keep: false },
      given: settingsLayer('loop', config, readChecks(config.checks ?? []).listed),
    });
    signal?.throwIfAborted();
    if (!('simulated' in ended)) return ended;
    const { simulated } = ended;
    return { simulated, success: simulated.every(({ weakness }) => weakness === undefined) };
  } finally {
    listener.close();
  }
}
