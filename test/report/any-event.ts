/** Every event there can be, with text that wants to do something to a terminal. */
import fc from 'fast-check';
import type { CheckResult } from '../../src/domain/checks/check.ts';
import type { RunEvent } from '../../src/domain/run/event.ts';
import type { LoopResult } from '../../src/domain/run/result.ts';
import { STOP_REASONS } from '../../src/domain/run/stop-reason.ts';
import { type AgentEvent, toolOutput } from '../../src/domain/turn/agent-event.ts';
import { iterationResult, loopResult } from './events.ts';

const NASTY = [
  '\x1b[31m',
  '\x1b[2J',
  '\x1b]8;;http://x\x1b\\',
  '\x1b]52;c;QQ==\x07',
  '\x1bP',
  '\x1b',
  '\x9b31m',
  '\x9d',
  '\x9c',
  '\r',
  '\n',
  '\t',
  '\0',
  '\b',
  '\x7f',
  '\u202e',
  '\u2066',
  '\u200d',
  '\u0301',
  '\ud83d',
  '\u2028',
  'a',
  ' ',
  'word ',
  '日本',
  '👨‍👩‍👧‍👦',
  '⏸️',
  '한',
  'ᄀ',
  'ก็',
];

/** Text that wants to do something to a terminal. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...NASTY), { maxLength: 60 }).map(parts => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code)),
    maxLength: 80,
  }),
);

const text = hostileText;
const count = fc.nat({ max: 3_000_000 });
const usage = fc.record(
  {
    tokens: fc.record({ input: count, output: count, cacheRead: count, cacheWrite: count }),
    cost: fc.double({ min: 0, max: 99, noNaN: true }),
    costSource: fc.constantFrom('agent', 'prices', 'estimated', 'unknown'),
  },
  { requiredKeys: ['costSource'] },
);
const trouble = fc.record(
  {
    class: fc.constantFrom('auth', 'rate-limit', 'crash', 'hang'),
    message: text,
    status: fc.constantFrom(401, 429),
  },
  { requiredKeys: ['class', 'message'] },
);
const id = fc.constantFrom('1', '2', '3');
const check: fc.Arbitrary<CheckResult> = fc.record({
  index: fc.nat({ max: 3 }),
  command: text,
  failAction: fc.constantFrom('APPEND', 'REPLACE'),
  passed: fc.boolean(),
  exitCode: fc.nat({ max: 255 }),
  timedOut: fc.boolean(),
  duration: fc.double({ min: 0, max: 9_999, noNaN: true }),
  output: text,
  outputCut: fc.boolean(),
  logFile: text,
});

const agentEvent: fc.Arbitrary<AgentEvent> = fc.oneof(
  fc.record({ kind: fc.constant('session'), sessionId: text, model: text }),
  fc.record(
    { kind: fc.constant('text'), text, delta: fc.constant(true), message: id },
    { requiredKeys: ['kind', 'text'] },
  ),
  fc.record({ kind: fc.constant('aside'), from: fc.constantFrom('thinking', 'subagent'), text }),
  fc.record(
    { kind: fc.constant('tool-start'), id, name: text, summary: text, subagent: fc.constant(true) },
    { requiredKeys: ['kind', 'id', 'name', 'summary'] },
  ),
  fc.record(
    {
      kind: fc.constant('tool-end'),
      id,
      ok: fc.boolean(),
      output: text.map(toolOutput),
      exitCode: fc.nat({ max: 255 }),
    },
    { requiredKeys: ['kind', 'id', 'ok', 'output'] },
  ),
  fc.record({
    kind: fc.constant('todo'),
    items: fc.array(fc.record({ text, status: fc.constantFrom('pending', 'active', 'done') })),
  }),
  fc.record({
    kind: fc.constant('usage'),
    scope: fc.constantFrom('part', 'total'),
    id,
    tokens: fc.record({ input: count, output: count, cacheRead: count, cacheWrite: count }),
  }),
  fc.record({ kind: fc.constant('result'), ok: fc.boolean(), error: text }),
  fc.record({ kind: fc.constant('trouble'), trouble, retrying: fc.boolean() }),
  fc.record({ kind: fc.constant('progress'), text }),
  fc.record({ kind: fc.constant('unknown'), what: text }),
);

const feedback = fc.oneof(
  fc.record({ kind: fc.constant('check-failed'), check }),
  fc.record({ kind: fc.constant('violation'), violation: fc.record({ what: text, restored: fc.boolean() }) }),
  fc.record({ kind: fc.constant('near-miss'), nearMiss: fc.constantFrom('case', 'quoted'), said: text }),
  fc.record({ kind: fc.constant('stories-open'), ids: fc.array(text) }),
  fc.record({ kind: fc.constant('story-missing'), message: text }),
  fc.record({ kind: fc.constant('uncommitted'), paths: fc.array(text) }),
  fc.record({ kind: fc.constant('turn-ended'), by: fc.constantFrom('idle-timeout', 'interrupt') }),
  fc.record({ kind: fc.constant('turn-failed'), trouble }),
  fc.record({ kind: fc.constant('stuck'), repeats: fc.nat() }),
  fc.record({
    kind: fc.constant('standstill'),
    standstill: fc.record({
      kind: fc.constantFrom('no-change', 'thrashing', 'costly'),
      iterations: fc.nat(),
      stop: fc.boolean(),
    }),
  }),
);

const summarised = fc.record({
  name: text,
  passed: fc.boolean(),
  exitCode: fc.nat({ max: 255 }),
  duration: fc.nat(),
  output: text,
});

export const anyResult: fc.Arbitrary<LoopResult> = fc
  .record({
    runId: text,
    stopReason: fc.constantFrom(...STOP_REASONS),
    detail: fc.option(text),
    totalCost: fc.option(fc.double({ min: 0, max: 99, noNaN: true })),
    branch: fc.option(text),
    worktreePath: fc.option(text),
    iterations: fc.array(
      fc.tuple(fc.array(summarised, { maxLength: 3 }), fc.option(text), fc.array(text, { maxLength: 3 })),
      { maxLength: 3 },
    ),
  })
  .map(({ iterations, ...over }) =>
    loopResult({
      ...over,
      iterations: iterations.map(([checkResults, error, violations]) =>
        iterationResult({ checkResults, error, violations }),
      ),
    }),
  );

/** Every kind of event, with hostile text wherever text can be. */
const wayBack = {
  from: fc.nat({ max: 99 }),
  to: fc.nat({ max: 99 }),
  why: fc.constantFrom('worse', 'end'),
};

