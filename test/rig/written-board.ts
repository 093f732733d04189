/** Writes a parallel run as Ralph itself would, with the runs of its lanes: some landed, one sent back, one that needs the user. */
import { createHash } from 'node:crypto';
import { UNPROVEN } from '../../src/domain/checks/proof.ts';
import { type Board, laneOutcome } from '../../src/domain/lanes/board.ts';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { createRunFold } from '../../src/report/run-fold.ts';
import { createJournal, openJournal } from '../../src/store/journal.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { createRun } from '../../src/store/run-file.ts';
import { writeRun } from './written-run.ts';

const TITLES: Readonly<Record<string, string>> = {
  'US-001': 'The cart counts every item once',
  'US-002': 'A discount is taken off the total',
  'US-003': 'Receipts are sent by mail after the payment',
  'US-004': 'The last change in the cart can be undone',
  'US-005': 'Orders can be searched by date',
  'US-006': 'The receipt shows the discount',
};

export interface BoardOptions {
  /** Minutes since its start at which it is looked at; undefined: it has ended. */
  readonly minutes?: number;
  readonly start: number;
}

type Step = readonly [minute: number, event: RunEvent];

const OUTPUT = `✗ test/cart.test.js
  expected 90.00, got 81.00
  the discount was taken off twice`;

/** What happens, minute by minute. */
function stepsOf(id: string, hash: (text: string) => string): readonly Step[] {
  const started = (minute: number, story: string, nth = 1): Step => {
    const child = `${id}.${story}${nth > 1 ? `.${nth}` : ''}`;
    return [minute, { type: 'story-started', story, child, from: hash('base') }];
  };
  const step = (minute: number, story: string, mode: string, number: number): Step => [
    minute,
    { type: 'story-step', story, mode, number, reserved: 0.31 },
  ];
  const ended = (minute: number, story: string, cost: number, nth = 1, why?: string): Step => [
    minute,
    {
      type: 'story-ended',
      story,
      child: `${id}.${story}${nth > 1 ? `.${nth}` : ''}`,
      reason: why === undefined ? 'all_stories_approved' : 'stuck',
      ...(why !== undefined && { why }),
      ledger: null,
      usage: {
        cost,
        costSource: 'agent',
        tokens: { input: 90_000, output: 4_000, cacheRead: 0, cacheWrite: 0 },
      },
    },
  ];
  const queued = (minute: number, story: string): Step => [
    minute,
    { type: 'queued', story, head: hash(`${story} head`), patch: hash(`${story} patch`) },
  ];
  const candidate = (minute: number, story: string, number: number): Step => [
    minute,
    { type: 'candidate', story, number, tip: hash(`tip ${number}`), commit: hash(`candidate ${number}`) },
  ];
  const checked = (minute: number, story: string, number: number, passed: boolean): Step => [
    minute,
    {
      type: 'candidate-checked',
      story,
      number,
      commit: hash(`candidate ${number}`),
      passed,
      duration: 60,
      results: [],
    },
  ];
  const landed = (minute: number, story: string, number: number): Step => [
    minute,
    { type: 'landed', story, number, commit: hash(`candidate ${number}`), tree: hash(`tree ${number}`) },
  ];
  return [
    started(0, 'US-001'),
    step(0, 'US-001', 'implement', 1),
    started(0, 'US-002'),
    step(0, 'US-002', 'implement', 1),
    started(0, 'US-003'),
    step(0, 'US-003', 'implement', 1),
    step(7, 'US-001', 'review', 2),
    step(9, 'US-002', 'review', 2),
    ended(10, 'US-001', 0.84),
    queued(10, 'US-001'),
    candidate(10, 'US-001', 1),
    started(10, 'US-004'),
    step(10, 'US-004', 'implement', 1),
    checked(12, 'US-001', 1, true),
    landed(12, 'US-001', 1),
    ended(13, 'US-002', 1.12),
    queued(13, 'US-002'),
    candidate(13, 'US-002', 2),
    step(14, 'US-003', 'review', 2),
    checked(16, 'US-002', 2, false),
    [
      17,
      {
        type: 'sent-back',
        story: 'US-002',
        number: 2,
        why: 'red',
        files: [],
        others: ['The cart counts every item once'],
        detail: OUTPUT,
      },
    ],
    started(17, 'US-002', 2),
    step(17, 'US-002', 'merge-fix', 1),
    ended(18, 'US-003', 1.4),
    queued(18, 'US-003'),
    candidate(18, 'US-003', 3),
    ended(19, 'US-004', 2.1, 1, 'Stopped: the same failure, again and again.'),
    started(19, 'US-005'),
    step(19, 'US-005', 'implement', 1),
    checked(20.5, 'US-003', 3, true),
    landed(20.5, 'US-003', 3),
    step(22, 'US-002', 'review', 2),
    step(25, 'US-005', 'review', 2),
    ended(25, 'US-002', 0.66, 2),
    queued(25, 'US-002'),
    candidate(25, 'US-002', 4),
    checked(27, 'US-002', 4, true),
    landed(27, 'US-002', 4),
    started(27, 'US-006'),
    step(27, 'US-006', 'implement', 1),
    ended(28, 'US-005', 0.72),
    queued(28, 'US-005'),
    candidate(28, 'US-005', 5),
    checked(30, 'US-005', 5, true),
    landed(30, 'US-005', 5),
    step(32, 'US-006', 'review', 2),
    ended(35, 'US-006', 0.58),
    queued(35, 'US-006'),
    candidate(35, 'US-006', 6),
    checked(37, 'US-006', 6, true),
    landed(37, 'US-006', 6),
  ];
}

