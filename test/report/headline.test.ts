/** No headline contradicts the proof beside it: for every ending of every command, in every reader. */
import { describe, expect, test } from 'vitest';
import { type Proof, type Proven, provenWords, UNPROVEN } from '../../src/domain/checks/proof.ts';
import type { LaneOutcome, LaneState } from '../../src/domain/lanes/board.ts';
import type { LoopCommand } from '../../src/domain/run/event.ts';
import { headlineOf } from '../../src/domain/run/headline.ts';
import { createNotifications } from '../../src/domain/run/notification.ts';
import { standingWords } from '../../src/domain/run/overview.ts';
import type { LoopResult } from '../../src/domain/run/result.ts';
import { isProven, isSuccess, STOP_REASONS, type StopReason } from '../../src/domain/run/stop-reason.ts';
import type { StoryOutcome, StoryReport } from '../../src/domain/stories/report.ts';
import { childWords } from '../../src/report/board-words.ts';
import { headline } from '../../src/report/ending-words.ts';
import { explain } from '../../src/report/explain.ts';
import { htmlOf } from '../../src/report/html.ts';
import { junitOf, junitOfChecks } from '../../src/report/junit.ts';
import { markdownOf } from '../../src/report/markdown.ts';
import { levelProof } from '../../src/report/proofs.ts';
import { type ReadRun, readRun } from '../../src/report/read-run.ts';
import { sarifOf } from '../../src/report/sarif.ts';
import { storyOf } from '../../src/report/simulate.ts';
import { summaryLines } from '../../src/report/summary.ts';
import { escapeMarkup } from '../../src/report/words.ts';
import { overviewOf } from '../../src/store/overview.ts';
import { folder } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';
import { RUN_STARTED } from './events.ts';

const LEVELS = ['claimed', 'place', 'clean'] as const;

function lane(id: string, state: LaneState): LaneOutcome {
  const commit = state === 'landed' ? 'c0ffee' : null;
  return { id, title: id, state, commit, returns: 0, iterations: 1, cost: null, runs: [] };
}

function report(...stories: readonly Partial<StoryOutcome>[]): StoryReport {
  const whole = stories.map(
    (story, at): StoryOutcome => ({
      id: `US-00${at + 1}`,
      title: 'A story',
      done: true,
      reviewStatus: 'approved',
      reviews: 1,
      reachedCap: false,
      autoApproved: false,
      iterations: 1,
      cost: null,
      ...story,
    }),
  );
  return { total: whole.length, done: whole.length, reviews: 1, capHits: 0, stories: whole };
}

interface Kind {
  readonly command: LoopCommand;
  readonly result?: Partial<Pick<LoopResult, 'lanes' | 'stories' | 'worktreePath'>>;
}

const LANDED = [lane('T1', 'landed'), lane('T2', 'landed')];
const ATTEMPTS = [lane('A1', 'landed'), lane('A2', 'kept')];
const CAPPED = report({}, { autoApproved: true, reachedCap: true });

/** Every command, with what its results hold. */
const KINDS: Readonly<Record<string, Kind>> = {
  run: { command: 'run' },
  loop: { command: 'loop' },
  'loop --worktree': { command: 'loop', result: { worktreePath: '.ralph/worktrees/cart' } },
  'loop --tasks --parallel': { command: 'loop', result: { lanes: LANDED } },
  'loop --tasks --parallel, one needs you': {
    command: 'loop',
    result: { lanes: [lane('T1', 'landed'), lane('T2', 'needs_you')] },
  },
  'loop --tasks --parallel, none landed': { command: 'loop', result: { lanes: [lane('T1', 'building')] } },
  'loop --best-of': { command: 'loop', result: { lanes: ATTEMPTS } },
  'prd run': { command: 'prd', result: { stories: report({}, {}) } },
  'prd run --skip-review': { command: 'prd', result: { stories: report({ reviewStatus: null }) } },
  'prd run --at-cap approve': { command: 'prd', result: { stories: CAPPED } },
  'prd run --parallel': { command: 'prd', result: { lanes: LANDED, stories: report({}, {}) } },
  'prd run --parallel --at-cap approve': { command: 'prd', result: { lanes: LANDED, stories: CAPPED } },
  session: { command: 'session' },
  'a unit of a fleet': { command: 'loop', result: { worktreePath: '/var/lib/ralph/units/u1' } },
};

