/** What Ralph asks of a forge: two dozen calls. GitHub is the first one that answers them. */
import type { ForgeProblem } from './http.ts';

export interface Pull {
  readonly number: number;
  readonly address: string;
  readonly state: 'open' | 'closed' | 'merged';
  readonly isDraft: boolean;
  /** The commit of its branch. */
  readonly head: string;
  /** The name of the branch that it goes into, and the commit there. */
  readonly base: string;
  readonly baseCommit: string;
  /** null: the forge is still finding out. */
  readonly isMergeable: boolean | null;
  /** The forge would merge it as it is: nothing that it requires is missing, such as an approval. */
  readonly isClear: boolean;
  readonly body: string;
  readonly author: string;
  /** Its name for GraphQL. */
  readonly node: string;
}

export interface CheckRun {
  readonly name: string;
  readonly state: 'running' | 'green' | 'red';
  /** By which its log can be asked for; absent: it is a status, without one. */
  readonly id?: number;
  /** What it says itself. */
  readonly output: string;
}

/** Something that somebody wrote. */
export interface Word extends Author {
  /** `review-1`, `thread-2`, `comment-3`. */
  readonly id: string;
  readonly kind: 'review' | 'thread' | 'comment';
  readonly number: number;
  readonly text: string;
  /** Of a review. */
  readonly verdict?: 'approved' | 'changes_requested' | 'other';
  /** The commit that a review saw. */
  readonly commit?: string;
  /** Of a thread. */
  readonly file?: string;
  readonly line?: number;
  /** The first word of its thread. */
  readonly thread?: number;
}

export interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  readonly isOpen: boolean;
  readonly labels: readonly string[];
}

/** Something that was done to an issue. */
export interface IssueEvent {
  readonly id: number;
  readonly kind: 'labelled' | 'unlabelled' | 'renamed';
  readonly label: string;
  readonly by: Author;
  /** Milliseconds since 1970, by the clock of the forge. */
  readonly at: number;
}

/** Who did something. */
export interface Author {
  readonly author: string;
  readonly isBot: boolean;
}

/** The last change of the text of an issue. */
export interface IssueEdit {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly by: Author;
}

export interface NewPull {
  readonly title: string;
  readonly body: string;
  readonly head: string;
  readonly base: string;
}

export type MergeMethod = 'merge' | 'squash' | 'rebase';

type Answered<Value> = Promise<Value | ForgeProblem>;

export interface Forge {
  /** Who the token is; undefined: it is nobody in particular, such as the token of a workflow. */
  me(): Answered<string | undefined>;
  defaultBranch(): Answered<string>;
  /** The one that is open for this branch, else the latest one; undefined: there was none. */
  findPull(branch: string): Answered<Pull | undefined>;
  pull(number: number): Answered<Pull>;
  openPull(pull: NewPull): Answered<Pull>;
  updateBody(number: number, body: string): Answered<Pull>;
  markReady(node: string): Answered<true>;
  /** Only while its head is this commit. */
  merge(number: number, head: string, method: MergeMethod): Answered<true>;
  checks(commit: string): Answered<readonly CheckRun[]>;
  /** What a red check printed, or says of itself. */
  failureOf(check: CheckRun): Answered<string>;
  /** Reviews, threads that are not resolved, comments; oldest first. */
  words(number: number): Answered<readonly Word[]>;
  canWrite(login: string): Answered<boolean>;
  /** The open ones with this label. */
  issues(label: string): Answered<readonly Issue[]>;
  issue(number: number): Answered<Issue>;
  /** Oldest first. */
  issueEvents(number: number): Answered<readonly IssueEvent[]>;
  /** undefined: its text is as it was at first. */
  lastEdit(number: number): Answered<IssueEdit | undefined>;
  /** Oldest first. */
  comments(number: number): Answered<readonly Word[]>;
  addLabel(number: number, label: string): Answered<true>;
  /** True also where it was not there. */
  removeLabel(number: number, label: string): Answered<true>;
  comment(number: number, text: string): Answered<true>;
  editComment(comment: number, text: string): Answered<true>;
  reply(number: number, thread: number, text: string): Answered<true>;
}
