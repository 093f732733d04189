/** Works on issues in a fleet: one unit for each, for ever, and what its pull request asks for. */
import { issueTask } from '../domain/forge/prompt.ts';
import { openQuestions } from '../domain/stories/questions.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { issueName } from '../opening/jobs/task.ts';
import type { StopRequest } from '../run/stop.ts';
import { loadState } from '../store/checkpoint.ts';
import type { Message } from '../store/inbox.ts';
import { type ProjectPaths, runPaths } from '../store/paths.ts';
import type { GivenIssue } from '../store/run-file.ts';
import type { FollowRequest } from './follow.ts';
import type { Issue } from './forge.ts';
import {
  type AboutIssue,
  createDriver,
  type Driven,
  followIssue,
  givenIssue,
  type IssueWork,
  type ReadIssueRun,
  tipOfBase,
} from './issue-driver.ts';
import type { Access, UnitSource } from './pull-request.ts';
import { whyNotProven } from './work.ts';

/** A unit for an issue. */
export interface IssueUnit {
  readonly id: string;
  readonly isOver: boolean;
  readonly isDone: boolean;
  /** Why nobody works on it. */
  readonly waits?: string | undefined;
}

export interface NewIssueUnit {
  readonly issue: GivenIssue;
  readonly task: string;
  readonly repoUrl: string;
  /** The commit that it begins with. */
  readonly base: string;
}

/** The units for the issues of a repository. Whatever the database says of why it is away is a problem, not a bug. */
export interface IssueFleet {
  /** Where what they have done is copied to. */
  readonly project: ProjectPaths;
  /** Those of these issues, and all that are not over, or were not a day ago; `busy`: whose copies are in use. */
  look(
    numbers: readonly number[],
    busy: (issue: number) => boolean,
  ): Promise<ReadonlyMap<number, IssueUnit> | Problem>;
  /** There is one for an issue, however often and by however many it is submitted. */
  submit(unit: NewIssueUnit): Promise<Problem | undefined>;
  reopen(id: string, messages: readonly Message[]): Promise<Problem | undefined>;
  cancel(id: string): Promise<Problem | undefined>;
  /** Ends with `abort`; `lost`: somebody else works on its pull request. */
  source(id: string, world: { readonly abort: AbortSignal; lost(): void }): UnitSource;
}

export interface UnitWorld extends Omit<FollowRequest, 'id' | 'abort' | 'again'> {
  readonly access: Access;
  readonly fleet: IssueFleet;
  readonly about: AboutIssue;
  readonly stop: StopRequest;
  /** How many units at a time; undefined: as many as the fleet takes. */
  readonly parallel: number | undefined;
}

export function createUnitWork(world: UnitWorld): IssueWork {
  const { fleet, stop, parallel = Number.POSITIVE_INFINITY } = world;
  let units: ReadonlyMap<number, IssueUnit> = new Map();
  const open = () => [...units.values()].filter(({ isOver }) => !isOver);
  const driver = createDriver(stop, (issue, kind, own) => {
    const id = units.get(issue.number)?.id;
    if (kind === 'start') return submit(world, issue);
    if (id === undefined) return Promise.resolve(undefined);
    return kind === 'resume'
      ? fleet.reopen(id, [])
      : follow({ ...world, ...world.about(issue.number) }, id, own);
  });
  return {
    ...driver,
    async refresh(wanted) {
      const found = await fleet.look(wanted, driver.isDriven);
      if (isProblem(found)) return found;
      units = found;
      return undefined;
    },
    latest: () => new Map([...units].map(([number, { id }]) => [number, id])),
    stateOf: id => loadState(runPaths(fleet.project, id)).state,
    unitOf: id => fleet.source(id, { abort: stop.stopping, lost() {} }),
    isIdle: () => driver.isIdle() && open().length === 0,
    room: () => ({ slots: parallel - open().length, hasMoney: true }),
    runOf(issue, label, hasNews) {
      const unit = units.get(issue);
      const read = unit && ((isDriven: boolean) => readUnit(fleet, unit, isDriven));
      return driver.runOf(issue, label, hasNews, read);
    },
    async answer(issue, text) {
      const unit = units.get(issue.number);
      if (!unit) return undefined;
      const problem = await fleet.reopen(unit.id, [{ kind: 'answer', story: issueName(issue), text }]);
      if (!problem) units = new Map([...units, [issue.number, { ...unit, isOver: false }]]);
      return problem;
    },
    async cancel(issue, why) {
      const unit = units.get(issue);
      driver.cancel(issue, why);
      return unit && fleet.cancel(unit.id);
    },
  };
}

function readUnit(
  { project }: IssueFleet,
  { id, isOver, isDone, waits }: IssueUnit,
  isDriven: boolean,
): ReadIssueRun {
  const { result, forge, questions } = loadState(runPaths(project, id)).state;
  const isProven = forge !== undefined || (isDone && whyNotProven(id, result) === undefined);
  const stand = isDriven || !isOver ? 'driven' : isProven ? 'proven' : 'stopped';
  const question = isOver && !isDone ? openQuestions(questions)[0]?.iteration : undefined;
  const shown = isDriven ? undefined : waits;
  return { id, stand, isProven, question, pull: forge?.number, ended: forge?.ended?.reason, waits: shown };
}

/** On the base as the remote has it now. */
async function submit({ access, fleet }: UnitWorld, issue: Issue): Promise<Problem | undefined> {
  const base = await tipOfBase(access);
  if (isProblem(base)) return base;
  const { url: repoUrl } = access;
  return fleet.submit({ issue: givenIssue(access, issue), task: issueTask(issue), repoUrl, base });
}

function follow(world: UnitWorld, id: string, { stop }: Driven): Promise<Problem | undefined> {
  const { stopping: abort } = stop;
  const unit = world.fleet.source(id, { abort, lost: () => stop.request('interrupted', 'now') });
  return followIssue({ ...world, id, abort, unit, again: async () => 'interrupted' });
}