const CHECKS = {
  claimed: { passed: 0, failed: 0 },
  place: { passed: 2, failed: 0 },
  clean: { passed: 4, failed: 0 },
} as const;

/** What must be true of a headline and of the line of proof beside it. */
function contradictions(run: Proven & { readonly proof: Proof }, head: string, proof: string): string[] {
  const {
    stopReason,
    lanes,
    stories,
    checks,
    proof: { level },
  } = run;
  const isDone = isSuccess(stopReason as StopReason);
  const counts = isDone || stopReason === 'scm_failed';
  const says = (words: RegExp) => words.test(head);
  const unapproved = stories?.stories.filter(each => each.autoApproved || each.reviewStatus === null) ?? [];
  const hasLanded = lanes?.some(({ state }) => state === 'landed') ?? false;
  const rules: Readonly<Record<string, boolean>> = {
    'Done is said of what is done, and of nothing else': says(/^Done: /) === isDone,
    'what is not done says that it stopped': isDone || says(/^(Stopped: |Interrupted\.)/),
    'nothing was checked, and nothing else, is what claimed means':
      says(/nothing was checked/i) === (counts && level === 'claimed'),
    'what has passed was checked': !says(/check passes|proven/) || level !== 'claimed',
    'every check passes where none fails': !says(/every check passes|proven/) || checks?.failed === 0,
    'approved is what every story is': !says(/and approved\.|proven/) || unapproved.length === 0,
    'what nobody approved is named': !counts || unapproved.every(({ id }) => head.includes(id)),
    'the proof says the same of what was checked':
      /nothing was checked/.test(proof) === (level === 'claimed' && (counts || hasLanded)),
    'nothing was proven where nothing is done': /nothing was proven/.test(proof) === !(counts || hasLanded),
    'a clean checkout is named where it was tried':
      level !== 'clean' ||
      !(counts || hasLanded) ||
      /passed in a clean checkout/.test(proof) ||
      checks?.passed === 0,
    'a clean checkout that was not tried is not claimed':
      level === 'clean' || !/passed in a clean/.test(proof),
  };
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [`${rule}: ${head} | ${proof}`]));
}

describe.each(Object.entries(KINDS))('ralph %s', (_, { result = {} }) => {
  test.each(STOP_REASONS)('that ends with %s says what its proof says', stopReason => {
    const found = LEVELS.flatMap(level => {
      const { passed } = CHECKS[level];
      const some =
        level === 'claimed'
          ? [CHECKS.claimed]
          : [CHECKS[level], { passed, failed: 1 }, { passed: 0, failed: 2 }];
      return some.flatMap(checks => {
        const run = { ...result, stopReason, proof: { ...UNPROVEN, level }, checks };
        return contradictions(run, headlineOf(run), provenWords(run));
      });
    });
    expect(found).toEqual([]);
  });
});

test('a reason of a later version claims nothing', () => {
  const run = { stopReason: 'moon_phase', proof: { ...UNPROVEN, level: 'clean' } } as const;
  expect(headlineOf(run)).toMatch(/^Stopped: moon_phase /);
  expect(provenWords(run)).toMatch(/^nothing was proven/);
});

test('a ledger of 0.1, which has no proof, is judged by its checks', () => {
  const old = (passed: number) =>
    headlineOf({ stopReason: 'promise_accepted', checks: { passed, failed: 0 } });
  expect(old(1)).toBe('Done: the agent says so and every check passes.');
  expect(old(0)).toContain('Nothing was checked');
});

test('the headlines that people read most', () => {
  const said = (stopReason: StopReason, level: Proof['level'], more: Partial<Proven> = {}) =>
    headlineOf({ stopReason, proof: { ...UNPROVEN, level }, ...more });
  const stories = report({}, {});
  expect([
    said('all_checks_passed', 'clean', { lanes: LANDED }),
    said('promise_accepted', 'claimed'),
    said('all_checks_passed', 'place', { checks: { passed: 1, failed: 1 } }),
    said('all_checks_passed', 'place', { checks: { passed: 0, failed: 1 } }),
    said('all_stories_approved', 'place', { stories }),
    said('all_stories_approved', 'claimed', { stories }),
    said('all_stories_approved', 'place', { stories: CAPPED }),
    said('all_stories_approved', 'claimed', { stories: report({ reviewStatus: null }) }),
    said('scm_failed', 'claimed'),
  ]).toMatchInlineSnapshot(`
    [
      "Done: every check passes and the agent says it is complete.",
      "Done: the agent says so. Nothing was checked: add \`--check\` or a guardrail.",
      "Done: the agent says so. Every required check passes; the others failed before the run too.",
      "Done: the agent says so. No check passes: each failed before the run too, and is not required.",
      "Done: every story is implemented and approved.",
      "Done: every story is implemented and approved. Nothing was checked: add \`--check\` or \`verifyCommands\`.",
      "Done: every story is implemented. Let through at the review cap, and not approved: US-002.",
      "Done: every story is implemented. Not reviewed: US-001. Nothing was checked: add \`--check\` or \`verifyCommands\`.",
      "Stopped: source control failed. Nothing was checked: add \`--check\` or a guardrail.",
    ]
  `);
});

