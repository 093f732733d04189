/** What a run has done so far, folded from its ledger: all that is needed to go on with it, or to judge it again. */
import type { CheckResult } from './check.ts';
import type { EndedTurn, Judged, Prepared, RunEvent, RunHead, ScmOutcome } from './event.ts';
import type { Violation } from './evidence.ts';
import type { LoopResult } from './result.ts';
import { isLimit } from './trouble-table.ts';
import type { Usage } from './usage.ts';
import { createUsageFold, type UsageFold } from './usage-fold.ts';
import type { Verdict } from './verdict.ts';

/** An event with its time, in milliseconds since 1970. */
export type Timed = RunEvent & { readonly time: number };

export interface PastTask {
  readonly task: string;
  readonly head: string | null;
  /** undefined: it was cut off. */
  readonly outcome?: ScmOutcome;
}

export interface PastIteration {
  readonly number: number;
  /** In `ralph prd`: what it was for. */
  readonly mode?: string;
  readonly story?: string;
  /** The last attempt, counted from 1, and whose stream it spoke. */
  readonly attempt: number;
  readonly adapter?: string;
  /** undefined: the agent was cut off. */
  readonly turn?: EndedTurn;
  /** What was found and may be undone or not. */
  readonly tampered: readonly string[];
  readonly violations: readonly Violation[];
  readonly checks: readonly CheckResult[];
  readonly judged?: Judged & { readonly verdict: Verdict };
  readonly tasks: readonly PastTask[];
  /** Every step of it is done. */
  readonly ended: boolean;
  /** Seconds. */
  readonly duration: number;
}

export interface Past {
  readonly head?: RunHead;
  readonly prepared?: Prepared;
  /** The checks before the first iteration. */
  readonly baseline: readonly CheckResult[];
  /** By number; only the last one may be unfinished. */
  readonly iterations: readonly PastIteration[];
  /** Calls beside the turns that count, and turns that were cut off: what they are known to have used up. */
  readonly extras: readonly Usage[];
  /** How the run ended when it last did; undefined: it was cut off. */
  readonly result?: LoopResult;
  /** Seconds that the run has been going, pauses between its parts left out. */
  readonly elapsed: number;
  /** Seconds of it in which nothing was done. */
  readonly waited: number;
  /** Until when each agent was last said to be limited, by its name, in milliseconds since 1970. */
  readonly limits: Readonly<Record<string, number>>;
  /** It was cut off while the user had it paused: what is in the files then is the user's. */
  readonly paused: boolean;
  /** When the ledger ends, in milliseconds since 1970; 0: it is empty. */
  readonly lastWord: number;
  readonly resumptions: number;
}

type Draft<Value> = { -readonly [Key in keyof Value]: Value[Key] };

export function foldPast(events: Iterable<Timed>): Past {
  const iterations: PastIteration[] = [];
  const baseline = new Map<number, CheckResult>();
  const extras: Usage[] = [];
  const clock = createElapsed();
  const limits: Record<string, number> = {};
  const past: Partial<Draft<Past>> = {};
  let resumptions = 0;
  let open: Open | undefined;

  for (const event of events) {
    clock.tick(event);
    switch (event.type) {
      case 'run-started':
        past.head = event;
        break;
      case 'run-resumed':
        past.head = event;
        delete past.result;
        resumptions++;
        break;
      case 'prepared':
        past.prepared = event;
        break;
      case 'iteration-started':
        extras.push(...(open?.wasted() ?? []));
        open = openIteration(event);
        break;
      case 'run-ended':
        past.result = event.result;
        break;
      case 'waiting':
        if (isLimit(event.trouble)) limits[event.agent] = event.until;
        break;
      case 'agent-switched':
        if (event.until !== undefined) limits[event.from] = event.until;
        break;
      case 'check-ended':
        if (!open) baseline.set(event.result.index, event.result);
    }
    if (event.type === 'agent-ended' && event.purpose === 'commit-message') extras.push(event.usage);
    if (!open) continue;
    open.add(event);
    iterations[open.now().number - 1] = open.now();
  }
  if (needsAgent(iterations.at(-1))) extras.push(...(open?.wasted() ?? []));
  return {
    ...past,
    baseline: inOrder(baseline),
    iterations: iterations.filter(Boolean),
    extras,
    limits,
    elapsed: clock.elapsed(),
    waited: clock.waited(),
    lastWord: clock.last(),
    paused: clock.isPaused(),
    resumptions,
  };
}

