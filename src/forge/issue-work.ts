/** Works on issues: a run for each, in a worktree on the base as the remote has it, and then what its pull request asks for. */
import { issueTask } from '../domain/forge/prompt.ts';
import type { RecordedEvent } from '../domain/run/event.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { isSuccess } from '../domain/run/stop-reason.ts';
import { openQuestions } from '../domain/stories/questions.ts';
import { defined } from '../domain/text/fields.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Job } from '../opening/job.ts';
import { issueName, taskJob } from '../opening/jobs/task.ts';
import { openRun, type RunRequest } from '../opening/open-run.ts';
import type { SetUp } from '../opening/set-up.ts';
import { createAccounts } from '../parallel/accounts.ts';
import { createBudget } from '../parallel/budget.ts';
import { systemClock } from '../platform/clock.ts';
import type { StopRequest } from '../run/stop.ts';
import { pause } from '../run/wait.ts';
import { loadState } from '../store/checkpoint.ts';
import { readMessages } from '../store/inbox.ts';
import { isRunning } from '../store/lease.ts';
import { isRecorded, type ProjectPaths, runPaths } from '../store/paths.ts';
import { listRuns, readRunFile } from '../store/run-file.ts';
import { send } from '../store/send.ts';
import { createIntegration } from '../workspace/integration.ts';
import { listWorktrees, openWorktree, type Worktree } from '../workspace/worktree.ts';
import { withoutToken } from './address.ts';
import { firstOf, reopenRun } from './again.ts';
import type { FollowRequest } from './follow.ts';
import type { Issue } from './forge.ts';
import {
  type AboutIssue,
  type Begin,
  createDriver,
  type Driven,
  followIssue,
  givenIssue,
  type IssueWork,
  LOOK_EVERY,
  type ReadIssueRun,
  tipOfBase,
} from './issue-driver.ts';
import type { Access } from './pull-request.ts';
import { whyNotProven } from './work.ts';

export interface IssueWorld extends Omit<FollowRequest, 'id' | 'abort' | 'again'> {
  readonly access: Access;
  /** How each run begins. */
  readonly ready: SetUp;
  /** What they may spend together. */
  readonly money: { readonly maxCost?: number | undefined; readonly maxTokens?: number | undefined };
  /** How many at a time. */
  readonly parallel: number;
  readonly stop: StopRequest;
  readonly about: AboutIssue;
  onEvent(issue: number, event: RecordedEvent): void;
}

export function createIssueWork(world: IssueWorld): IssueWork {
  const { stop, parallel, project } = world;
  const working = new Set<number>();
  const runs = createIssueRuns(world);
  const budget = createSharedBudget(world);
  const driver = createDriver(stop, createDrive(world, { runs, budget, working }));
  return {
    ...driver,
    ...runs,
    refresh: async () => undefined,
    stateOf: id => loadState(runPaths(project, id)).state,
    unitOf: () => undefined,
    room: () => ({ slots: parallel - working.size, hasMoney: budget.hasMoney() }),
    runOf(issue, label, hasNews) {
      const id = runs.latest().get(issue);
      const read = id === undefined ? undefined : (isDriven: boolean) => readIssueRun(project, id, isDriven);
      return driver.runOf(issue, label, hasNews, read);
    },
    async answer(issue, text) {
      const id = runs.latest().get(issue.number);
      const sent = send(project, id, { kind: 'answer', story: issueName(issue), text }, systemClock.now());
      if (isProblem(sent)) return sent;
      return sent.done ? undefined : { where: id ?? '', what: sent.message };
    },
    async cancel(issue, why) {
      driver.cancel(issue, why);
      return undefined;
    },
  };
}

interface DriveParts {
  readonly runs: ReturnType<typeof createIssueRuns>;
  readonly budget: ReturnType<typeof createSharedBudget>;
  /** The issues that an agent works on now. */
  readonly working: Set<number>;
}

/** Works on one until it is over. Following holds no place among those that are worked on, but for the rounds. */
function createDrive(world: IssueWorld, { runs, budget, working }: DriveParts) {
  const slot = async <Value>(issue: number, work: () => Promise<Value>): Promise<Value> => {
    working.add(issue);
    try {
      return await work();
    } finally {
      working.delete(issue);
      budget.of(issue).release();
    }
  };
  return async (issue: Issue, kind: Begin, own: Driven) => {
    const { number } = issue;
    const { stopping } = own.stop;
    const id = runs.latest().get(number);
    const shared = { budget: budget.of(number), stop: own.stop };
    if (kind === 'start') return slot(number, () => startRun(world, issue, shared));
    if (id === undefined) return undefined;
    const resume = () => resumeIssue(world, number, id, { ...shared, before: budget.before(id) });
    if (kind === 'resume') return slot(number, async () => problemIn(await resume()));
    const again = async () => {
      while (working.size >= world.parallel && !stopping.aborted) await pause(LOOK_EVERY, stopping);
      const result = stopping.aborted ? undefined : await slot(number, resume);
      if (!result || stopping.aborted) return 'interrupted';
      if (isProblem(result)) return result;
      return isSuccess(result.stopReason) ? 'proven' : 'stopped';
    };
    return followIssue({ ...world, ...world.about(number), id, abort: stopping, again });
  };
}

