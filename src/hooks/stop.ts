/** The agent wants to stop. Seed 003's algorithm: gather, judge, let go or send back. */
import { type Claim, createClaimScanner, NO_CLAIM } from '../domain/completion.ts';
import { formatFeedback } from '../domain/feedback.ts';
import { formatFailure } from '../domain/loop-prompt.ts';
import {
  continuation,
  contract,
  iterationMessage,
  missingPromise,
  NO_PROMISE_SET,
  NO_WORK_DONE,
  ruleOf,
  type SessionState,
} from '../domain/session.ts';
import { afterBlock, elapsedOf, sessionEvidence, sessionRun } from '../domain/session-verdict.ts';
import { type Feedback, judge } from '../domain/verdict.ts';
import {
  type DamagedFile,
  listSessions,
  removeSession,
  type SessionFile,
  setAside,
  writeSession,
} from '../store/session-file.ts';
import { record } from '../store/session-ledger.ts';
import { type Cap, type Dialect, type HookAnswer, type HookInput, NOTHING } from './host.ts';
import { openRun } from './ledger.ts';
import { verify } from './verify.ts';

/** What a decision changes. */
interface Deeds {
  readonly open: typeof openRun;
  readonly record: typeof record;
  readonly write: typeof writeSession;
  readonly remove: typeof removeSession;
  /** Moves a damaged file out of the way and says where it is now. */
  readonly setAside: typeof setAside;
}

const DEEDS: Deeds = { open: openRun, record, write: writeSession, remove: removeSession, setAside };

/** For a host that must know what a stop would come to before it has happened. */
export const NO_DEEDS: Deeds = {
  open: () => '',
  record() {},
  write() {},
  remove() {},
  setAside: path => path,
};

export async function onStop(
  root: string,
  dialect: Dialect,
  input: HookInput,
  deeds: Deeds = DEEDS,
): Promise<HookAnswer> {
  const files = listSessions(root);
  const found = files.find(
    (file): file is SessionFile => 'state' in file && file.state.sessionId === input.sessionId,
  );
  if (!found) return damaged(files, deeds);
  // Esc, or another prompt: the loop sleeps. A sub-agent will bring its own turn.
  const { active } = found.state;
  if (!active || isElsewhere(found.state, input) || input.inSubagent || input.pending > 0) return NOTHING;
  const mine = inLedger(root, dialect.host, found, deeds);
  const { state } = mine;
  const claim = await claimOf(state, dialect, input);
  const run = sessionRun(state);
  const before = sessionEvidence(state, claim, Date.now());
  // Checks cost time: they run when there is a claim that they could prove.
  const evidence =
    claim.found && state.toolCalls >= run.minToolCalls
      ? { ...before, checks: await verify(root, state, event => deeds.record(root, state.runId, event)) }
      : before;
  const verdict = judge(run, evidence);
  deeds.record(root, state.runId, {
    type: 'iteration-ended',
    iteration: state.iteration,
    claim,
    verdict,
    usage: evidence.spent.usage,
  });
  if (verdict.kind === 'stop') return letGo(root, mine, verdict.reason, deeds);
  return sendBack(mine, verdict.feedback, dialect.capOf(process.env), deeds);
}

/** A loop that was begun in a terminal, or by hand, has its run from the session that carries it out. */
function inLedger(root: string, host: string, { path, state }: SessionFile, { open }: Deeds): SessionFile {
  return { path, state: state.runId === '' ? { ...state, runId: open(root, state, host) } : state };
}

function isElsewhere(state: SessionState, input: HookInput): boolean {
  return state.promptId !== null && input.promptId !== null && state.promptId !== input.promptId;
}

/** A file that cannot be read may have been anybody's: it is set aside, and the stop goes through. */
function damaged(files: readonly (SessionFile | DamagedFile)[], deeds: Deeds): HookAnswer {
  const broken = files.find((file): file is DamagedFile => 'problem' in file);
  if (!broken) return NOTHING;
  const aside = deeds.setAside(broken.path, Date.now());
  return {
    kind: 'say',
    message: `⚠️ Ralph loop: State file corrupted\n  File: ${broken.path}\n  Problem: ${broken.problem}\n  It is kept as ${aside}. The loop has stopped; run /ralph-loop again to start afresh.`,
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

function letGo(
  root: string,
  { path, state }: SessionFile,
  reason: 'promise_accepted' | string,
  deeds: Deeds,
): HookAnswer {
  const done = reason === 'promise_accepted';
  const lazy = done && state.toolCalls < state.minToolCalls && state.onPromiseNoWork === 'warn';
  const message = done
    ? `✅ Ralph loop: Detected <promise>${state.completionPromise}</promise> after ${state.iteration} iteration(s). PROMISE_ACCEPTED${lazy ? ' (warning: no tool was called)' : ''}`
    : `🛑 Ralph loop: Max iterations (${state.maxIterations}) reached. MAX_ITERATIONS_REACHED`;
  deeds.remove(path);
  deeds.record(root, state.runId, {
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
    },
  });
  return { kind: 'say', message };
}

function sendBack(
  { path, state }: SessionFile,
  feedback: readonly Feedback[],
  cap: Cap | undefined,
  deeds: Deeds,
): HookAnswer {
  const next = afterBlock(state);
  deeds.write(path, next);
  return { ...blockAnswer(state, feedback, next), ...capWarning(next, cap) };
}

function blockAnswer(state: SessionState, feedback: readonly Feedback[], next: SessionState): HookAnswer {
  const why = sentences(state, feedback);
  return {
    kind: 'block',
    reason: continuation(state, why),
    message: iterationMessage(next),
    afresh: [contract(state), ...why].join('\n\n'),
  };
}

/** What an agent is told that makes no claim: the same at every stop, but for the number of the iteration. */
export function plainAnswer(state: SessionState, iteration: number): HookAnswer {
  const verdict = judge(sessionRun(state), sessionEvidence(state, NO_CLAIM, Date.now()));
  return blockAnswer(state, verdict.kind === 'continue' ? verdict.feedback : [], { ...state, iteration });
}

function sentences(state: SessionState, feedback: readonly Feedback[]): readonly string[] {
  const rule = ruleOf(state);
  if (!rule) return [NO_PROMISE_SET];
  const marker = `<promise>${rule.text}</promise>`;
  const told = feedback.flatMap(item => {
    if (item.kind === 'claim-missing') return [missingPromise(rule)];
    if (item.kind === 'no-work') return [NO_WORK_DONE];
    if (item.kind === 'check-failed') return [formatFailure(item.check)];
    return formatFeedback(item, marker) ?? [];
  });
  return told.length > 0 ? told : [missingPromise(rule)];
}

/** The host overrules a hook that blocks too often; better said before than found out after. */
function capWarning(state: SessionState, cap: Cap | undefined): { readonly warning?: string } {
  if (!cap) return {};
  const used = cap.toolsReset ? state.blocksInARow : state.iteration - 1;
  if (used < cap.blocks - 1) return {};
  const without = cap.toolsReset ? ' without a tool call' : '';
  return {
    warning: `⚠️ ${cap.host} ends a loop after ${cap.blocks} stops in a row${without}; this was number ${used}. ${cap.lift}`,
  };
}
