/** How the lanes of a parallel run got to where they are: what happened when, folded from its ledger. Plain data. */
import type { Integrated } from '../domain/lanes/board.ts';
import type { RunEvent } from '../domain/run/event.ts';
import { pick } from '../domain/text/fields.ts';
import { sentBackWords } from './board-words.ts';

/** What a lane did for a while. */
export interface LaneSpan {
  readonly story: string;
  readonly kind: 'building' | 'reviewing' | 'queued' | 'checks';
  /** Milliseconds since 1970. */
  readonly from: number;
  /** null: it is not over. */
  readonly to: number | null;
  /** The mode of an iteration; of checks the number of the candidate. */
  readonly what: string;
  /** Of checks that are over. */
  readonly passed?: boolean;
  readonly checks?: number;
}

/** What happened to a lane at one time. */
export interface LaneMark {
  readonly story: string;
  readonly kind: 'sent-back' | 'landed' | 'needs_you' | 'kept';
  readonly at: number;
  /** Why, or the commit. */
  readonly text: string;
  /** What the checks printed, where it was sent back for that. */
  readonly detail?: string;
}

export interface LaneHistory {
  readonly spans: readonly LaneSpan[];
  readonly marks: readonly LaneMark[];
  /** The account that was limited last. */
  readonly limited: { readonly agent: string; readonly until: number } | null;
  /** What became of the user's branch; null: not known yet. */
  readonly integrated: Integrated | null;
}

export const NO_HISTORY: LaneHistory = { spans: [], marks: [], limited: null, integrated: null };

/** The same one where the event is not about lanes. `lastAt`: the time of the event before. */
export function afterLaneEvent(
  history: LaneHistory,
  event: RunEvent,
  at: number,
  lastAt: number,
): LaneHistory {
  switch (event.type) {
    case 'story-step': {
      const kind = event.mode === 'review' ? 'reviewing' : 'building';
      return begin(history, { story: event.story, kind, from: at, what: event.mode });
    }
    case 'story-ended':
      return event.why === undefined
        ? end(history, at, event.story)
        : marked(end(history, at, event.story), { ...event, kind: 'needs_you', at, text: event.why });
    case 'queued':
      return begin(history, { story: event.story, kind: 'queued', from: at, what: '' });
    case 'candidate':
      return begin(history, {
        story: event.story,
        kind: 'checks',
        from: at,
        what: `candidate ${event.number}`,
      });
    case 'candidate-checked':
      return afterChecks(history, event, at);
    case 'landed':
      return marked(end(history, at, event.story), { ...event, kind: 'landed', at, text: event.commit });
    case 'sent-back':
      return marked(end(history, at, event.story), {
        ...event,
        kind: 'sent-back',
        at,
        text: sentBackWords(event),
      });
    case 'lane-kept': {
      const kind = event.needsYou ? 'needs_you' : 'kept';
      return marked(end(history, at, event.story), { story: event.story, kind, at, text: event.why });
    }
    case 'account-limited':
      return { ...history, limited: { agent: event.agent, until: event.until } };
    case 'integrated':
      return { ...history, integrated: pick(event, 'branch', 'commit', 'problem') };
    case 'run-resumed':
      return { ...end(history, lastAt), integrated: null };
    case 'run-ended':
      return end(history, at);
    default:
      return history;
  }
}

/** What it did before is over. */
function begin(history: LaneHistory, span: Omit<LaneSpan, 'to'>): LaneHistory {
  const { spans } = end(history, span.from, span.story);
  return { ...history, spans: [...spans, { ...span, to: null }] };
}

/** Closes what is open, of one lane or of all. */
function end(history: LaneHistory, at: number, story?: string): LaneHistory {
  const isOpen = (span: LaneSpan) => span.to === null && (story === undefined || span.story === story);
  if (!history.spans.some(isOpen)) return history;
  return { ...history, spans: history.spans.map(span => (isOpen(span) ? { ...span, to: at } : span)) };
}

type Checked = Extract<RunEvent, { readonly type: 'candidate-checked' }>;

/** Then it waits for its turn to land, or for the answer of the tip. */
function afterChecks(
  history: LaneHistory,
  { story, number, passed, results }: Checked,
  at: number,
): LaneHistory {
  const at0 = history.spans.findLastIndex(
    span => span.story === story && span.what === `candidate ${number}`,
  );
  const spans = history.spans.map((span, index) =>
    index === at0 ? { ...span, to: at, passed, checks: results.length } : span,
  );
  const isLast = !spans.some((span, index) => index > at0 && span.story === story);
  const rest = { story, kind: 'queued', from: at, to: null, what: '' } as const;
  return { ...history, spans: at0 >= 0 && isLast ? [...spans, rest] : spans };
}

function marked(
  history: LaneHistory,
  { story, kind, at, text, detail }: LaneMark & { readonly detail?: string | undefined },
): LaneHistory {
  const extra = detail === undefined || detail === '' ? {} : { detail: detail.slice(-LONGEST) };
  return { ...history, marks: [...history.marks, { story, kind, at, text, ...extra }] };
}

/** The end of what checks printed says why they failed. */
const LONGEST = 4_000;
