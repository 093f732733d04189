/** The agent wants to stop. Seed 003's algorithm: gather, judge, let go or send back. */
import { type Claim, createClaimScanner, NO_CLAIM } from '../domain/completion.ts';
import type { Evidence } from '../domain/evidence.ts';
import { feedbackSentence } from '../domain/feedback.ts';
import { failureSection } from '../domain/loop-prompt.ts';
import {
  continuation,
  iterationMessage,
  missingPromise,
  NO_PROMISE_SET,
  NO_WORK_DONE,
  ruleOf,
  type SessionState,
} from '../domain/session.ts';
import { type Feedback, judge, type Run } from '../domain/verdict.ts';
import {
  type DamagedFile,
  listSessions,
  removeSession,
  type SessionFile,
  setAside,
  writeSession,
} from '../store/session-file.ts';
import type { HookAnswer, HookInput } from './host.ts';
import { NOTHING } from './host.ts';
import { record } from './ledger.ts';
import { finalWords } from './transcript.ts';
import { verify } from './verify.ts';

export async function onStop(root: string, input: HookInput): Promise<HookAnswer> {
  const files = listSessions(root);
  const mine = files.find(
    (file): file is SessionFile => 'state' in file && file.state.sessionId === input.sessionId,
  );
  if (!mine) return damaged(files);
  const { state } = mine;
  // Esc, or another prompt: the loop sleeps. A sub-agent will bring its own turn.
  if (!state.active || isElsewhere(state, input) || input.inSubagent || input.pending > 0) return NOTHING;
  const claim = await claimOf(state, input);
  const run = runOf(state);
  const before = evidenceOf(state, claim);
  // Checks cost time: they run when there is a claim that they could prove.
  const evidence =
    claim.found && state.toolCalls >= run.minToolCalls
      ? { ...before, checks: await verify(root, state, event => record(root, state.runId, event)) }
      : before;
  const verdict = judge(run, evidence);
  record(root, state.runId, {
    type: 'iteration-ended',
    iteration: state.iteration,
    claim,
    verdict,
    usage: evidence.spent.usage,
  });
  if (verdict.kind === 'stop') return letGo(root, mine, verdict.reason);
  return sendBack(mine, verdict.feedback);
}

function isElsewhere(state: SessionState, input: HookInput): boolean {
  return state.promptId !== null && input.promptId !== null && state.promptId !== input.promptId;
}

/** A file that cannot be read may have been anybody's: it is set aside, and the stop goes through. */
function damaged(files: readonly (SessionFile | DamagedFile)[]): HookAnswer {
  const broken = files.find((file): file is DamagedFile => 'problem' in file);
  if (!broken) return NOTHING;
  const aside = setAside(broken.path, Date.now());
  return {
    kind: 'say',
    message: `⚠️ Ralph loop: State file corrupted\n  File: ${broken.path}\n  Problem: ${broken.problem}\n  It is kept as ${aside}. The loop has stopped; run /ralph-loop again to start afresh.`,
  };
}

async function claimOf(state: SessionState, input: HookInput): Promise<Claim> {
  const rule = ruleOf(state);
  if (!rule) return NO_CLAIM;
  const scanner = createClaimScanner(rule);
  for (const text of await finalWords(input)) {
    scanner.feed(text);
    scanner.boundary();
  }
  return scanner.claim();
}

function runOf(state: SessionState): Run {
  return {
    rule: ruleOf(state) ?? { kind: 'promise', text: '' },
    limits: { maxIterations: state.maxIterations, maxFailures: 1, stuckAfter: 0 },
    success: 'promise_accepted',
    minToolCalls: state.onPromiseNoWork === 'reject' ? state.minToolCalls : 0,
  };
}

function evidenceOf(state: SessionState, claim: Claim): Evidence {
  return {
    outcome: { kind: 'completed' },
    claim,
    checks: [],
    violations: [],
    treeChanged: null,
    repeats: 0,
    spent: {
      iterations: state.iteration,
      failures: 0,
      toolCalls: state.toolCalls,
      usage: { costSource: 'unknown' },
      elapsed: Math.max(0, (Date.now() - Date.parse(state.startedAt)) / 1000) || 0,
    },
  };
}

function letGo(root: string, { path, state }: SessionFile, reason: 'promise_accepted' | string): HookAnswer {
  const done = reason === 'promise_accepted';
  const lazy = done && state.toolCalls < state.minToolCalls && state.onPromiseNoWork === 'warn';
  const message = done
    ? `✅ Ralph loop: Detected <promise>${state.completionPromise}</promise> after ${state.iteration} iteration(s). PROMISE_ACCEPTED${lazy ? ' (warning: no tool was called)' : ''}`
    : `🛑 Ralph loop: Max iterations (${state.maxIterations}) reached. MAX_ITERATIONS_REACHED`;
  removeSession(path);
  record(root, state.runId, {
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
      totalDuration: Math.max(0, (Date.now() - Date.parse(state.startedAt)) / 1000) || 0,
      worktreePath: null,
      branch: null,
    },
  });
  return { kind: 'say', message };
}

function sendBack({ path, state }: SessionFile, feedback: readonly Feedback[]): HookAnswer {
  const next: SessionState = {
    ...state,
    iteration: state.iteration + 1,
    blocksInARow: state.blocksInARow + 1,
  };
  writeSession(path, next);
  const message = [iterationMessage(next), ...capWarning(next)].join('\n');
  return { kind: 'block', reason: continuation(state, sentences(state, feedback)), message };
}

function sentences(state: SessionState, feedback: readonly Feedback[]): readonly string[] {
  const rule = ruleOf(state);
  if (!rule) return [NO_PROMISE_SET];
  const marker = `<promise>${rule.text}</promise>`;
  const told = feedback.flatMap(item => {
    if (item.kind === 'claim-missing') return [missingPromise(rule)];
    if (item.kind === 'no-work') return [NO_WORK_DONE];
    if (item.kind === 'check-failed') return [failureSection(item.check)];
    return feedbackSentence(item, marker) ?? [];
  });
  return told.length > 0 ? told : [missingPromise(rule)];
}

const DEFAULT_CAP = 8;

/** The host overrules a hook that blocks too often without a tool call in between; better said before than found out after. */
function capWarning(state: SessionState): readonly string[] {
  const set = process.env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
  const cap = set !== undefined && /^\d+$/.test(set) ? Number(set) : DEFAULT_CAP;
  if (cap === 0 || state.blocksInARow < cap - 1) return [];
  return [
    `⚠️ Claude Code ends a loop after ${cap} stops in a row without a tool call; this was number ${state.blocksInARow}. CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment lifts that.`,
  ];
}
