/** The in-session loop: what it remembers, and what it says. Seeds 000 and 003. */

import type { Evidence } from '../run/evidence.ts';
import type { Run } from '../run/verdict.ts';
import { type Claim, type CompletionRule, markerOf } from '../turn/claim.ts';

export type NoWorkPolicy = 'reject' | 'warn' | 'accept';

export const NO_WORK_POLICIES = ['reject', 'warn', 'accept'] as const satisfies readonly NoWorkPolicy[];

/** What the user asked for. */
export interface SessionRequest {
  readonly task: string;
  /** 0: no limit. */
  readonly maxIterations: number;
  /** null: the loop ends by its limit or by hand. */
  readonly completionPromise: string | null;
  readonly minToolCalls: number;
  readonly onPromiseNoWork: NoWorkPolicy;
  readonly ultrawork: boolean;
  readonly checks: readonly string[];
}

export interface SessionState extends SessionRequest {
  /** false: dormant. The user has turned to something else. */
  readonly active: boolean;
  /** The turn that runs now, counted from 1. */
  readonly iteration: number;
  readonly startedAt: string;
  readonly sessionId: string;
  /** The prompt that the loop belongs to; null where the host does not number its prompts. */
  readonly promptId: string | null;
  /** Since the loop started, as counted at the last stop. */
  readonly toolCalls: number;
  /** How many of them had been counted when the turn began that runs now. */
  readonly callsBefore: number;
  /** Stops that were refused since the last tool call. */
  readonly blocksInARow: number;
  readonly runId: string;
  /** Bytes of the host's transcript in which tool calls have been counted. */
  readonly transcriptRead: number;
  /** When the turn began that runs now, in milliseconds since 1970. */
  readonly turnAt: number;
  /** Prompts that the agent has scheduled for itself: the loop follows them. */
  readonly wakeUps: readonly string[];
  /** Files that the agent may not change, and the name under which they are kept as they were; null: none are. */
  readonly protect: readonly string[];
  readonly kept: string | null;
  /** Whether a command in the background is waited for; a user who wakes the loop does not want that. */
  readonly waits: boolean;
}

export function ruleOf({ completionPromise }: SessionRequest): CompletionRule | undefined {
  return completionPromise === null ? undefined : { kind: 'promise', text: completionPromise };
}

const ULTRAWORK =
  'ULTRAWORK MODE: use everything you have. Plan first, work on independent parts in parallel, verify each result yourself, and do not settle for a partial one.';

/** Seed 000's, in its words. */
const STRICT = `STRICT REQUIREMENTS (DO NOT VIOLATE):
- Use the XML tags EXACTLY as shown above
- The statement MUST be completely and unequivocally TRUE
- Do NOT output false statements to exit the loop
- Do NOT lie even if you think you should exit`;

/** What the agent reads when the loop begins: task, stopping rule, strictness, safety valve. */
export function contract(request: SessionRequest): string {
  const rule = ruleOf(request);
  const stopping = rule
    ? [
        `This is a Ralph loop. Work on the task below until it is completely done. Only then output exactly this, with nothing changed inside the tag: ${markerOf(rule)}`,
        STRICT,
        'It must match to the letter: no extra space, no other case, on a line of its own, not in backticks, quotation marks or a code block. If you are not done, do not output it, not even to get out of the loop: when you stop without it, you will be sent back to the task. If only the user can remove what holds you up, say why: <blocked>why</blocked>.',
      ]
    : ['This is a Ralph loop. Work on the task below. When you stop, you will be sent back to it.'];
  const checks = request.checks.map(check => `- \`${check}\``);
  return [
    ...(request.ultrawork ? [ULTRAWORK] : []),
    ...stopping,
    ...(checks.length > 0
      ? [`Before you may go, these commands are run, and all must pass:\n${checks.join('\n')}`]
      : []),
    `Task:\n${request.task}`,
  ].join('\n\n');
}

/** Sends the agent back to its task, with what was wrong. */
export function continuation(state: SessionRequest, why: readonly string[]): string {
  return [...(state.ultrawork ? [ULTRAWORK] : []), ...why, `Original task:\n${state.task}`].join('\n\n');
}

export function missingPromise(rule: CompletionRule): string {
  return `You attempted to end the loop, but you did not output the completion promise ${markerOf(rule)}. Continue working on the original task below. Only output the promise when the task is fully complete.`;
}

export const NO_PROMISE_SET = 'The loop continues. Continue working on the original task below.';

export const NO_WORK_DONE =
  'Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise.';

/** The line that the user sees at every continuation. */
export function iterationMessage(state: SessionState): string {
  const of = state.maxIterations > 0 ? ` of ${state.maxIterations}` : '';
  const rule = ruleOf(state);
  const stop = rule
    ? `To stop: output ${markerOf(rule)} (ONLY when statement is TRUE - do not lie to exit!)`
    : 'No completion promise set - loop runs infinitely';
  return `🔄 Ralph iteration ${state.iteration}${of} | ${stop}`;
}

export function sessionRun(state: SessionState): Run {
  return {
    rule: ruleOf(state) ?? { kind: 'promise', text: '' },
    limits: { maxIterations: state.maxIterations, maxFailures: 1, stuckAfter: 0 },
    success: 'promise_accepted',
    minToolCalls: state.onPromiseNoWork === 'reject' ? state.minToolCalls : 0,
  };
}

export function sessionEvidence(state: SessionState, claim: Claim, now: number): Evidence {
  return {
    outcome: { kind: 'completed' },
    claim,
    checks: [],
    violations: [],
    treeChanged: null,
    repeats: 0,
    spent: {
      iterations: state.iteration,
      failures: 0,
      toolCalls: state.toolCalls,
      usage: { costSource: 'unknown' },
      elapsed: elapsedOf(state, now),
    },
  };
}

/** Commands that run until somebody ends them: nobody comes back from them. */
const SERVES =
  /\b(?:serve|server|dev|start|watch|preview|runserver|storybook|nodemon|uvicorn|gunicorn|vite|ngrok|http\.server|compose up|flask run|rails s|infinity)\b|\btail\b.* -f\b|\btail -\w*f|-w(?:atch)?\b/;

/** What runs in the background and will bring the agent back when it has ended. */
export function comingBack({ waits }: SessionState, shells: readonly string[]): readonly string[] {
  return waits ? shells.filter(command => command.trim() !== '' && !SERVES.test(command)) : [];
}

/** Seconds. */
export function elapsedOf({ startedAt }: SessionState, now: number): number {
  return Math.max(0, (now - Date.parse(startedAt)) / 1000) || 0;
}

/** Tools have been called since the last stop. */
export function afterCalls(state: SessionState, calls: number): SessionState {
  return calls === 0 ? state : { ...state, toolCalls: state.toolCalls + calls, blocksInARow: 0 };
}

/** The agent was sent back. */
export function afterBlock(state: SessionState, now: number): SessionState {
  return {
    ...state,
    iteration: state.iteration + 1,
    blocksInARow: state.blocksInARow + 1,
    callsBefore: state.toolCalls,
    turnAt: now,
  };
}

/** The prompt is another one than the loop's: the user's own. */
export function isElsewhere({ promptId }: SessionState, asked: string | null): boolean {
  return promptId !== null && asked !== null && promptId !== asked;
}
