/** Writes runs as Ralph itself would, through its own store, for the readers of ledgers: as long and as odd as a test wants. */

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type CheckResult, slugsOf } from '../../src/domain/checks/check.ts';
import { UNPROVEN } from '../../src/domain/checks/proof.ts';
import type { LoopCommand, RunEvent } from '../../src/domain/run/event.ts';
import {
  endedAs,
  type IterationResult,
  type LoopResult,
  type ResultFields,
} from '../../src/domain/run/result.ts';
import { isSuccess, type StopReason } from '../../src/domain/run/stop-reason.ts';
import type { Story } from '../../src/domain/stories/story.ts';
import { toolOutput } from '../../src/domain/turn/agent-event.ts';
import { addUsage, type Usage } from '../../src/domain/turn/usage.ts';
import { createJournal, type Journal } from '../../src/store/journal.ts';
import { projectPaths, type RunPaths, runPaths } from '../../src/store/paths.ts';
import { createRun } from '../../src/store/run-file.ts';

export interface LedgerOptions {
  readonly command?: LoopCommand;
  /** Of a run that belongs to another one. */
  readonly id?: string;
  readonly agent?: string;
  /** What it says of where it ran. */
  readonly cwd?: string;
  readonly model?: string;
  readonly checks?: readonly string[];
  readonly iterations: number;
  /** undefined: it goes on. */
  readonly ends?: StopReason;
  readonly branch?: string;
  /** What its result says beside that. */
  readonly result?: Partial<Omit<ResultFields, 'runId' | 'iterations'>>;
  /** What the agent says in an iteration. */
  readonly words?: (iteration: number) => string;
  /** The tools it calls: name, what it is called with, what that prints. */
  readonly tools?: (iteration: number) => readonly (readonly [string, string, string])[];
  readonly isGreen?: (iteration: number, check: number) => boolean;
  readonly diff?: (iteration: number) => string;
  readonly prompt?: string;
  readonly violations?: (iteration: number) => readonly string[];
  /** In `ralph prd`: what an iteration is for, and the list as it is afterwards. */
  readonly stories?: (iteration: number) => StoryStep;
  /** Events of any kind at the end of an iteration. */
  readonly also?: (iteration: number) => readonly RunEvent[];
  /** Iterations before this one leave no files beside the ledger: a disk needs minutes for ten thousand of them. */
  readonly filesFrom?: number;
  /** When it began. */
  readonly start?: number;
}

export interface StoryStep {
  readonly mode: string;
  /** The story that goes on. */
  readonly story: string;
  readonly list: readonly Story[];
}

export interface WrittenRun {
  readonly id: string;
  readonly paths: RunPaths;
  /** Goes on writing where the run stands. */
  readonly journal: Journal;
  /** The next iteration, whole. */
  iterate(): void;
  end(reason: StopReason): void;
}

const START = Date.parse('2026-03-01T10:15:00Z');

