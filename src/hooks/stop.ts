/** The agent wants to stop. Seed 003's algorithm: gather, judge, let it stop or send it back. */

import { type Cap, type Dialect, type HookAnswer, type HookInput, NOTHING } from '../agents/dialect.ts';
import { countCalls, transcriptSize, waitFor } from '../agents/transcript.ts';
import { type Claim, createClaimScanner, NO_CLAIM } from '../domain/completion.ts';
import { formatFeedback } from '../domain/feedback.ts';
import { formatFailure } from '../domain/loop-prompt.ts';
import { UNPROVEN } from '../domain/proof.ts';
import {
  afterBlock,
  afterCalls,
  continuation,
  contract,
  elapsedOf,
  iterationMessage,
  missingPromise,
  NO_PROMISE_SET,
  NO_WORK_DONE,
  ruleOf,
  type SessionState,
  sessionEvidence,
  sessionRun,
} from '../domain/session.ts';
import { type Feedback, judge } from '../domain/verdict.ts';
import {
  type FoundFile,
  listSessions,
  NEXT,
  removeSession,
  type SessionFile,
  sessionIn,
  writeSession,
} from '../store/session-file.ts';
import { openRun, record } from '../store/session-ledger.ts';
import { verify } from './verify.ts';

/** What a decision changes. */
interface Effects {
  readonly open: typeof openRun;
  readonly record: typeof record;
  readonly write: typeof writeSession;
  readonly remove: typeof removeSession;
}

const EFFECTS: Effects = { open: openRun, record, write: writeSession, remove: removeSession };

/** For a host that must know the answer to a stop before it happens. */
export const NO_EFFECTS: Effects = {
  open: () => '',
  record() {},
  write() {},
  remove() {},
};

export async function onStop(
  root: string,
  dialect: Dialect,
  input: HookInput,
  effects: Effects = EFFECTS,
): Promise<HookAnswer> {
  const files = listSessions(root);
  const found = sessionIn(files, input.sessionId);
  if (!found) return reportStrangers(files, input);
  // Esc, or another prompt: the loop sleeps. A sub-agent will bring its own turn.
  const { active } = found.state;
  if (!active || isElsewhere(found.state, input) || input.inSubagent || input.pending > 0) return NOTHING;
  const opened = withRun(root, dialect.host, found.state, effects);
  if (found.isChanged)
    effects.record(root, opened.runId, { type: 'notice', level: 'warning', text: CHANGED });
  const claim = await claimOf(opened, dialect, input);
  const run = sessionRun(opened);
  const state = await withToolCalls(opened, dialect, input, claim.found ? opened.minToolCalls : 0);
  const before = sessionEvidence(state, claim, Date.now());
  // Checks cost time: they run when there is a claim that they could prove.
  const evidence =
    claim.found && state.toolCalls >= run.minToolCalls
      ? { ...before, checks: await verify(root, state, event => effects.record(root, state.runId, event)) }
      : before;
  const verdict = judge(run, evidence);
  effects.record(root, state.runId, {
    type: 'iteration-ended',
    iteration: state.iteration,
    claim,
    verdict,
    usage: evidence.spent.usage,
  });
  if (verdict.kind === 'stop') return endLoop(root, { ...found, state }, verdict.reason, effects);
  return sendBack({ ...found, state }, verdict.feedback, dialect.capOf(process.env), effects);
}

const CHANGED = 'The state file of the loop was changed by somebody else: what the user started counts.';

/** A loop that was begun in a terminal has its run from the session that carries it out. */
function withRun(root: string, host: string, state: SessionState, { open }: Effects): SessionState {
  return state.runId === '' ? { ...state, runId: open(root, state, host) } : state;
}

function isElsewhere(state: SessionState, input: HookInput): boolean {
  return state.promptId !== null && input.promptId !== null && state.promptId !== input.promptId;
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

async function claimOf(state: SessionState, dialect: Dialect, input: HookInput): Promise<Claim> {
  const rule = ruleOf(state);
  if (!rule) return NO_CLAIM;
  const scanner = createClaimScanner(rule);
  for (const text of await dialect.finalWords(input)) {
    scanner.feed(text);
    scanner.boundary();
  }
  return scanner.claim();
}

function endLoop(
  root: string,
  { path, state }: SessionFile,
  reason: 'promise_accepted' | string,
  effects: Effects,
): HookAnswer {
  const done = reason === 'promise_accepted';
  const lazy = done && state.toolCalls < state.minToolCalls && state.onPromiseNoWork === 'warn';
  const message = done
    ? `✅ Ralph loop: Detected <promise>${state.completionPromise}</promise> after ${state.iteration} iteration(s). PROMISE_ACCEPTED${lazy ? ' (warning: no tool was called)' : ''}`
    : `🛑 Ralph loop: Max iterations (${state.maxIterations}) reached. MAX_ITERATIONS_REACHED`;
  effects.remove(path);
  effects.record(root, state.runId, {
    type: 'run-ended',
    result: {
      runId: state.runId,
      success: done,
      stopReason: done ? 'promise_accepted' : 'max_iterations',
      detail: null,
      iterations: [],
      totalCost: null,
      unreportedCalls: 0,
      totalTokens: null,
      totalDuration: elapsedOf(state, Date.now()),
      worktreePath: null,
      branch: null,
      proof: { ...UNPROVEN, level: state.checks.length === 0 ? 'claimed' : 'place' },
    },
  });
  return { kind: 'say', message };
}

function sendBack(
  { path, state, isChanged }: SessionFile,
  feedback: readonly Feedback[],
  cap: Cap | undefined,
  effects: Effects,
): HookAnswer {
  const next = afterBlock(state);
  effects.write(path, next);
  const why = sentences(state, feedback);
  return {
    kind: 'block',
    reason: continuation(state, why),
    message: iterationMessage(next),
    afresh: [contract(state), ...why].join('\n\n'),
    ...(isChanged ? { warning: `⚠️ Ralph: ${CHANGED}` } : capWarning(next, cap)),
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

/** Milliseconds. A host may write its transcript a moment after it has called the hook. */
const PATIENCE = 300;

/** The state with the calls since the last stop. While there are fewer than are wanted, it waits a little for more. */
export async function withToolCalls(
  state: SessionState,
  dialect: Dialect,
  input: HookInput,
  wanted: number,
): Promise<SessionState> {
  const { calls: shown } = dialect;
  if (shown === null) return afterCalls(state, input.countedCalls);
  if (!hasTranscript(input)) return state;
  const { transcript } = input;
  const since = Date.parse(state.startedAt);
  let counted = state;
  await waitFor(PATIENCE, () => {
    const { calls, end } = countCalls(transcript, state.transcriptRead, since, shown);
    // Before the first count, the hook before a tool may have counted some of these calls.
    const more = state.transcriptRead === 0 ? Math.max(0, calls - state.toolCalls) : calls;
    counted = { ...afterCalls(state, more), transcriptRead: end };
    return counted.toolCalls >= wanted ? counted : undefined;
  });
  return counted;
}

/** A tool is about to run in a session without a transcript, such as one that is not saved: then this hook counts it. */
export function isUncounted({ calls, toolHookKnowsTranscript }: Dialect, input: HookInput): boolean {
  return calls !== null && toolHookKnowsTranscript && !hasTranscript(input);
}

function hasTranscript(input: HookInput): input is HookInput & { readonly transcript: string } {
  return transcriptSize(input.transcript) > 0;
}
