/** Seed 002's context monitor: what an agent reads as its context fills, at five thresholds, once each. */

export type AlertLevel = 'NOTICE' | 'WARNING' | 'CRITICAL';

const NOTICE =
  'Be mindful of remaining space. Plan to finish your current task within this session. If you discover follow-up work, add new stories to tasks.json — the next iteration will pick them up.';
const WARNING =
  'Finish your current task and commit soon. Do not start additional tasks. If work remains, create new stories in tasks.json for the next iteration and capture any implementation details or insights in progress.txt so the next iteration has full context.';
const CRITICAL =
  'Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining work, (2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, (4) stop. The next iteration will continue from where you left off.';

const THRESHOLDS: readonly { readonly percent: number; readonly level: AlertLevel; readonly text: string }[] =
  [
    { percent: 50, level: 'NOTICE', text: NOTICE },
    { percent: 60, level: 'NOTICE', text: NOTICE },
    { percent: 70, level: 'WARNING', text: WARNING },
    { percent: 80, level: 'WARNING', text: WARNING },
    { percent: 90, level: 'CRITICAL', text: CRITICAL },
  ];

export interface ContextUse {
  /** Tokens. */
  readonly used: number;
  readonly window: number;
}

export interface AlertState {
  /** The highest threshold that was reported; 0: none. */
  readonly reported: number;
}

export const FRESH: AlertState = { reported: 0 };

export interface AlertDecision {
  readonly state: AlertState;
  readonly alert?: string;
}

/** A jump over several thresholds is reported once, at the highest. Below the lowest one they are reset: the context was compacted. */
export function contextAlert({ used, window }: ContextUse, { reported }: AlertState): AlertDecision {
  const percent = window > 0 ? (used / window) * 100 : 0;
  const reached = THRESHOLDS.findLast(threshold => percent >= threshold.percent);
  if (!reached) return { state: FRESH };
  if (reached.percent <= reported) return { state: { reported } };
  const full = `${Math.floor(percent)}% full (${thousands(used)} of ${thousands(window)} tokens)`;
  return {
    state: { reported: reached.percent },
    alert: `[${reached.level}] Your context is about ${full}. ${reached.text}`,
  };
}

function thousands(tokens: number): string {
  return tokens < 1_000 ? String(tokens) : `${Math.round(tokens / 1_000)}k`;
}

/** What the seed assumed, for models that are not known. */
const USUAL_WINDOW = 200_000;

const WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/\[1m\]/i, 1_000_000],
  [/^claude-(?:fable|opus|sonnet|haiku)-(?:[5-9]|\d\d)/, 1_000_000],
  [/^claude/, 200_000],
  [/^gemini/, 1_048_576],
  [/^gpt-4\.1/, 1_047_576],
  [/^gpt-[5-9]/, 400_000],
  [/^qwen3?-coder/, 262_144],
];

/** How much a model takes, by its name. */
export function windowOf(model: string): number {
  return WINDOWS.find(([pattern]) => pattern.test(model))?.[1] ?? USUAL_WINDOW;
}