interface Open {
  add(event: Timed): void;
  now(): PastIteration;
  /** What its turn is known to have used up, when it has to be taken again. */
  wasted(): readonly Usage[];
}

/** The agent was cut off, by a crash or by a signal, or its turn had failed: that is no evidence. */
export function needsAgent(iteration: PastIteration | undefined): boolean {
  if (!iteration || iteration.judged) return false;
  const outcome = iteration.turn?.outcome;
  if (outcome === undefined || outcome.kind === 'failed') return true;
  return outcome.kind === 'ended' && outcome.by === 'interrupt';
}

function openIteration(started: Started): Open {
  const checks = new Map<number, CheckResult>();
  const tasks = new Map<string, PastTask>();
  const draft = begunIteration(started);
  let attempts: readonly Usage[] = [];
  let soFar: UsageFold | undefined;

  const add = (event: Timed): void => {
    draft.duration = Math.max(0, Math.round(event.time - started.time) / 1000);
    switch (event.type) {
      case 'agent-started':
        soFar = event.purpose === 'work' ? createUsageFold({}) : undefined;
        if (event.purpose !== 'work') break;
        draft.attempt = event.attempt ?? 1;
        if (event.adapter !== undefined) draft.adapter = event.adapter;
        break;
      case 'agent':
        if (event.event.kind === 'usage') soFar?.add(event.event);
        break;
      case 'agent-ended':
        if (event.purpose === 'work') attempts = [...attempts, event.usage];
        soFar = undefined;
        break;
      case 'turn-ended':
        draft.turn = event;
        break;
      case 'tampered':
        draft.tampered = [...draft.tampered, ...event.what];
        break;
      case 'violation':
        draft.violations = [...draft.violations, event.violation];
        break;
      case 'check-ended':
        checks.set(event.result.index, event.result);
        draft.checks = inOrder(checks);
        break;
      case 'judged':
        draft.judged = event;
        break;
      case 'scm-started':
      case 'scm':
        tasks.set(event.task, taskOf(event, tasks.get(event.task)));
        draft.tasks = [...tasks.values()];
        break;
      case 'iteration-ended':
        // Without a judgement it was broken off by a signal, and is not over.
        draft.ended = draft.judged !== undefined;
    }
  };
  return {
    add,
    now: () => ({ ...draft }),
    wasted() {
      if (draft.judged) return [];
      const all = draft.turn ? [draft.turn.usage] : [...attempts, ...(soFar ? [soFar.total(undefined)] : [])];
      return all.filter(({ tokens, cost }) => tokens !== undefined || cost !== undefined);
    },
  };
}

type Started = Timed & { type: 'iteration-started' };

function begunIteration({ iteration, mode, story }: Started): Draft<PastIteration> {
  return {
    number: iteration,
    ...(mode !== undefined && { mode }),
    ...(story !== undefined && { story }),
    attempt: 1,
    tampered: [],
    violations: [],
    checks: [],
    tasks: [],
    ended: false,
    duration: 0,
  };
}

/** Of the configuration: those that ran side by side ended in any. */
function inOrder(checks: ReadonlyMap<number, CheckResult>): readonly CheckResult[] {
  return [...checks.values()].sort((a, b) => a.index - b.index);
}

function taskOf(event: RunEvent & { type: 'scm' | 'scm-started' }, before: PastTask | undefined): PastTask {
  if (event.type === 'scm-started') return { task: event.task, head: event.head };
  return { task: event.task, head: before?.head ?? null, outcome: event.outcome };
}

/** On the run's own clock as far as it told it; by the time of day for what came after. */
function createElapsed() {
  let [elapsed, waited, last] = [0, 0, 0];
  let isWaiting = false;
  let isPaused = false;
  return {
    tick(event: Timed): void {
      const isGap = last === 0 || isPaused || event.type === 'run-resumed';
      const gap = isGap ? 0 : Math.max(0, event.time - last) / 1000;
      if (isWaiting) waited += gap;
      if (event.type === 'paused') isPaused = true;
      if (event.type === 'continued' || event.type === 'run-resumed') isPaused = false;
      elapsed = event.type === 'judged' ? event.spent.elapsed : elapsed + gap;
      isWaiting = event.type === 'waiting';
      last = event.time;
    },
    last: () => last,
    isPaused: () => isPaused,
    waited: () => waited,
    elapsed: () => elapsed,
  };
}
