/** The checks of a run, and their round before the first iteration. */
import type { Settings } from '../../config/settings-shape.ts';
import type { Check, CheckResult, OwnCheck } from '../../domain/checks/check.ts';
import { redReason } from '../../domain/checks/words.ts';
import type { PromptCheck } from '../../domain/run/loop-prompt.ts';
import { warn } from '../steps.ts';
import type { RunContext } from './context.ts';

/** Each command as the guardrails of the settings have it, where it is one; `own`: as a program brings it. */
export function checksOf(
  commands: readonly string[],
  { checkTimeout, guardrails, guardrailTimeout = checkTimeout }: CheckSettings,
  own: readonly OwnCheck[] = [],
): readonly Check[] {
  return commands.map(command => {
    const guardrail = guardrails.find(each => each.command === command);
    const {
      failAction = 'APPEND',
      hint,
      timeout = guardrailTimeout,
    } = guardrail ?? { timeout: checkTimeout };
    return {
      ...{ command, failAction, timeout },
      ...(hint && { hint }),
      ...own.find(each => each.command === command),
    };
  });
}

type CheckSettings = Pick<Settings, 'checkTimeout' | 'guardrails' | 'guardrailTimeout'>;

export interface BaselineOptions extends Pick<RunContext, 'emit'> {
  checks(): readonly Check[];
  /** What was red before the first iteration need not pass. */
  readonly excused: boolean;
}

/** The checks before the first iteration: what was red then is said, and excused where the user wants it. */
export function createBaseline({ emit, checks, excused }: BaselineOptions) {
  const red = new Set<string>();
  return {
    async take(run: (iteration: number) => Promise<readonly CheckResult[]>): Promise<void> {
      for (const check of await run(0)) {
        // What is void says nothing of how things were.
        if (check.passed || check.voided !== undefined) continue;
        red.add(check.command);
        warn(emit, `Baseline: \`${check.command}\` fails before the first iteration: ${redReason(check)}.`);
      }
    },
    recall(results: readonly CheckResult[]): void {
      for (const check of results) if (!check.passed && check.voided === undefined) red.add(check.command);
    },
    forPrompt: (): readonly PromptCheck[] =>
      checks().map(({ command }) =>
        red.has(command) ? { command, redBefore: excused ? 'excused' : 'gates' } : { command },
      ),
    excuse: (check: CheckResult): CheckResult =>
      excused && red.has(check.command) && !check.passed ? { ...check, ungated: true } : check,
  };
}