/** By their numbers, the latest run for each issue of this repository. What a run was given never changes. */
function createIssueRuns({ project, access: { place } }: IssueWorld) {
  const known = new Map<string, number | undefined>();
  const repo = `${place.owner}/${place.name}`;
  const numberOf = (id: string) => {
    const paths = runPaths(project, id);
    // An agent can write a run into the project: only what is on record counts.
    const issue = isRecorded(paths) ? readRunFile(paths)?.given?.issue : undefined;
    return issue?.repo === repo && issue.forge === place.base ? issue.number : undefined;
  };
  return {
    latest(): ReadonlyMap<number, string> {
      const found = new Map<number, string>();
      for (const id of listRuns(project)) {
        if (known.get(id) === undefined) known.set(id, numberOf(id));
        const number = known.get(id);
        if (number !== undefined) found.set(number, id);
      }
      return found;
    },
  };
}

/** Money and tokens for all together; iterations are counted for each run. What a run that is continued has spent before counts. */
function createSharedBudget({ money }: IssueWorld) {
  const limits = { maxIterations: 0, maxFailures: 0, stuckAfter: 0, ...defined(money) };
  const accounts = createAccounts({ clock: systemClock, onLimit() {} });
  const spent = { cost: 0, tokens: 0, turns: 0 };
  const budget = createBudget(limits, { spent }, accounts);
  const counted = new Set<string>();
  return {
    of: (issue: number) => budget.of(String(issue)),
    hasMoney: () => typeof budget.room() !== 'object',
    before: (id: string) => (run: RunRequest['resumed']) => {
      const usage = run?.past.totals.usage;
      if (usage && !counted.has(id)) budget.of(id).charge({ usage, extra: true });
      counted.add(id);
    },
  };
}

function readIssueRun(project: ProjectPaths, id: string, isDriven: boolean): ReadIssueRun {
  const paths = runPaths(project, id);
  const { result, forge, questions } = loadState(paths).state;
  const isAnswered = readMessages(paths).some(({ kind }) => kind === 'answer');
  const isOpen = !result || result.stopReason === 'interrupted' || isAnswered;
  const isProven = forge !== undefined || whyNotProven(id, result) === undefined;
  const stand = () => {
    if (isDriven || isRunning(paths)) return 'driven';
    return isProven ? 'proven' : isOpen ? 'cut-off' : 'stopped';
  };
  const question = isOpen || result.success ? undefined : openQuestions(questions)[0]?.iteration;
  return { id, stand: stand(), isProven, question, pull: forge?.number, ended: forge?.ended?.reason };
}

type Shared = Pick<RunRequest, 'budget' | 'stop'>;

function requestOf(
  { ready, env, onEvent }: IssueWorld,
  number: number,
  shared: Shared,
): Omit<RunRequest, 'job'> {
  const { files: _, ...given } = ready;
  const own = { env: withoutToken(env), alone: true, ...shared };
  return { ...given, ...own, onEvent: event => onEvent(number, event) };
}

async function startRun(world: IssueWorld, issue: Issue, shared: Shared): Promise<Problem | undefined> {
  const given = givenIssue(world.access, issue);
  const job: Job = {
    command: 'loop',
    async enter(where) {
      const worktree = await openIssueWorktree(world, issue);
      if (isProblem(worktree)) return worktree;
      return taskJob({ task: issueTask(issue), worktree, issue: given }).enter(where);
    },
  };
  return problemIn(await runToEnd({ ...requestOf(world, issue.number, shared), job }));
}

async function runToEnd(request: RunRequest): Promise<LoopResult | Problem> {
  const opened = await openRun(request);
  return isProblem(opened) ? opened : opened.run();
}

function problemIn(value: LoopResult | Problem): Problem | undefined {
  return isProblem(value) ? value : undefined;
}

/** On the base as the remote has it now. One that was cut off while it was being made is made anew; other work is nobody's to continue. */
async function openIssueWorktree(
  { project, env, access }: IssueWorld,
  issue: Issue,
): Promise<Worktree | Problem> {
  const { remote, own, base } = access;
  const place = { root: project.root, env: withoutToken(env) };
  const name = issueName(issue);
  const integration = createIntegration(own, name);
  const tip = await tipOfBase(access);
  if (isProblem(tip)) return tip;
  const missing = await remote.bring([`refs/heads/${base}`]);
  if (missing) return missing;
  const { commit = tip } = await own.head();
  const lost = await integration.deliver(tip, commit);
  const worktree = lost ?? (await openWorktree({ ...place, name, from: tip }));
  if (isProblem(worktree) || worktree.created) return worktree;
  const there = (await listWorktrees(place)).find(each => each.name === name);
  if (!there?.dirty && (await integration.isAncestor(there?.commit ?? tip, tip))) return worktree;
  worktree.release();
  const fix = `\`ralph cancel --remove ${name}\` removes it, where nothing is lost`;
  return { where: `worktree ${name}`, what: 'is there already, with other work in it', fix };
}

async function resumeIssue(
  world: IssueWorld,
  number: number,
  id: string,
  { before, ...shared }: Shared & { before(run: RunRequest['resumed']): void },
): Promise<LoopResult | Problem> {
  const { project, ready } = world;
  const again = await reopenRun({ project, env: withoutToken(world.env), id, flags: ready.flags });
  if (!('job' in again)) return firstOf(again, id);
  const { job, resumed } = again;
  before(resumed);
  return runToEnd({ ...requestOf({ ...world, ready: again.ready }, number, shared), job, resumed });
}
