/** A unit of work of the fleet: a loop, a list of stories with its merge queue, or one story. One worker at a time holds it. */
import { isAbsolute } from 'node:path';
import type { SentBack } from '../domain/lanes/board.ts';
import { sentBack } from '../domain/lanes/board-event.ts';
import { maybe, number, object, partOf, record, text } from '../domain/run/shape.ts';
import type { StopReason } from '../domain/run/stop-reason.ts';
import { isCommit } from '../domain/text/commit.ts';
import { sha256 } from '../platform/hash.ts';
import type { GivenIssue } from '../store/run-file.ts';

export type UnitState =
  | 'waiting'
  | 'ready'
  | 'admitted'
  | 'running'
  | 'parked'
  | 'done'
  | 'stopped'
  | 'cancelled'
  | 'lost';

export const OVER: readonly UnitState[] = ['done', 'stopped', 'cancelled', 'lost'];

export type UnitKind = 'loop' | 'prd' | 'story';

/** What a unit is given, beside the settings files of its repository. Holds no secret. */
export interface UnitConfig {
  readonly flags: Readonly<Record<string, unknown>>;
  /** Of a loop: the task. */
  readonly task?: string;
  /** Of stories: the folder with the list, from the top of the repository. */
  readonly folder?: string;
  /** Of tasks, each worked on for itself: the file with the list, from the top of the repository. */
  readonly tasks?: string;
  /** Of one story, or one task of a list. */
  readonly story?: StoryGiven;
  /** Of a loop: the issue that it is for. */
  readonly issue?: GivenIssue;
}

export interface StoryGiven {
  readonly lane: string;
  /** Its place in the list, from 0. */
  readonly index?: number;
  /** Of a story: the list as it is believed, as text. */
  readonly list?: string;
  /** Of a task: what its agent gets to read. */
  readonly task?: string;
  /** What had landed when it began. */
  readonly tip: string;
  readonly sentBack?: SentBack;
}

export interface Unit {
  readonly id: string;
  readonly kind: UnitKind;
  readonly parent: string | null;
  readonly title: string;
  readonly owner: string;
  readonly repoUrl: string;
  readonly base: string;
  readonly config: UnitConfig;
  readonly needs: readonly string[];
  readonly account: string;
  readonly budget: string | null;
  readonly priority: number;
  readonly depends: readonly string[];
  readonly minVersion: number;
  readonly state: UnitState;
  readonly fence: number;
  readonly worker: string | null;
  readonly takeovers: number;
  /** Somebody has cancelled it, and its worker has not ended it yet. */
  readonly cancel: 'now' | 'gently' | null;
  /** It was over, and is worked on again: the result on its ledger is not the last word. */
  readonly reopened: boolean;
  readonly carry: string | null;
  readonly carryFence: number | null;
  readonly headSha: string | null;
  readonly stopReason: StopReason | null;
  readonly detail: string | null;
  readonly cost: number | null;
  readonly iterations: number;
  readonly readyAt: Date | null;
  readonly submittedAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
}

const given = partOf<StoryGiven>(
  record({
    ...{ lane: text, index: maybe(number), list: maybe(text), task: maybe(text), tip: text },
    sentBack: maybe(sentBack),
  }),
);

const config = partOf<UnitConfig>(
  record({
    ...{ flags: object(), task: maybe(text), folder: maybe(text), tasks: maybe(text), story: maybe(given) },
    issue: maybe(partOf<GivenIssue>(record({ repo: text, forge: text, number }))),
  }),
);

/**
 * What nobody can have submitted with Ralph. Rows are written by whoever has the database: a worker puts none of these names into a path, or
 * into a command where git could take it for an option.
 */
export function flawOf({
  id,
  base,
  carry,
  headSha,
  repoUrl,
  parent = null,
  ...more
}: Pick<Unit, 'id' | 'base' | 'carry' | 'headSha' | 'repoUrl'> & Partial<Pick<Unit, 'parent' | 'config'>>):
  | string
  | undefined {
  const isName = (name: string) => /^\w[\w-]*(\.[\w-]+)*$/.test(name);
  if (!isName(id) || (parent !== null && !isName(parent))) return `${FORGED} its id is not a name`;
  // Else the name of its branch would have nothing behind that of its list, or units would lead to each other in a circle.
  if (parent !== null && !id.startsWith(`${parent}.`)) return `${FORGED} its id is not one of ${parent}`;
  if ('config' in more && !config.fits(more.config)) return `${FORGED} what it is given is incomplete`;
  const { folder = '', tasks = '', story } = more.config ?? {};
  if (![folder, tasks].every(isBelow)) return `${FORGED} it names a file outside of its repository`;
  const commits = [base, carry, headSha, story?.tip ?? null].filter(commit => commit !== null);
  if (!commits.every(isCommit)) return `${FORGED} it names a commit that is not one`;
  if (!isAddress(repoUrl)) return `${FORGED} its repository has an address that git may not be given`;
  return undefined;
}

/** From the top of the repository, and not out of it. */
function isBelow(path: string): boolean {
  return !isAbsolute(path) && !path.includes('\0') && !path.split(/[/\\]/).includes('..');
}

/** What git takes for an address and nothing else, and what is allowed by its name is what is meant: no way up in it, however it is written. */
export function isAddress(url: string): boolean {
  const plain = url.replace(/%(?:25)*2e/gi, '.').replace(/%(?:25)*2f/gi, '/');
  return !/^-|^[\w+.-]*::|\p{Cc}/u.test(url) && !plain.split(/[/\\:]/).includes('..');
}

const FORGED = 'it was not submitted with `ralph fleet submit`:';

/** The branch that gets what came of it: that of a list is beside those of its stories. */
export function shownBranch({ id, kind, parent }: Pick<Unit, 'id' | 'kind' | 'parent'>): string {
  if (kind === 'prd') return `ralph/${id}/_int`;
  if (kind === 'story' && parent !== null)
    return `ralph/${parent}/${id.slice(parent.length + 1).split('.')[0]}`;
  return `ralph/${id}`;
}

/**
 * Where one holder of a unit keeps what the next one would need, `carry…`, what came of it, `work`, and the commits that its merge queue
 * still needs, `pins/…`: no other holder writes there.
 */
export function heldRef({ id, fence }: Pick<Unit, 'id' | 'fence'>, name: string): string {
  return `refs/ralph/${id}/${fence}/${name}`;
}

/** One of them is what the database names; '*': all. */
export function carryRef(unit: Pick<Unit, 'id' | 'fence'>, at: number | '*'): string {
  return heldRef(unit, at === 0 ? 'carry' : at === '*' ? 'carry*' : `carry-${at}`);
}

export type Queued = Pick<Unit, 'kind' | 'needs' | 'repoUrl' | 'minVersion'>;

/**
 * The queue of jobs for workers that may take them all: by labels, repository and version, since who takes a job does not choose which. A list
 * of stories holds no slot, so it waits in a queue of its own.
 */
export function queueOf({ kind, needs, repoUrl, minVersion }: Queued): string {
  const words = [...new Set(needs)].sort().map(word => word.replace(/[^A-Za-z0-9_.-]/g, '_'));
  return [kind === 'prd' ? 'list' : 'unit', `v${minVersion}`, sha256(repoUrl).slice(0, 16), ...words].join(
    '/',
  );
}