export function writeBoard(root: string, { start, minutes }: BoardOptions): string {
  const project = projectPaths(root);
  let now = start;
  const given = { flags: {}, parallel: 'stories', ralphDir: 'ralph' } as const;
  const { file } = createRun(project, { command: 'prd', version: '0.3.0', config: {}, now, given });
  const { id } = file;
  const paths = runPaths(project, id);
  const journal = createJournal(paths.events, { run: id, now: () => now, durable: false });
  const hash = (text: string) => createHash('sha1').update(text).digest('hex');
  const head = {
    agent: 'claude',
    model: 'opus',
    maxIterations: 40,
    checks: ['npm test'],
    cwd: '/home/ada/shop',
  };
  journal.append({ type: 'run-started', runId: id, command: 'prd', ...head });
  const lanes = Object.entries(TITLES).map(([story, title], at) => ({
    id: story,
    title,
    priority: at + 1,
    needs: story === 'US-006' ? ['US-002', 'US-003'] : [],
    files: [],
  }));
  journal.append({ type: 'board-set', base: hash('base'), tip: hash('base'), branch: 'ralph/shop', lanes });
  const last = minutes ?? Number.POSITIVE_INFINITY;
  for (const [minute, event] of stepsOf(id, hash).filter(([at]) => at <= last)) {
    now = start + minute * 60_000;
    journal.append(event);
    if (event.type === 'story-started') writeChild(root, event.child, now, minute, last);
  }
  if (minutes === undefined) endBoard();
  return id;

  function endBoard(): void {
    now = start + 38 * 60_000;
    journal.append({ type: 'integrated', branch: 'ralph/shop', commit: hash('candidate 6') });
    const fold = createRunFold();
    const reader = openJournal(paths);
    for (const entry of reader.next()) fold.add(entry);
    reader.close();
    const board = fold.view().board as Board;
    journal.append({
      type: 'run-ended',
      result: {
        runId: id,
        success: false,
        stopReason: 'needs_you',
        detail: 'US-004: Stopped: the same failure, again and again.',
        iterations: [],
        totalCost: 7.42,
        unreportedCalls: 0,
        totalTokens: { input: 630_000, output: 28_000, cacheRead: 0, cacheWrite: 0 },
        totalDuration: 38 * 60,
        worktreePath: null,
        branch: `ralph/${id}/_int`,
        proof: UNPROVEN,
        lanes: board.lanes.map(laneOutcome),
      },
    });
  }
}

/** Whole, but for one that is looked at while it runs. */
function writeChild(root: string, id: string, start: number, minute: number, last: number): void {
  const isOpen = last - minute < 8;
  writeRun(root, {
    id,
    command: 'prd',
    cwd: '/home/ada/shop',
    checks: ['npm test'],
    iterations: isOpen ? 1 : 2,
    ...(!isOpen && { ends: id.endsWith('US-004') ? 'stuck' : 'all_stories_approved' }),
    start,
  });
}
