/** The agent wants to stop. Seed 003's algorithm: gather, judge, let it stop or send it back. */

import { type Cap, type Dialect, type HookAnswer, type HookInput, NOTHING } from '../agents/dialect.ts';
import type { RunEvent } from '../domain/run/event.ts';
import type { Evidence, TurnOutcome } from '../domain/run/evidence.ts';
import { formatFailure } from '../domain/run/loop-prompt.ts';
import { type Feedback, judge, type Verdict } from '../domain/run/verdict.ts';
import {
  afterBlock,
  comingBack,
  continuation,
  contract,
  isElsewhere,
  iterationMessage,
  missingPromise,
  NO_PROMISE_SET,
  NO_WORK_DONE,
  ruleOf,
  type SessionState,
  sessionEvidence,
  sessionRun,
} from '../domain/session/session.ts';
import { formatFeedback } from '../domain/text/feedback.ts';
import { defined, pick } from '../domain/text/fields.ts';
import { isProblem } from '../domain/text/problem.ts';
import { blockedIn, type Claim, claimIn } from '../domain/turn/claim.ts';
import { systemClock } from '../platform/clock.ts';
import {
  changeSession,
  endSession,
  type FoundFile,
  listSessions,
  NEXT,
  type SessionFile,
  sessionIn,
} from '../store/session-file.ts';
import {
  endDeleted,
  endRun,
  hold,
  openRun,
  record,
  turnStarted,
  wasCancelled,
} from '../store/session-ledger.ts';
import { withToolCalls } from './calls.ts';
import { loadBeside } from './load-heavy.ts';
import { putBack, withProtected } from './protected.ts';
import type { Verified } from './verify.ts';

/** Everything about this stop. */
interface Stop {
  readonly root: string;
  readonly dialect: Dialect;
  readonly input: HookInput;
  readonly effects: Effects;
  readonly file: SessionFile;
  readonly began: number;
}

export async function onStop(
  root: string,
  dialect: Dialect,
  input: HookInput,
  effects: Effects = EFFECTS,
): Promise<HookAnswer> {
  const began = systemClock.ticks();
  const files = listSessions(root);
  const found = sessionIn(files, input.sessionId);
  if (!found) {
    if (!effects.isPeek) endDeleted(root);
    return reportStrangers(files, input);
  }
  // Another prompt, or none of the loop's turns. A sub-agent will bring its own turn.
  const { active } = found.state;
  if (!active || isElsewhere(found.state, input.promptId) || input.inSubagent) return NOTHING;
  const file = await withRun({ root, dialect, input, effects, file: found, began });
  if (!file) return NOTHING;
  const stop: Stop = { root, dialect, input, effects, file, began };
  effects.hold(root, file.state.runId);
  if (input.pending > 0) return letWait(stop, []);
  if (input.isInterrupted) return await letSleep(stop, file.state, 'was interrupted');
  const words = await dialect.finalWords(input, file.state.transcriptRead);
  if (words === null) return await letSleep(stop, file.state, 'was interrupted');
  const rule = ruleOf(file.state);
  const claim = claimIn(words ?? [], rule);
  const state = await withToolCalls(file.state, dialect, input, claim.found ? file.state.minToolCalls : 0);
  const isEmpty = (words ?? []).every(text => INVISIBLE.test(text));
  if (isEmpty && state.toolCalls === state.callsBefore) return await letSleep(stop, state, 'was empty');
  const blocked = blockedIn(words ?? []);
  const work = [...input.wakeUps, ...comingBack(state, input.shells)];
  if (!claim.found && blocked === undefined && work.length > 0) return letWait(stop, work);
  return await judgeTurn(stop, state, { claim, ...defined({ blocked }) });
}

/** Spaces, and what takes none. */
const INVISIBLE = /^[\s\u200b-\u200f\u2060\ufeff]*$/;

/** A loop that was begun in a terminal has its run from the session that carries it out. undefined: it ended just now. */
async function withRun({ root, dialect, effects, file }: Stop): Promise<SessionFile | undefined> {
  if (file.state.runId !== '') return file;
  const runId = effects.open(root, file.state, dialect.host);
  const found = effects.isPeek ? file : await withProtected(root, { ...file.state, runId });
  const { protect, kept } = isProblem(found) ? file.state : found.state;
  const state = effects.change(file, now => ({ ...now, runId, protect, kept }));
  return state && { ...file, state };
}

