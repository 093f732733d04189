/** Which run a command means: one that is named by part of its id, or the latest. */
import { type LedgerTrust, trustSentence } from '../domain/ledger-trust.ts';
import { projectAt, type RunPaths, runPaths } from '../store/paths.ts';
import { findRun } from '../store/run-file.ts';
import { type Call, orThrow } from './command.ts';
import type { Output } from './output.ts';

export const RUN_ARGUMENT = ['[run]', 'a run, or part of its id; without it the latest'] as const;

export function wantedRun({ args, cwd, env }: Pick<Call, 'args' | 'cwd' | 'env'>): {
  id: string;
  paths: RunPaths;
} {
  const project = projectAt(cwd, env);
  const id = orThrow(findRun(project, args[0]));
  return { id, paths: runPaths(project, id) };
}

/** Says on stderr when what was shown is not what Ralph wrote, or may not be. */
export function warnOfLedger(output: Output, command: string, trust: LedgerTrust): void {
  if (trust.kind !== 'intact') output.error(`ralph ${command}: ${trustSentence(trust)}.\n`);
}
