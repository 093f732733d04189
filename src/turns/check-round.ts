/** A round of checks, as `ralph loop` and `ralph prd run` run them, and the one before the first iteration. */
import { type RoundChanges, runChecks } from '../checks/run-checks.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Check, CheckResult } from '../domain/check.ts';
import type { PromptCheck } from '../domain/loop-prompt.ts';
import { warn } from '../engine/plan.ts';
import { type PlanParts, timeLeft } from './plan-parts.ts';

const ERROR_CHARS = 2_000;

export function checksOf(
  commands: readonly string[],
  { checkTimeout: timeout }: Pick<Settings, 'checkTimeout'>,
): readonly Check[] {
  return commands.map(command => ({ command, failAction: 'APPEND', timeout }) as const);
}

export interface CheckRoundOptions {
  readonly iteration: number;
  readonly checks: readonly Check[];
  /** What a result is on the ledger too: excused, under another number. */
  as(result: CheckResult): CheckResult;
}

export async function runRound(
  parts: PlanParts & RoundChanges,
  { iteration, checks, as }: CheckRoundOptions,
): Promise<readonly CheckResult[]> {
  const { settings, project, emit } = parts;
  const results = await runChecks({
    ...parts,
    ...timeLeft(parts),
    emit: event => emit(event.type === 'check-ended' ? { ...event, result: as(event.result) } : event),
    checks,
    iteration,
    paths: parts.paths.iteration(iteration),
    root: project.root,
    excerpt: { chars: ERROR_CHARS, from: 'tail' },
    parallel: settings.checkParallel,
    retries: settings.checkRetries,
  });
  return results.map(as);
}

export interface BaselineOptions extends Pick<PlanParts, 'emit'> {
  checks(): readonly Check[];
  /** What was red before the first iteration need not pass. */
  readonly excused: boolean;
}

/** The checks before the first iteration: what was red then is told, and excused where the user wants it. */
export function createBaseline({ emit, checks, excused }: BaselineOptions) {
  const red = new Set<string>();
  return {
    async take(run: (iteration: number) => Promise<readonly CheckResult[]>): Promise<void> {
      for (const check of await run(0)) {
        // What is void says nothing of how things were.
        if (check.passed || check.voided !== undefined) continue;
        red.add(check.command);
        const why =
          check.exitCode === 127 ? 'there is no such command (exit code 127)' : `exit code ${check.exitCode}`;
        warn(emit, `Baseline: \`${check.command}\` fails before the first iteration: ${why}.`);
      }
    },
    recall(results: readonly CheckResult[]): void {
      for (const check of results) if (!check.passed && check.voided === undefined) red.add(check.command);
    },
    told: (): readonly PromptCheck[] =>
      checks().map(({ command }) =>
        red.has(command) ? { command, redBefore: excused ? 'excused' : 'gates' } : { command },
      ),
    excuse: (check: CheckResult): CheckResult =>
      excused && red.has(check.command) && !check.passed ? { ...check, ungated: true } : check,
  };
}