interface Written extends ReadRun {
  readonly result: LoopResult;
  /** As `ralph status` has it. */
  readonly listed: string | null;
}

/** A ledger on disk, read again as every reader does. */
function written(kind: Kind, reason: StopReason, level: Proof['level']): Written {
  const { lanes } = kind.result ?? {};
  const run = writeRun(folder('headline-').dir, {
    command: kind.command,
    checks: level === 'claimed' ? [] : ['npm test'],
    iterations: lanes ? 0 : 1,
    isGreen: () => true,
    result: { ...kind.result, detail: 'In short.', proof: { ...UNPROVEN, level, contained: 'pid' } },
  });
  if (lanes) {
    const heads = lanes.map(({ id, title }) => ({ id, title, priority: 1, needs: [], files: [] }));
    run.journal.append({ type: 'board-set', base: 'b', tip: 'b', branch: 'main', lanes: heads });
  }
  run.end(reason);
  const reading = readRun(run.id, run.paths);
  if (!reading.result) throw new Error('it has not ended');
  return { ...reading, result: reading.result, listed: overviewOf(run.id, run.paths).proof };
}

const WORLD = { assets: { script: '', style: '' }, version: '0', redact: (line: string) => line };

describe.each(Object.entries(KINDS))('every reader of ralph %s', (_, kind) => {
  test.each(STOP_REASONS)('has the same headline and the same proof: %s', reason => {
    // What is not proven has one proof: that there is none.
    for (const level of isProven(reason) ? LEVELS : LEVELS.slice(1, 2)) {
      const run = written(kind, reason, level);
      const { view, integrity, result } = run;
      const ended = { type: 'run-ended', result } as const;
      const head = headline(run);
      const full = `${head} In short.`;
      const notified = createNotifications();
      notified({ ...RUN_STARTED });
      expect(headlineOf({ ...result, checks: CHECKS[level] })).toBe(head);
      expect(summaryLines(result, view)[0]).toBe(full);
      expect(markdownOf(run)).toContain(`\n${head} `);
      expect(htmlOf(run, new Map(), WORLD)).toContain(`<h1>${escapeMarkup(head)}</h1>`);
      expect(explain(view, { isAlive: false, now: 0 }).outcome).toContain(full);
      expect(notified(ended)?.message).toContain(full);
      expect(storyOf([ended], 'Check')).toEqual([full]);
      expect(childWords(ended)).toEqual(['info', full]);

      const [proof] = levelProof(view).map(({ text }) => text.replace('Proof: ', ''));
      expect(summaryLines(result, view)).toContain(`- Proof: ${proof}`);
      expect(run.listed).toBe(proof);
      expect(junitOf(result)).toContain(`value="${proof}"`);
      expect(junitOfChecks(view, new Map(), integrity)).toContain(`value="${proof}"`);
      expect(sarifOf(view, integrity, '0')).toContain(`"proof": "${proof}"`);
      expect(notified(ended)?.proof).toBe(proof);
    }
  });
});

test('in a table every ending stands in plain words', () => {
  for (const reason of STOP_REASONS)
    expect(standingWords('stopped', reason)).toMatch(/^[a-z]+( [a-z]+){0,3}$/);
  expect(standingWords('done', 'all_checks_passed')).toBe('done');
  expect(standingWords('stopped', 'max_iterations')).toBe('out of iterations');
  expect(standingWords('unverified', 'all_checks_passed')).toBe('unverified');
  expect(standingWords('unstarted', null)).toBe('did not begin');
  expect(standingWords('running', null)).toBe('running');
});
