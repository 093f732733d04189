/** What events hold that has its type elsewhere: of each as much as readers rely on. */
import type { CheckResult } from '../checks/check.ts';
import type { Measured, Mutation } from '../checks/mutation.ts';
import type { SpokenReview } from '../stories/review.ts';
import type { Story } from '../stories/story.ts';
import { sameFor } from '../text/fields.ts';
import type { Claim } from '../turn/claim.ts';
import type { RefusedCall, RefusedCalls } from '../turn/refusals.ts';
import type { Trouble } from '../turn/trouble.ts';
import type { Tokens, Usage } from '../turn/usage.ts';
import type { Spent, TurnOutcome, Violation } from './evidence.ts';
import type { Limits } from './limits.ts';
import type { LoopResult } from './result.ts';
import { boolean, type Kind, list, maybe, number, object, orNull, partOf, record, text } from './shape.ts';
import type { Verdict } from './verdict.ts';

export const texts = list(text);

export const tokens = partOf<Tokens>(
  record(sameFor(maybe(number), 'input', 'output', 'cacheRead', 'cacheWrite')),
);

export const usage = partOf<Usage>(
  record({ tokens: maybe(tokens), cost: maybe(number), unpriced: maybe(number), uncounted: maybe(number) }),
);

export const trouble = partOf<Trouble>(record({ class: text, message: text, fix: maybe(text) }));

export const refusedCall: Kind<RefusedCall> = record({ id: text, tool: maybe(text) });

export const refusedCalls: Kind<RefusedCalls> = record({ calls: number, tools: texts });

export const outcome = partOf<TurnOutcome>(record({ kind: text, trouble: maybe(trouble) }));

export const claim = partOf<Claim>(record({ found: boolean, nearMiss: maybe(text), said: maybe(text) }));

export const verdict = partOf<Verdict>(
  record({ kind: text, reason: maybe(text), feedback: maybe(list(object())) }),
);

export const checkResult = partOf<CheckResult>(
  record({
    ...sameFor(number, 'index', 'exitCode', 'duration'),
    ...sameFor(text, 'command', 'output', 'logFile'),
    ...sameFor(maybe(number), 'tests', 'failures'),
    ...{ passed: boolean, voided: maybe(text), without: maybe(texts) },
  }),
);

/** Whether the checks would notice a fault. */
const faults = {
  score: maybe(orNull(number)),
  mutants: maybe(number),
  survivors: maybe(list(record({ file: text, line: number, change: text }))),
};

const mutation = partOf<Mutation>(record(faults));

export const measured = partOf<Measured>(
  record({ ...faults, checks: maybe(texts), seconds: maybe(number), failed: maybe(text) }),
);

export const limits = partOf<Limits>(
  record({
    maxIterations: maybe(orNull(number)),
    ...sameFor(maybe(number), 'maxCost', 'maxTokens', 'maxTime'),
  }),
);

export const spent = partOf<Spent>(record({ iterations: number, failures: number, usage, elapsed: number }));

export const spokenReview = partOf<SpokenReview>(record({ story: text, verdict: text }));

export const violation = partOf<Violation>(record({ what: text, restored: boolean, by: maybe(text) }));

type Moved = Pick<Story, 'id' | 'passes' | 'reviewStatus' | 'reviewFeedback'> & {
  /** How many reviews it has had, and may have. */
  readonly reviewCount?: number;
  readonly reviewCap?: number;
  /** Its reviewer left it approved in the list, and did not say so. */
  readonly unsaid?: true;
};

export const moved = partOf<Moved>(
  record({
    ...sameFor(maybe(text), 'id', 'reviewFeedback'),
    ...sameFor(maybe(number), 'reviewCount', 'reviewCap'),
    unsaid: maybe(boolean),
  }),
);

export const result = partOf<LoopResult>(
  record({
    ...sameFor(text, 'runId', 'stopReason'),
    ...sameFor(maybe(orNull(text)), 'detail', 'branch', 'worktreePath'),
    ...sameFor(maybe(number), 'waited', 'unreportedCalls', 'uncountedCalls'),
    ...{ success: boolean, totalDuration: number },
    totalCost: maybe(orNull(number)),
    totalTokens: maybe(orNull(tokens)),
    proof: maybe(record({ level: maybe(text), contained: maybe(text), checkInputsChanged: maybe(texts) })),
    testsChanged: maybe(texts),
    mutation: maybe(mutation),
    best: maybe(record({ iteration: number, checksGreen: number, failures: orNull(number) })),
    restored: maybe(record({ from: number, to: number, aside: maybe(text), bringBack: maybe(text) })),
    stories: maybe(record({ stories: maybe(list(record({ id: maybe(text), title: maybe(text) }))) })),
    lanes: maybe(
      list(
        record({
          ...sameFor(text, 'id', 'title', 'state'),
          ...{ returns: number, runs: texts, why: maybe(text) },
          commit: maybe(orNull(text)),
          iterations: maybe(number),
          cost: maybe(orNull(number)),
        }),
      ),
    ),
    iterations: list(
      record({
        cost: maybe(orNull(number)),
        error: maybe(orNull(text)),
        violations: texts,
        checkResults: list(
          record({
            ...{ name: text, passed: boolean, voided: maybe(text) },
            ...sameFor(number, 'exitCode', 'duration'),
            ...sameFor(maybe(number), 'flaked', 'tests'),
          }),
        ),
      }),
    ),
  }),
);