/** Something will bring the agent back: to send it round meanwhile would only burn iterations. */
function letWait({ effects, file, input, dialect }: Stop, work: readonly string[]): HookAnswer {
  const { wakeUps } = input;
  effects.change(file, now => (now.wakeUps.join() === wakeUps.join() ? undefined : { ...now, wakeUps }));
  if (work.length === 0) return NOTHING;
  const shown = work.map(each => `\`${each.slice(0, 80)}\``).join(', ');
  const message = `⏳ Ralph: the loop waits for ${shown}, which brings the agent back. ${dialect.prefix}ralph-loop continues at once.`;
  return { kind: 'say', message };
}

/** Nobody said or did anything: to send such a turn back would be a trap. */
async function letSleep(stop: Stop, counted: SessionState, why: string): Promise<HookAnswer> {
  const { effects, root, file } = stop;
  if (!effects.isPeek) await putBack(root, file.state);
  const asleep = effects.change(file, now =>
    now.active ? { ...withCounts(now, counted), active: false } : undefined,
  );
  if (!asleep) return NOTHING;
  const outcome = { kind: 'ended', by: 'interrupt' } as const;
  effects.record(root, asleep.runId, agentEnded(stop, counted, outcome), { type: 'paused' });
  const { prefix } = stop.dialect;
  const message = `⏸️ Ralph: the turn ${why}, so the loop sleeps at iteration ${asleep.iteration}. ${prefix}ralph-loop resumes it, ${prefix}cancel-ralph ends it.`;
  return { kind: 'say', message };
}

const NOTHING_CHECKED: Verified = { results: [], contained: 'none' };

type Said = Pick<Evidence, 'claim' | 'blocked'> & { readonly claim: Claim };

async function judgeTurn(stop: Stop, state: SessionState, said: Said): Promise<HookAnswer> {
  const { root, effects, file } = stop;
  const { runId } = state;
  const { usage } = sessionEvidence(state, said.claim, Date.now()).spent;
  const toolCalls = state.toolCalls - state.callsBefore;
  const ended: readonly RunEvent[] = [
    ...(file.isChanged ? [{ type: 'notice', level: 'warning', text: CHANGED } as const] : []),
    agentEnded(stop, state, { kind: 'completed' }),
    { type: 'turn-ended', outcome: { kind: 'completed' }, ...said, steps: 0, toolCalls, usage },
  ];
  const run = sessionRun(state);
  const before: Evidence = { ...sessionEvidence(state, said.claim, Date.now()), ...said };
  // Checks cost time: they run when there is a claim that they could prove.
  const isWorth = said.claim.found && state.toolCalls >= run.minToolCalls && state.checks.length > 0;
  const isSlow = isWorth || state.kept !== null;
  if (isSlow) effects.record(root, runId, ...ended);
  // Before the checks, and also for a peek, whose checks count: what they see is what the user has protected.
  const violations = await putBack(root, state);
  const { results: checks, ...proof } = isWorth
    ? await loadBeside('ralph-hook-more').verify(stop, state)
    : NOTHING_CHECKED;
  // Cancelled while they ran: nothing more is said or written.
  if (isSlow && effects.isOver(root, file)) return NOTHING;
  const evidence = { ...before, checks, violations, ...pick(proof, 'inputsChanged') };
  const verdict = judge(run, evidence);
  const { iteration } = state;
  const { treeChanged, repeats, spent } = evidence;
  const judged: readonly RunEvent[] = [
    ...(isSlow ? [] : ended),
    {
      ...{ type: 'judged', iteration, verdict, treeChanged, repeats, spent, tree: null, limits: run.limits },
      ...pick(proof, 'inputsChanged'),
    },
    { type: 'iteration-ended', iteration, claim: said.claim, verdict, usage },
  ];
  if (verdict.kind === 'stop')
    return endLoop(stop, state, { ...verdict, contained: proof.contained }, judged);
  return sendBack(stop, state, verdict.feedback, judged);
}

function agentEnded({ file }: Stop, state: SessionState, outcome: TurnOutcome): RunEvent {
  const { turnAt } = file.state;
  return {
    type: 'agent-ended',
    purpose: 'work',
    outcome,
    duration: turnAt === 0 ? 0 : Math.max(0, Date.now() - turnAt) / 1000,
    toolCalls: state.toolCalls - state.callsBefore,
    toolErrors: null,
    usage: sessionEvidence(state, { found: false }, Date.now()).spent.usage,
  };
}

const CHANGED = 'The state file of the loop was changed by somebody else: what the user started counts.';

/** The loop as it is now, with what was counted at this stop. */
function withCounts(now: SessionState, counted: SessionState): SessionState {
  return {
    ...now,
    toolCalls: Math.max(now.toolCalls, counted.toolCalls),
    transcriptRead: Math.max(now.transcriptRead, counted.transcriptRead),
    blocksInARow: counted.blocksInARow,
  };
}

