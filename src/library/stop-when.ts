/** Conditions of a program that stop a run, and how they are put together. Pure: they see what was done so far, and nothing else. */
import type { IterationResult } from '../domain/run/result.ts';
import type { Tokens } from '../domain/turn/usage.ts';

/** What a run has done so far. */
export interface RunProgress {
  /** The iteration that has just ended. */
  readonly latest: IterationResult;
  /** All of them, those before a resumption included. */
  readonly iterations: readonly IterationResult[];
  /** Dollars; null: unknown, which is not zero. */
  readonly totalCost: number | null;
  readonly totalTokens: Tokens | null;
  /** Seconds, without pauses. */
  readonly elapsed: number;
}

/** Whether to stop: yes or no, or yes with the words for it. Must not wait for anything. */
export type StopCondition = (progress: RunProgress) => boolean | string;

/** Holds when one of them does; with its words. */
export function anyOf(...conditions: readonly StopCondition[]): StopCondition {
  return progress => {
    for (const condition of conditions) {
      const words = holds(condition, progress);
      if (words !== undefined) return words;
    }
    return false;
  };
}

/** Holds when all of them do; with the words of all. */
export function allOf(...conditions: readonly StopCondition[]): StopCondition {
  return progress => {
    const words = conditions.map(condition => holds(condition, progress));
    return words.length > 0 && words.every(each => each !== undefined) && words.join(' and ');
  };
}

/** Holds when the other does not. */
export function not(condition: StopCondition): StopCondition {
  return progress => (holds(condition, progress) === undefined ? `not ${nameOf(condition)}` : false);
}

/** After so many iterations. Unlike `maxIterations` it can be combined with others. */
export function iterationsReach(count: number): StopCondition {
  return ({ iterations }) => iterations.length >= count && `${count} iterations`;
}

/** When so many dollars are known to be spent. */
export function costReaches(dollars: number): StopCondition {
  return ({ totalCost }) => (totalCost ?? 0) >= dollars && `$${dollars} spent`;
}

/** When so many seconds are over. */
export function timeReaches(seconds: number): StopCondition {
  return ({ elapsed }) => elapsed >= seconds && `${seconds} s are over`;
}

/** When this check, or any where none is named, was red so many times in a row. */
export function checkFails(times: number, name?: string): StopCondition {
  const isRed = ({ checkResults }: IterationResult) =>
    checkResults.some(check => !check.passed && (name === undefined || check.name === name));
  return ({ iterations }) => {
    const recent = iterations.slice(-times);
    return (
      recent.length >= times && recent.every(isRed) && `${name ?? 'a check'} failed ${times} times in a row`
    );
  };
}

/** The words for a condition that holds; undefined: it does not. */
export function holds(condition: StopCondition, progress: RunProgress): string | undefined {
  const answer = condition(progress);
  if (answer === false || answer === '') return undefined;
  return answer === true ? nameOf(condition) : answer;
}

function nameOf({ name }: StopCondition): string {
  return name === '' ? 'a condition' : name;
}