export function writeRun(root: string, options: LedgerOptions): WrittenRun {
  const {
    command = 'loop',
    agent = 'claude',
    model = 'opus',
    checks = ['npm test', 'npm run lint'],
  } = options;
  const project = projectPaths(root);
  let now = options.start ?? START;
  const { file } = createRun(project, {
    command,
    version: '0.3.0',
    config: {},
    now,
    ...(options.id !== undefined && { id: options.id }),
  });
  const paths = runPaths(project, file.id);
  const journal = createJournal(paths.events, { run: file.id, now: () => now, durable: false });
  const random = createRandom(7);
  const results: IterationResult[] = [];
  let usage: Usage | undefined;
  const tell = (event: RunEvent, seconds = 0) => {
    now += seconds * 1000;
    journal.append(event);
  };
  tell({
    type: 'run-started',
    runId: file.id,
    command,
    agent,
    model,
    maxIterations: 25,
    checks,
    cwd: options.cwd ?? root,
  });

  const iterate = () => {
    const iteration = results.length + 1;
    const isLast = iteration === options.iterations && options.ends !== undefined && isSuccess(options.ends);
    const files = paths.iteration(iteration);
    const put = (path: string, text: string) => {
      if (iteration >= (options.filesFrom ?? 0)) write(path, text);
    };
    const prompt = options.prompt ?? `Mend the cart.\n\nThis is iteration ${iteration}.`;
    put(files.prompt, prompt);
    const step = options.stories?.(iteration);
    tell({ type: 'iteration-started', iteration, ...(step && { mode: step.mode, story: step.story }) });
    tell({
      type: 'agent-started',
      purpose: 'work',
      command: 'claude -p',
      promptChars: prompt.length,
      promptHead: prompt.slice(0, 200),
    });
    const began = now;
    const tools = options.tools?.(iteration) ?? TOOLS;
    tell(
      {
        type: 'agent',
        event: { kind: 'text', text: options.words?.(iteration) ?? WORDS[iteration % WORDS.length]! },
      },
      2,
    );
    for (const [at, [name, summary, output]] of tools.entries()) {
      const id = `${iteration}-${at}`;
      tell({ type: 'agent', event: { kind: 'tool-start', id, name, summary } }, 1 + random() * 8);
      tell(
        { type: 'agent', event: { kind: 'tool-end', id, ok: random() > 0.1, output: toolOutput(output) } },
        1 + random() * 4,
      );
    }
    const turn: Usage = {
      cost: 0.04 + random() * 0.2,
      costSource: 'agent',
      tokens: {
        input: 20_000 + Math.round(random() * 60_000),
        output: 900 + Math.round(random() * 3_000),
        cacheRead: 15_000,
        cacheWrite: 0,
      },
    };
    usage = usage ? addUsage(usage, turn) : turn;
    now += 5_000 + random() * 60_000;
    const duration = (now - began) / 1000;
    tell(
      {
        type: 'agent-ended',
        purpose: 'work',
        outcome: { kind: 'completed' },
        duration,
        toolCalls: tools.length,
        toolErrors: 0,
        usage: turn,
      },
      5,
    );
    if (options.diff) put(files.diff, options.diff(iteration));
    for (const what of options.violations?.(iteration) ?? [])
      tell({ type: 'violation', violation: { what, restored: true } });
    const slugs = slugsOf(checks);
    const done = checks.map((each, index): CheckResult => {
      const passed = isLast || (options.isGreen?.(iteration, index) ?? random() > 0.45);
      const output = passed ? `ok ${each}\n` : FAILURE;
      put(files.check(slugs[index]!), output);
      const result: CheckResult = {
        index,
        command: each,
        failAction: 'APPEND',
        passed,
        exitCode: passed ? 0 : 1,
        timedOut: false,
        duration: 2 + random() * 20,
        output,
        outputCut: false,
        logFile: `.ralph/runs/${file.id}/iterations/checks/${slugs[index]}.log`,
      };
      tell({ type: 'check-started', index, command: each });
      tell({ type: 'check-ended', result }, result.duration);
      return result;
    });
    if (step) tell(settled(paths, iteration, step));
    for (const event of options.also?.(iteration) ?? []) tell(event);
    const red = done.filter(check => !check.passed);
    const claimed = isLast || random() > 0.6;
    tell({
      type: 'iteration-ended',
      iteration,
      claim: claimed ? { found: true } : { found: false },
      verdict: isLast
        ? { kind: 'stop', reason: options.ends ?? 'all_checks_passed' }
        : {
            kind: 'continue',
            feedback:
              red.length > 0
                ? red.map(check => ({ kind: 'check-failed', check }))
                : [{ kind: 'claim-missing' }],
          },
      usage,
    });
    results.push({
      iteration,
      mode: command,
      stepsTaken: 3,
      toolCalls: tools.length,
      cost: turn.cost ?? null,
      costSource: 'agent',
      tokens: turn.tokens ?? null,
      duration,
      checkResults: done.map(check => ({
        name: check.command,
        passed: check.passed,
        exitCode: check.exitCode,
        duration: check.duration,
        output: '',
      })),
      allChecksPassed: red.length === 0,
      completionTagFound: claimed,
      violations: [],
      error: null,
    });
  };
  const end = (reason: StopReason) => {
    const result: LoopResult = {
      runId: file.id,
      ...endedAs(reason),
      detail: null,
      iterations: results,
      totalCost: usage?.cost ?? null,
      unreportedCalls: 0,
      totalTokens: usage?.tokens ?? null,
      totalDuration: (now - (options.start ?? START)) / 1000,
      worktreePath: null,
      branch: options.branch ?? null,
      proof: { ...UNPROVEN, level: 'place', contained: 'pid' },
      ...options.result,
    };
    tell({ type: 'run-ended', result });
  };
  for (let at = 0; at < options.iterations; at++) iterate();
  if (options.ends) end(options.ends);
  return { id: file.id, paths, journal, iterate, end };
}

