/** What went wrong, from what an agent says of it: its HTTP status first, the text of its error last. */
import type { AgentEvent } from '../domain/agent-event.ts';
import { classifyError, classifyStatus, type Trouble, type TroubleClass } from '../domain/trouble.ts';

interface Failure {
  readonly message: string;
  readonly status?: number | undefined;
  /** A class that the agent names itself. */
  readonly class?: TroubleClass | undefined;
  /** In milliseconds since 1970. */
  readonly resetAt?: number | undefined;
}

/** The agent gave up. */
export function gaveUp(failure: Failure): AgentEvent {
  return { kind: 'trouble', trouble: troubleOf(failure), retrying: false };
}

/** The agent is trying again by itself. */
export function retrying(failure: Failure): AgentEvent {
  return { kind: 'trouble', trouble: troubleOf(failure), retrying: true };
}

function troubleOf({ message, status, class: named, resetAt }: Failure): Trouble {
  const byText = classifyError(message);
  const known = status ?? byText.status;
  return {
    class: named ?? (status === undefined ? byText.class : classOf(status, byText.class)),
    message,
    ...(known !== undefined && { status: known }),
    ...(resetAt !== undefined && { resetAt }),
  };
}

/** Providers answer 400 and 429 for things that are neither a wrong call nor a matter of waiting a little. */
function classOf(status: number, byText: TroubleClass): TroubleClass {
  const vague = status === 400 || status === 429;
  return vague && (byText === 'quota' || byText === 'context-overflow') ? byText : classifyStatus(status);
}

/** A time that some agents give in seconds and some in milliseconds. */
export function milliseconds(time: number | undefined): number | undefined {
  return time !== undefined && time < 1e12 ? time * 1000 : time;
}
