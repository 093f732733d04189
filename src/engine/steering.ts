/** How a user steers a run from another terminal: pause and continue, and words for the agent. All of it is files in the run's folder. */
import { existsSync } from 'node:fs';
import type { Emit } from '../domain/event.ts';
import { addHints } from '../domain/prompt.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';
import { markTold, settleHints, waitingHints } from '../store/hints.ts';
import type { RunPaths } from '../store/paths.ts';
import { pause } from '../turns/wait.ts';

/** What a plan does so that the user's changes while paused are not taken for the agent's. */
export interface PauseCare {
  /** Before the user's hands are on the files. */
  begin(iteration: number): Promise<void>;
  end(): Promise<void>;
}

export interface Steering {
  /** Waits as long as the run is paused; answers the seconds. */
  pausePoint(iteration: number): Promise<number>;
  /** The prompt with what the user has to say. It is on record as told, and told once. */
  tell(iteration: number, prompt: string): string;
  /** The iteration that carried it has been judged. One that a signal broke off has not: it is taken again, hints and all. */
  settle(): void;
  /** The run is over: says what the agent was never told. */
  close(): void;
  care(care: PauseCare): void;
}

export interface SteeringOptions {
  readonly paths: RunPaths;
  readonly emit: Emit;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
}

/** Milliseconds between two looks whether a paused run may go on. */
const LOOK_EVERY = 200;

export function createSteering({ paths, emit, clock, stopping }: SteeringOptions): Steering {
  const cares: PauseCare[] = [];
  let carried = settleHints(paths);
  return {
    async pausePoint(iteration) {
      if (!existsSync(paths.paused) || stopping.aborted) return 0;
      const began = clock.ticks();
      for (const care of cares) await care.begin(iteration);
      emit({ type: 'paused' });
      while (existsSync(paths.paused) && !stopping.aborted) await pause(LOOK_EVERY, stopping);
      if (!stopping.aborted) {
        for (const care of cares) await care.end();
        emit({ type: 'continued' });
      }
      return secondsSince(clock, began);
    },
    tell(iteration, prompt) {
      const hints = waitingHints(paths);
      for (const { id, text } of hints) emit({ type: 'told', iteration, hint: id, text });
      carried = hints.map(hint => hint.id);
      return addHints(prompt, [...new Set(hints.map(hint => hint.text.trim()))]);
    },
    settle() {
      markTold(paths, carried);
      carried = [];
    },
    close() {
      const left = waitingHints(paths).length;
      if (left === 0) return;
      const text = `The run ended before the agent could be told ${left === 1 ? 'a hint' : `${left} hints`}: ${paths.hints}`;
      emit({ type: 'notice', level: 'warning', text });
    },
    care: care => void cares.push(care),
  };
}
