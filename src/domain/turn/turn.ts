/** Folds an agent's events into the result of one turn. Bounded memory, whatever the stream does. */

import { createKeepScanner } from '../lanes/conflict.ts';
import { createReviewScanner, type SpokenReview } from '../stories/review.ts';
import { defined } from '../text/fields.ts';
import type { AgentEvent } from './agent-event.ts';
import {
  BLOCKED_TAG,
  type Claim,
  type CompletionRule,
  createClaimScanner,
  createStatement,
  QUESTION_TAG,
} from './claim.ts';
import { createRefusals, type RefusedCalls } from './refusals.ts';
import type { Trouble } from './trouble.ts';
import {
  addReport,
  estimateOf,
  NO_USAGE,
  type Prices,
  type Usage,
  type UsageSoFar,
  usageOf,
} from './usage.ts';

export interface Turn {
  readonly claim: Claim;
  /** Why the agent says that it cannot continue. */
  readonly blocked?: string;
  /** What it asks the user to decide. */
  readonly question?: string;
  /** What it says of stories that it reviewed. */
  readonly reviews?: readonly SpokenReview[];
  /** Files that it keeps as a merge has left them. */
  readonly keeps?: readonly string[];
  /** The last message in the agent's own words, its end if it is long. */
  readonly lastWords: string;
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** What its own permissions did not allow it; absent: nothing. */
  readonly refused?: RefusedCalls;
  readonly usage: Usage;
  /** What the agent said of its own end; undefined when it never did. */
  readonly result?: { readonly ok: boolean; readonly error?: string };
  /** The last trouble that the agent did not get over. */
  readonly trouble?: Trouble;
  readonly sessionId?: string;
  readonly model?: string;
  /** Model calls, as the agent counts them, else its messages. */
  readonly steps: number;
  readonly unknownRecords: number;
}

const MAX_WORDS = 65_536;

export interface TurnFoldOptions extends Prices {
  readonly rule: CompletionRule;
  /** The model we asked for; the agent's own word for it wins. */
  readonly model?: string;
}

export function createTurnFold({ rule, model: asked, ...prices }: TurnFoldOptions) {
  const words = createWords(rule);
  const refusals = createRefusals();
  const facts: Facts = {
    toolCalls: 0,
    toolErrors: 0,
    steps: 0,
    unknownRecords: 0,
    model: asked,
    usage: NO_USAGE,
  };
  /** The result of the turn, when it is over. */
  const turn = (): Turn => {
    const { result, trouble, sessionId, model, usage, ...counts } = facts;
    return {
      ...counts,
      claim: words.claim(),
      lastWords: words.last(),
      usage: usageOf(usage),
      ...defined({ blocked: words.blocked(), question: words.question(), reviews: words.reviews() }),
      ...defined({ keeps: words.keeps() }),
      ...defined({ result, trouble, sessionId, model, refused: refusals.found() }),
    };
  };
  /** Usage so far, while the turn is running. */
  const usage = () => usageOf(facts.usage);
  return {
    /** Returns the event as it is to be recorded: with what its tokens cost, where the agent does not say. */
    add(event: AgentEvent): AgentEvent {
      const known = priced(event, facts.model, prices);
      add(known, facts, words);
      refusals.add(known);
      return known;
    },
    turn,
    usage,
  };
}

function priced(event: AgentEvent, model: string | undefined, prices: Prices): AgentEvent {
  if (event.kind !== 'usage' || event.cost !== undefined || !event.tokens) return event;
  const estimate = estimateOf(event.tokens, event.model ?? model, prices);
  return estimate ? { ...event, estimate } : event;
}

/** What is known so far; it grows with every event. */
interface Facts {
  toolCalls: number;
  toolErrors: number;
  steps: number;
  unknownRecords: number;
  usage: UsageSoFar;
  model: string | undefined;
  sessionId?: string | undefined;
  result?: Turn['result'];
  trouble?: Trouble | undefined;
}

function add(event: AgentEvent, facts: Facts, words: Words): void {
  switch (event.kind) {
    case 'text':
      if (words.add(event)) facts.steps++;
      break;
    case 'session':
      facts.sessionId = event.sessionId ?? facts.sessionId;
      facts.model = event.model ?? facts.model;
      break;
    case 'tool-start':
      facts.toolCalls++;
      words.endMessage();
      break;
    case 'tool-end':
      facts.toolErrors += event.ok ? 0 : 1;
      break;
    case 'usage':
      facts.model = event.model ?? facts.model;
      facts.usage = addReport(facts.usage, event);
      break;
    case 'result':
      facts.result = { ok: event.ok, ...(event.error !== undefined && { error: event.error }) };
      facts.toolCalls = Math.max(facts.toolCalls, event.toolCalls ?? 0);
      facts.steps = Math.max(facts.steps, event.modelTurns ?? 0);
      if (event.ok) facts.trouble = undefined;
      if (event.finalText !== undefined && !words.any()) words.add({ kind: 'text', text: event.finalText });
      words.endMessage();
      break;
    case 'trouble':
      if (!event.retrying) facts.trouble = addReset(event.trouble, facts.trouble);
      break;
    case 'unknown':
      facts.unknownRecords++;
      break;
    case 'aside':
    case 'todo':
    case 'progress':
      break;
    default:
      event satisfies never;
  }
}

type Words = ReturnType<typeof createWords>;

/** The agent's own words: searched for the claim, and the last message of them kept. */
function createWords(rule: CompletionRule) {
  const claims = createClaimScanner(rule);
  const blocks = createStatement(BLOCKED_TAG);
  const questions = createStatement(QUESTION_TAG);
  const reviews = createReviewScanner();
  const keeps = createKeepScanner();
  const scanners = [claims, blocks, questions, reviews, keeps];
  const boundary = () => {
    for (const scanner of scanners) scanner.boundary();
  };
  let words = '';
  let fresh = true;
  let message: string | undefined;
  let spoken = false;
  return {
    /** True when a new message begins. */
    add(event: AgentEvent & { kind: 'text' }): boolean {
      const continues = event.delta === true && event.message === message && !fresh;
      const sameMessage = continues || (event.message !== undefined && event.message === message);
      if (!continues) {
        boundary();
        words = sameMessage && words !== '' ? `${words}\n` : '';
      }
      message = event.message;
      fresh = false;
      spoken = true;
      for (const scanner of scanners) scanner.feed(event.text);
      // To cut is to copy: it is done when there is twice too much.
      words = event.text.length < MAX_WORDS ? words + event.text : event.text;
      if (words.length > 2 * MAX_WORDS) words = words.slice(-MAX_WORDS);
      return !sameMessage;
    },
    endMessage(): void {
      boundary();
      fresh = true;
    },
    any: () => spoken,
    claim: () => claims.claim(),
    blocked: blocks.said,
    question: questions.said,
    keeps: keeps.said,
    reviews() {
      reviews.boundary();
      const spoken = reviews.spoken();
      return spoken.length > 0 ? spoken : undefined;
    },
    last: () => words.slice(-MAX_WORDS),
  };
}

/** An agent may report the end of a limit in one record and fail in the next. */
function addReset(trouble: Trouble, before: Trouble | undefined): Trouble {
  const limited = trouble.class === 'rate-limit' || trouble.class === 'quota';
  if (!limited || trouble.resetAt !== undefined || before?.resetAt === undefined) return trouble;
  return { ...trouble, resetAt: before.resetAt };
}