/**
 * A file that no user of this machine has started a loop with came with the repository, or from an agent. It is shown to the session that
 * it is made for, and nothing in it is obeyed.
 */
export function reportStrangers(files: readonly FoundFile[], input: HookInput): HookAnswer {
  const stranger = files
    .filter(file => 'stranger' in file)
    .find(({ sessionId }) => sessionId === null || sessionId === NEXT || sessionId === input.sessionId);
  if (!stranger) return NOTHING;
  return {
    kind: 'say',
    message: `⚠️ Ralph: ${stranger.path} ${stranger.stranger}. Nothing in it is obeyed; delete it, or start a loop of your own with /ralph-loop TASK.`,
  };
}

type Ending = Extract<Verdict, { readonly kind: 'stop' }> & Pick<Verified, 'contained'>;

function endLoop(
  { root, file, effects }: Stop,
  state: SessionState,
  { reason, detail, contained }: Ending,
  judged: readonly RunEvent[],
): HookAnswer {
  // Cancelled meanwhile: that has been said already.
  if (!effects.end(file)) return NOTHING;
  effects.record(root, state.runId, ...judged);
  effects.endRun(root, state, { stopReason: reason, detail, contained });
  return { kind: 'say', message: endingMessage(state, reason, detail) };
}

function endingMessage(state: SessionState, reason: Ending['reason'], detail = ''): string {
  if (reason === 'blocked') return `🛑 Ralph loop: the agent says that it is blocked: ${detail}`;
  if (reason !== 'promise_accepted')
    return `🛑 Ralph loop: Max iterations (${state.maxIterations}) reached. MAX_ITERATIONS_REACHED`;
  const lazy = state.toolCalls < state.minToolCalls && state.onPromiseNoWork === 'warn';
  return `✅ Ralph loop: Detected <promise>${state.completionPromise}</promise> after ${state.iteration} iteration(s). PROMISE_ACCEPTED${lazy ? ' (warning: no tool was called)' : ''}`;
}

function sendBack(
  { root, file, effects, dialect, input }: Stop,
  state: SessionState,
  feedback: readonly Feedback[],
  judged: readonly RunEvent[],
): HookAnswer {
  const next = effects.change(file, now =>
    now.active && !isElsewhere(now, input.promptId)
      ? afterBlock(withCounts(now, state), Date.now())
      : undefined,
  );
  // Cancelled, or left by the user, while this was judged: nobody is sent back to it.
  if (!next) return NOTHING;
  const why = sentences(state, feedback);
  const reason = continuation(state, why);
  const following = turnStarted(next.iteration, next, reason, dialect.host);
  effects.record(root, state.runId, ...judged, ...following);
  return {
    kind: 'block',
    reason,
    message: iterationMessage(next),
    afresh: [contract(state), ...why].join('\n\n'),
    ...(file.isChanged ? { warning: `⚠️ Ralph: ${CHANGED}` } : capWarning(next, dialect.capOf(process.env))),
  };
}

function sentences(state: SessionState, feedback: readonly Feedback[]): readonly string[] {
  const rule = ruleOf(state);
  if (!rule) return [NO_PROMISE_SET];
  const marker = `<promise>${rule.text}</promise>`;
  const found = feedback.flatMap(item => {
    if (item.kind === 'claim-missing') return [missingPromise(rule)];
    if (item.kind === 'no-work') return [NO_WORK_DONE];
    if (item.kind === 'check-failed') return [formatFailure(item.check)];
    return formatFeedback(item, marker) ?? [];
  });
  return found.length > 0 ? found : [missingPromise(rule)];
}

/** The host overrules a hook that blocks too often: the user should know before it happens. */
function capWarning(state: SessionState, cap: Cap | undefined): { readonly warning?: string } {
  if (!cap) return {};
  const used = cap.toolsReset ? state.blocksInARow : state.iteration - 1;
  if (used < cap.blocks - 1) return {};
  const without = cap.toolsReset ? ' without a tool call' : '';
  return {
    warning: `⚠️ ${cap.host} ends a loop after ${cap.blocks} stops in a row${without}; this was number ${used}. ${cap.lift}`,
  };
}

/** What a decision changes. */
const EFFECTS = {
  /** Whether they are none: somebody wants to know, and the stop itself comes later. */
  isPeek: false,
  open: openRun,
  hold,
  record,
  change: changeSession,
  end: endSession,
  endRun,
  isOver: wasCancelled,
};

type Effects = typeof EFFECTS;

/** For a host that must know the answer to a stop before it happens. */
export const NO_EFFECTS: Effects = {
  isPeek: true,
  open: () => '',
  hold() {},
  record() {},
  change: ({ state }, change) => change(state),
  end: ({ state }) => state,
  endRun() {},
  isOver: () => false,
};
