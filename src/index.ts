/** The library. Importing it starts nothing and prints nothing; what a call needs is loaded when it is made. */
export type { AgentNeeds, AgentRequest, Reported, Reports } from './agents/agent.ts';
export type { AgentSettings, Settings } from './config/settings-shape.ts';
export type { AgentEvent, TodoItem, ToolOutput } from './domain/agent-event.ts';
export type {
  Check,
  CheckContext,
  CheckFunction,
  CheckOutcome,
  CheckResult,
  FailAction,
} from './domain/check.ts';
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
export type { LedgerTrust } from './domain/ledger-trust.ts';
export type { Limits } from './domain/limits.ts';
export type { Problem } from './domain/problem.ts';
export type {
  CheckSummary,
  DoneResult,
  IterationResult,
  LoopResult,
  ResultFields,
  StoppedResult,
} from './domain/result.ts';
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
  createReport,
  type Loop,
  listRuns,
  openRun,
  readLedger,
  resumeRun,
  runLoop,
  runPrompt,
  runStories,
  type SimulateConfig,
  type Simulation,
  simulate,
} from './library/calls.ts';
export {
  type CheckInput,
  type CommandCheck,
  type DeepPartial,
  type FunctionCheck,
  type LoopConfig,
  LoopConfigError,
  type PromptConfig,
  type ResumeConfig,
  type RunConfig,
  type RunOptions,
  type StoriesConfig,
} from './library/config.ts';
export { type AdapterAgent, type AdapterDefinition, defineAdapter } from './library/define-adapter.ts';
export type {
  Ledger,
  LedgerLine,
  ReportOptions,
  RunHandle,
  RunsOptions,
  Steered,
  UnknownLine,
} from './library/runs.ts';
export {
  allOf,
  anyOf,
  checkFails,
  costReaches,
  iterationsReach,
  not,
  type RunProgress,
  type StopCondition,
  timeReaches,
} from './library/stop-when.ts';
export type { Clock } from './platform/clock.ts';
export type { ReportFormat } from './report/create-report.ts';
export type { Simulated } from './report/simulate.ts';
export type { RunOverview, RunState } from './store/overview.ts';
export {
  type AgentFunction,
  type AgentReply,
  type AgentTraits,
  type AgentTurn,
  defineAgent,
  type FunctionAgent,
} from './turns/define-agent.ts';