export const anyEvent: fc.Arbitrary<RunEvent> = fc.oneof(
  fc.record({
    type: fc.constant('run-started'),
    runId: text,
    command: fc.constantFrom('run', 'loop'),
    agent: text,
    model: text,
    maxIterations: fc.nat({ max: 99 }),
    checks: fc.array(text),
    cwd: text,
  }),
  fc.record({
    type: fc.constant('run-resumed'),
    runId: text,
    command: fc.constantFrom('run', 'loop'),
    agent: text,
    maxIterations: fc.nat({ max: 99 }),
    checks: fc.array(text),
    cwd: text,
    iteration: fc.integer({ min: 1, max: 99 }),
    step: fc.constantFrom('agent', 'check', 'next'),
    repaired: fc.array(text),
    changes: fc.array(text),
    diff: text,
  }),
  fc.record({ type: fc.constant('tampered'), what: fc.array(text) }),
  fc.record({ type: fc.constant('scm-started'), task: text, head: text }),
  fc.record({ type: fc.constant('restore-started'), ...wayBack, tree: text, aside: text }),
  fc.record(
    {
      type: fc.constant('restored'),
      ...wayBack,
      undone: fc.array(fc.record({ iteration: fc.nat({ max: 99 }), changes: text, broke: fc.array(text) })),
      aside: text,
      bringBack: text,
      problem: text,
    },
    { requiredKeys: ['type', 'from', 'to', 'why', 'undone'] },
  ),
  fc.record(
    {
      type: fc.constant('iteration-started'),
      iteration: fc.integer({ min: 1, max: 99 }),
      mode: text,
      story: text,
    },
    { requiredKeys: ['type', 'iteration'] },
  ),
  fc.record(
    {
      type: fc.constant('stories-updated'),
      iteration: fc.integer({ min: 1, max: 99 }),
      hash: text,
      done: count,
      total: count,
      moved: fc.record({
        id: text,
        passes: fc.boolean(),
        reviewStatus: fc.constantFrom(null, 'needs_review', 'changes_requested', 'approved'),
        reviewFeedback: text,
      }),
    },
    { requiredKeys: ['type', 'iteration', 'hash', 'done', 'total'] },
  ),
  fc.record({
    type: fc.constant('agent-started'),
    purpose: fc.constantFrom('work', 'commit-message'),
    attempt: fc.integer({ min: 2, max: 9 }),
    command: text,
    promptChars: count,
    userChars: count,
    promptHead: text,
  }),
  { weight: 8, arbitrary: fc.record({ type: fc.constant('agent'), event: agentEvent }) },
  fc.record({
    type: fc.constant('agent-ended'),
    purpose: fc.constantFrom('work', 'commit-message'),
    outcome: fc.oneof(
      fc.record({ kind: fc.constant('completed') }),
      fc.record({ kind: fc.constant('failed'), trouble }),
      fc.record({ kind: fc.constant('ended'), by: fc.constantFrom('max-cost', 'interrupt') }),
    ),
    duration: fc.nat({ max: 9_999 }),
    toolCalls: fc.nat({ max: 99 }),
    toolErrors: fc.nat({ max: 99 }),
    usage,
  }),
  fc.record({ type: fc.constant('waiting'), agent: text, trouble, until: fc.nat() }),
  fc.record(
    {
      type: fc.constant('agent-switched'),
      from: text,
      to: text,
      why: fc.constantFrom('limited', 'free-again'),
      until: fc.nat(),
    },
    { requiredKeys: ['type', 'from', 'to', 'why'] },
  ),
  fc.record({ type: fc.constantFrom('paused', 'continued') }),
  fc.record({ type: fc.constant('hint-delivered'), iteration: fc.nat({ max: 99 }), hint: text, text }),
  fc.record({ type: fc.constant('check-started'), index: fc.nat({ max: 3 }), command: text }),
  fc.record({ type: fc.constant('check-ended'), result: check }),
  fc.record({
    type: fc.constant('scm'),
    task: text,
    outcome: fc.constantFrom('done', 'nothing-to-do', 'failed'),
    detail: text,
  }),
  fc.record({
    type: fc.constant('iteration-ended'),
    iteration: fc.nat({ max: 99 }),
    claim: fc.oneof(
      fc.constant({ found: true as const }),
      fc.record({ found: fc.constant(false as const), said: text }),
    ),
    verdict: fc.record({ kind: fc.constant('continue'), feedback: fc.array(feedback) }),
    usage,
  }),
  fc.record(
    {
      type: fc.constant('forge'),
      act: fc.constantFrom('push', 'open', 'merge'),
      outcome: fc.constantFrom('done', 'nothing-to-do', 'failed'),
      detail: text,
      number: fc.nat(),
      address: text,
      commit: text,
    },
    { requiredKeys: ['type', 'act', 'outcome', 'detail'] },
  ),
  fc.record({
    type: fc.constant('forge-round'),
    why: fc.constantFrom('checks', 'review', 'conflict', 'foreign'),
    names: fc.array(text),
    words: fc.array(text),
    commit: text,
  }),
  fc.record({ type: fc.constant('forge-noted'), what: text, names: fc.array(text) }),
  fc.record({
    ...{ type: fc.constant('forge-said'), issue: fc.nat(), mark: text },
    what: fc.constantFrom('started', 'question', 'link', 'end'),
  }),
  fc.record({
    type: fc.constant('forge-ended'),
    reason: fc.constantFrom('pull_request_ready', 'merged', 'needs_you'),
    detail: text,
  }),
  fc.record({ type: fc.constant('notice'), level: fc.constantFrom('info', 'warning', 'debug'), text }),
  fc.record({ type: fc.constant('run-ended'), result: anyResult }),
);