/** The list goes into the run's folder under its hash, as the loop itself does it. */
function settled(paths: RunPaths, iteration: number, { story, list }: StoryStep): RunEvent {
  const text = JSON.stringify({
    project: 'Shop',
    branchName: 'ralph/shop',
    description: '',
    userStories: list,
  });
  const hash = createHash('sha256').update(text).digest('hex');
  write(paths.stories(hash), text);
  const done = list.filter(({ passes }) => passes).length;
  const moved = list.find(({ id }) => id === story);
  return { type: 'stories-updated', iteration, hash, done, total: list.length, ...(moved && { moved }) };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** The same numbers every time: pictures are compared by people. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const WORDS = [
  'The discount is rounded too late: `total()` adds fractions of a cent. I will round each line instead.',
  'Quantities are ignored in `subtotal()`. I have added a factor and a test for an empty cart.',
  'The linter complains about an unused import in cart.js. Removing it.\n\nThen I run the whole suite again, since the change touches the receipt too.',
  'Everything passes here. <promise>COMPLETE</promise>',
];

const TOOLS = [
  [
    'Read',
    'src/cart.js',
    'export function total(lines) {\n  return lines.reduce((sum, line) => sum + line.price, 0);\n}\n',
  ],
  ['Edit', 'src/cart.js', ''],
  [
    'Bash',
    'npm test',
    'TAP version 13\n# Subtest: an empty cart costs nothing\nok 1 - an empty cart costs nothing\nnot ok 2 - quantities count\n',
  ],
] as const;

const FAILURE = `TAP version 13
# Subtest: quantities count
not ok 2 - quantities count
  ---
  error: 'Expected values to be strictly equal: 300 !== 900'
  at: test/cart.test.js:14:10
  ...
# tests 6
# pass 5
# fail 1
`;

export const DIFF = `diff --git a/src/cart.js b/src/cart.js
index 83db48f..bf269f4 100644
--- a/src/cart.js
+++ b/src/cart.js
@@ -1,7 +1,9 @@
 export function total(lines) {
-  return lines.reduce((sum, line) => sum + line.price, 0);
+  return lines.reduce((sum, { price, quantity }) => sum + Math.round(price * quantity), 0);
 }
 
+export const isEmpty = lines => lines.length === 0;
+
 export function discount(cents, percent) {
-  return cents * (1 - percent / 100);
+  return Math.round(cents * (1 - percent / 100));
 }
diff --git a/test/cart.test.js b/test/cart.test.js
new file mode 100644
index 0000000..1e2f3a4
--- /dev/null
+++ b/test/cart.test.js
@@ -0,0 +1,5 @@
+import assert from 'node:assert';
+import { test } from 'node:test';
+import { isEmpty } from '../src/cart.js';
+
+test('an empty cart is empty', () => assert.equal(isEmpty([]), true));
`;
