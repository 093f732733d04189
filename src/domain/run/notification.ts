/** What is worth a notification: the run has stopped, it waits for a limit, an agent asks something, or it is about to stop for lack of progress. */

import { provenWords } from '../checks/proof.ts';
import { answerCommand, questionWords } from '../stories/questions.ts';
import { pick, sameFor } from '../text/fields.ts';
import { isLimit } from '../turn/trouble.ts';
import type { LoopCommand, RunEvent } from './event.ts';
import { endingSentence } from './headline.ts';
import type { RunOverview } from './overview.ts';
import { type LoopResult, provenBy } from './result.ts';
import { formatStandstill } from './standstill.ts';
import { isSuccess } from './stop-reason.ts';
import type { Feedback } from './verdict.ts';

export const OCCASIONS = ['stopped', 'waiting', 'stuck', 'question'] as const;
export type Occasion = (typeof OCCASIONS)[number];

/** What a notify command gets on stdin and a webhook as its body. Fields are only ever added. */
export interface Notification
  extends Pick<RunOverview, 'title' | 'iteration' | 'until' | 'stopReason' | 'cost' | 'proof'> {
  readonly version: 1;
  readonly occasion: Occasion;
  readonly runId: string;
  readonly command: LoopCommand;
  readonly agent: string;
  /** The name of the project's folder. */
  readonly project: string;
  /** One sentence for people. */
  readonly message: string;
  /** null while the run has not ended. */
  readonly success: boolean | null;
  /** Seconds. */
  readonly duration: number | null;
  readonly branch: string | null;
}

type Head = Pick<Notification, 'runId' | 'command' | 'agent' | 'title' | 'project'>;

/** Reads a run's events in order; undefined for those that need no notification. */
export function createNotifications(): (event: RunEvent) => Notification | undefined {
  let iteration = 0;
  let sandbox: string | undefined;
  let head: Head = { runId: '', command: 'run', agent: '', title: null, project: '' };
  return event => {
    switch (event.type) {
      case 'run-started':
      case 'run-resumed':
        sandbox = event.sandbox;
        head = {
          ...pick(event, 'runId', 'command', 'agent'),
          title: event.title ?? null,
          project: event.cwd.split(/[\\/]/).findLast(part => part !== '') ?? '',
        };
        return undefined;
      case 'iteration-started':
        iteration = event.iteration;
        return undefined;
      case 'waiting': {
        const { trouble, until } = event;
        if (!isLimit(trouble)) return undefined;
        const message = `Waiting for a limit to reset: ${trouble.message}`;
        return { ...NOT_ENDED, ...head, occasion: 'waiting', message, iteration, until };
      }
      case 'question-asked': {
        const message = `${questionWords(event)} Answer: ${answerCommand(event.story)}`;
        return { ...NOT_ENDED, ...head, occasion: 'question', message, iteration };
      }
      case 'iteration-ended': {
        const { verdict, usage } = event;
        const why =
          verdict.kind === 'continue'
            ? verdict.feedback.flatMap(item => noProgress(item) ?? [])[0]
            : undefined;
        if (why === undefined) return undefined;
        const message = `No progress: ${why} The run stops soon.`;
        return { ...NOT_ENDED, ...head, occasion: 'stuck', message, iteration, cost: usage.cost ?? null };
      }
      case 'run-ended':
        return { ...head, ...stoppedBy(event.result, sandbox) };
      default:
        return undefined;
    }
  };
}

function stoppedBy(result: LoopResult, sandbox: string | undefined): Omit<Notification, keyof Head> {
  const ended = provenBy(result, sandbox);
  const proof = provenWords(ended);
  return {
    ...NOT_ENDED,
    occasion: 'stopped',
    message: [endingSentence(ended), ...(isSuccess(result.stopReason) ? [`Proof: ${proof}.`] : [])].join(' '),
    iteration: result.iterations.length,
    ...pick(result, 'success', 'stopReason', 'branch'),
    cost: result.totalCost,
    duration: result.totalDuration,
    proof,
  };
}

function noProgress(feedback: Feedback): string | undefined {
  if (feedback.kind === 'stuck') return `the same failure ${feedback.repeats} times without a change.`;
  return feedback.kind === 'standstill' ? formatStandstill(feedback.standstill) : undefined;
}

const NOT_ENDED = {
  version: 1,
  ...sameFor(null, 'success', 'stopReason', 'cost', 'duration', 'branch', 'proof', 'until'),
} as const;
