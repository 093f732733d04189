/** Many runs in a few figures: how often they succeed, what that costs, where the time goes. */
import type { LedgerTrust } from '../domain/run/ledger-trust.ts';
import type { Standing } from '../domain/run/overview.ts';
import { totalTokens } from '../domain/turn/usage.ts';
import { elapsed, type RunReading, type Seconds } from './run-view.ts';

export interface RunFigures {
  readonly id: string;
  readonly project: string;
  readonly command: string;
  readonly agent: string;
  readonly title: string | null;
  readonly state: Standing;
  readonly stopReason: string | null;
  readonly startedAt: number | null;
  readonly iterations: number;
  /** null: unknown, which is not zero. */
  readonly cost: number | null;
  readonly tokens: number | null;
  readonly seconds: Seconds;
  readonly elapsed: number;
  readonly storiesVerified: number;
  readonly reviews: number;
  readonly ledger: LedgerTrust['kind'];
}

export interface RunsFigures {
  readonly runs: readonly RunFigures[];
  /** Runs that have ended, a crash included. */
  readonly ended: number;
  readonly done: number;
  /** Of those that ended; null: none has. */
  readonly successRate: number | null;
  /** The mean of the runs that are done. */
  readonly iterationsToDone: number | null;
  /** null: what one of them cost is unknown. */
  readonly cost: number | null;
  readonly storiesVerified: number;
  /** All the money, also that of runs which verified none, by the stories that were; null: there are none, or it is unknown. */
  readonly costPerStory: number | null;
  readonly reviewsPerStory: number | null;
  readonly seconds: Seconds;
}

export function figuresOf({ id, state, view, stories, integrity }: RunReading): RunFigures {
  const { ending, usage } = view;
  return {
    id,
    project: view.cwd,
    command: view.command,
    agent: view.agent,
    title: view.title,
    state,
    stopReason: ending?.stopReason ?? null,
    startedAt: view.startedAt,
    iterations: view.board?.lanes.reduce((sum, lane) => sum + lane.iterations, 0) ?? view.iterations.length,
    cost: (ending ? ending.totalCost : usage?.cost) ?? null,
    tokens: totalTokens((ending ? ending.totalTokens : usage?.tokens) ?? undefined) ?? null,
    seconds: view.seconds,
    elapsed: elapsed(view),
    storiesVerified: stories.filter(({ status }) => status === 'approved').length,
    reviews: stories.reduce((sum, { reviews }) => sum + reviews, 0),
    ledger: integrity.trust.kind,
  };
}

export function figuresOfAll(runs: readonly RunFigures[]): RunsFigures {
  const ended = runs.filter(({ state }) => state !== 'running' && state !== 'closed');
  const done = ended.filter(({ state }) => state === 'done');
  const withStories = runs.filter(({ reviews, storiesVerified }) => reviews + storiesVerified > 0);
  const storiesVerified = add(runs, run => run.storiesVerified);
  const storyCost = costOf(withStories);
  const iterations = add(done, run => run.iterations);
  const reviews = add(withStories, run => run.reviews);
  return {
    runs,
    ended: ended.length,
    done: done.length,
    successRate: ratio(done.length, ended.length),
    iterationsToDone: ratio(iterations, done.length),
    cost: costOf(runs),
    storiesVerified,
    costPerStory: storyCost === null ? null : ratio(storyCost, storiesVerified),
    reviewsPerStory: ratio(reviews, storiesVerified),
    seconds: {
      agent: add(runs, ({ seconds }) => seconds.agent),
      checks: add(runs, ({ seconds }) => seconds.checks),
      waiting: add(runs, ({ seconds }) => seconds.waiting),
    },
  };
}

/** null: what one of them cost is unknown. */
function costOf(runs: readonly RunFigures[]): number | null {
  return runs.some(run => run.cost === null) ? null : add(runs, run => run.cost ?? 0);
}

function add(runs: readonly RunFigures[], figure: (run: RunFigures) => number): number {
  return runs.reduce((sum, run) => sum + figure(run), 0);
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
