/** The library. Importing it starts nothing and prints nothing. */
export type { AgentSettings, Settings } from './config/settings-shape.ts';
export type { AgentEvent, TodoItem, ToolOutput } from './domain/agent-event.ts';
export type { Check, CheckResult, FailAction } from './domain/check.ts';
export {
  type Claim,
  type ClaimScanner,
  type CompletionRule,
  createClaimScanner,
  markerOf,
  type NearMiss,
} from './domain/completion.ts';
export type { RecordedEvent as LoopEvent } from './domain/event.ts';
export type { EndedBy, Evidence, Spent, TurnOutcome, Violation } from './domain/evidence.ts';
export type { Limits } from './domain/limits.ts';
export type { Problem } from './domain/problem.ts';
export type { CheckSummary, IterationResult, LoopResult } from './domain/result.ts';
export {
  type ExitCode,
  exitCodeOf,
  isSuccess,
  STOP_REASONS,
  type StopReason,
  type SuccessReason,
  sentenceOf,
} from './domain/stop-reason.ts';
export type { Trouble, TroubleClass } from './domain/trouble.ts';
export type { CostSource, Price, PriceTable, Tokens, Usage } from './domain/usage.ts';
export { type Feedback, judge, type Run, type Verdict } from './domain/verdict.ts';
export {
  createLoop,
  type Loop,
  type LoopConfig,
  LoopConfigError,
  type LoopOptions,
  runLoop,
} from './opening/create-loop.ts';
export type { Clock } from './platform/clock.ts';
export {
  type AgentFunction,
  type AgentReply,
  type AgentTurn,
  defineAgent,
  type FunctionAgent,
} from './turns/function-agent.ts';
