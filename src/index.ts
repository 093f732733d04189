/** The library. Importing it starts nothing and prints nothing; what a call needs is loaded when it is made. */
export type { AgentNeeds, AgentRequest, Reported, Reports } from './agents/agent.ts';
export type { AgentSettings, Settings } from './config/settings-shape.ts';
export type {
  Check,
  CheckContext,
  CheckFunction,
  CheckOutcome,
  CheckResult,
  FailAction,
} from './domain/checks/check.ts';
export type { RecordedEvent as LoopEvent } from './domain/run/event.ts';
export type { EndedBy, Evidence, Spent, TurnOutcome, Violation } from './domain/run/evidence.ts';
export type { LedgerTrust } from './domain/run/ledger-trust.ts';
export type { Limits } from './domain/run/limits.ts';
export type { RunOverview, RunStatus } from './domain/run/overview.ts';
export type {
  CheckSummary,
  DoneResult,
  IterationResult,
  LoopResult,
  ResultFields,
  StoppedResult,
} from './domain/run/result.ts';
export {
  type ExitCode,
  exitCodeOf,
  isSuccess,
  STOP_REASONS,
  type StopReason,
  type SuccessReason,
  sentenceOf,
} from './domain/run/stop-reason.ts';
export { type Feedback, judge, type Run, type Verdict } from './domain/run/verdict.ts';
export type { Problem } from './domain/text/problem.ts';
export type { AgentEvent, TodoItem, ToolOutput } from './domain/turn/agent-event.ts';
export {
  type Claim,
  type ClaimScanner,
  type CompletionRule,
  createClaimScanner,
  markerOf,
  type NearMiss,
} from './domain/turn/claim.ts';
export type { Trouble, TroubleClass } from './domain/turn/trouble.ts';
export type { CostSource, Price, PriceTable, Tokens, Usage } from './domain/turn/usage.ts';
export {
  createLoop,
  createReport,
  discardRun,
  type Loop,
  landRun,
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
  DiscardOptions,
  LandOptions,
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
export type { DiscardResult } from './opening/discard.ts';
export type { LandResult } from './opening/land.ts';
export type { Clock } from './platform/clock.ts';
export type { ReportFormat } from './report/create-report.ts';
export type { Simulated } from './report/simulate.ts';
export {
  type AgentFunction,
  type AgentReply,
  type AgentTraits,
  type AgentTurn,
  defineAgent,
  type FunctionAgent,
} from './run/turns/define-agent.ts';
