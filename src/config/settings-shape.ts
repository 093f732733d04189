/** The settings as the rest of the program sees them, checked and with their defaults. */
import type { FailAction } from '../domain/check.ts';
import type { Occasion } from '../domain/notification.ts';
import type { AtCap } from '../domain/story-mode.ts';
import type { PriceTable } from '../domain/usage.ts';

export interface AgentSettings {
  readonly command?: string;
  readonly flags?: readonly string[];
  readonly model?: string;
  /** Which agent's stream it speaks, for a wrapper with another name. */
  readonly adapter?: string;
  readonly prices?: PriceTable;
}

export interface GuardrailSettings {
  readonly command: string;
  readonly failAction?: FailAction;
  readonly hint?: string;
  readonly timeout?: number;
}

export interface ScmSettings {
  readonly command?: string;
  readonly tasks?: readonly string[];
}

export interface NotifySettings {
  readonly command?: string;
  readonly webhook?: string;
  readonly bell?: boolean;
  readonly on?: readonly Occasion[];
}

export interface SandboxSettings {
  readonly provider: 'auto' | 'any' | 'none' | 'srt' | 'container' | 'sbx';
  readonly network: 'none' | 'allowlist' | 'open';
  readonly allowDomains: readonly string[];
  readonly writable: readonly string[];
  readonly denyRead: readonly string[];
  readonly secrets: readonly { readonly env: string; readonly hosts: readonly string[] }[];
  readonly limits: { readonly memory?: string; readonly cpus?: number; readonly pids?: number };
  readonly image?: string;
  readonly engine?: string;
  readonly engineArgs?: readonly string[];
}

export interface GuardSettings {
  readonly enabled: boolean | 'auto';
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export interface MonitorSettings {
  readonly enabled: boolean | 'auto';
  readonly window?: number;
}

export interface Settings {
  readonly maximumIterations: number;
  readonly completionResponse: string;
  readonly outputTruncateChars: number;
  readonly streamAgentOutput: boolean;
  readonly includeIterationCountInPrompt: boolean;
  readonly agent?: string | AgentSettings;
  readonly agents: Readonly<Record<string, AgentSettings>>;
  readonly model?: string;
  readonly fallback: readonly string[];
  readonly permissions: 'skip' | 'host';
  readonly guardrails: readonly GuardrailSettings[];
  readonly guardrailTimeout: number;
  readonly iterationTimeout: number;
  readonly idleTimeout: number;
  readonly lingerTimeout: number;
  readonly maxCost?: number;
  readonly maxTokens?: number;
  readonly maxTime?: number;
  readonly maxWait: number;
  readonly maxRetries: number;
  readonly maxFailures: number;
  readonly stuckAfter: number;
  readonly unchangedAfter: number;
  readonly thrashingAfter: number;
  readonly costlyAfter: number;
  readonly prices: PriceTable;
  readonly scm?: ScmSettings;
  readonly completionTag: string;
  readonly checks: readonly string[];
  readonly checkTimeout: number;
  readonly checkParallel: boolean;
  readonly checkRetries: number;
  readonly baseline: boolean;
  readonly baselineUngated: boolean;
  readonly protect: readonly string[];
  readonly protectNew: boolean;
  readonly skipReview: boolean;
  readonly reviewCap: number;
  readonly atCap: AtCap;
  readonly guard: GuardSettings;
  readonly contextMonitor: MonitorSettings;
  readonly notify?: string | NotifySettings;
  readonly sandbox: SandboxSettings;
  readonly hideEnv: readonly string[];
  readonly keepEnv: readonly string[];
}
