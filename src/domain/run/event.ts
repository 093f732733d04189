/** Everything that happens in a run, in one table: a row is the type of an event, and what its line in a ledger must look like. */

import type { Contained } from '../checks/proof.ts';
import { FORGE_EVENTS } from '../forge/forge-event.ts';
import { BOARD_EVENTS } from '../lanes/board-event.ts';
import { agentEvent } from '../turn/agent-event.ts';
import {
  checkResult,
  claim,
  limits,
  measured,
  moved,
  outcome,
  refusedCalls,
  result,
  spent,
  spokenReview,
  texts,
  trouble,
  usage,
  verdict,
  violation,
} from './event-parts.ts';
import type { StoryEvidence } from './evidence.ts';
import {
  boolean,
  both,
  iteration,
  list,
  mark,
  maybe,
  number,
  object,
  oneOf,
  orNull,
  type RecordOf,
  type RowOf,
  record,
  text,
  type ValueOf,
  word,
} from './shape.ts';
import type { Standstill } from './standstill.ts';

export type LoopCommand = 'run' | 'loop' | 'prd' | 'session';

const forkOf = record({ run: text, iteration });

/** An iteration of another run. */
export type ForkOf = ValueOf<typeof forkOf>;

const HEAD = {
  runId: text,
  command: word<LoopCommand>(),
  agent: text,
  model: maybe(text),
  /** What the run is about, in one line; absent: unknown, or recorded before this was. */
  title: maybe(text),
  /** 0: no limit. */
  maxIterations: number,
  checks: texts,
  cwd: text,
  /** What agent and checks run in, in a few words; absent: nothing. */
  sandbox: maybe(text),
  /** The run, and its iteration, whose files it begins with; absent: those of the user. */
  forkOf: maybe(forkOf),
  /** What ends the processes of a turn or a check with it; absent: recorded before this was. */
  contained: maybe(word<Contained>()),
  /** Its proof is sealed: globs of what may change; absent: it is not. */
  sealed: maybe(texts),
};

/** What a run is, as recorded at its start and whenever it is resumed. */
export type RunHead = RecordOf<typeof HEAD>;

/** Where a run continues: the step that was cut off, the next iteration, or nothing but its end. */
export type ResumedStep = 'lanes' | 'prepare' | 'agent' | 'check' | 'scm' | 'next' | 'end';

const RESUMPTION = {
  iteration,
  step: word<ResumedStep>(),
  /** What had to be put right first, a sentence each. */
  repaired: texts,
  /** What differs from the settings of the start, a line each. */
  changes: texts,
  /** What the turn that was cut off had changed, its beginning. */
  diff: maybe(text),
  /** The files are not those that the run had left: what was best before no longer counts. */
  touched: mark,
};

export type Resumption = RecordOf<typeof RESUMPTION>;

const runStart = record({
  /** The content of the work tree, by its name in Ralph's own git directory. */
  tree: text,
  /** The commit and the branch of HEAD; null: none. */
  head: orNull(text),
  branch: orNull(text),
  /** What was staged and differs from that commit: `MODE OBJECT\tPATH`, with one character for each byte; absent: not known. */
  staged: maybe(texts),
  /** Paths that differed from that commit, for people; absent: none. */
  dirty: maybe(texts),
  /** Paths that a rule which is not committed hid from git, such as that of a folder which ignores itself; absent: none. */
  hidden: maybe(texts),
});

/** What is the user's own: everything that was there before the first iteration. */
export type RunStart = ValueOf<typeof runStart>;

const prepared = record({
  /** A name for what the files were before the first iteration; null: not looked at. */
  tree: orNull(text),
  /** A name for the protected files as they are kept in the run's folder. */
  kept: maybe(text),
  /** What the checks rest on: paths from where they run, each with a hash; '': it was not there. */
  inputs: maybe(object<Readonly<Record<string, string>>>()),
  /** A name for the files of `.worktreeinclude` as they are kept in the run's folder. */
  included: maybe(text),
  /** Where the repository stood; absent: there is none, or nothing is committed. */
  start: maybe(runStart),
});

export type Prepared = ValueOf<typeof prepared>;

const endedTurn = record({
  outcome,
  claim,
  /** Why the agent says that it cannot continue. */
  blocked: maybe(text),
  /** What the agent asks the user to decide. */
  question: maybe(text),
  /** What the agent says of stories that it reviewed. */
  reviews: maybe(list(spokenReview)),
  /** Files that it keeps as a merge has left them. */
  keeps: maybe(texts),
  /** Model calls. */
  steps: number,
  /** null: this agent does not tell. */
  toolCalls: orNull(number),
  /** Tool calls that the agent's own permissions did not allow; absent: none. */
  refused: maybe(refusedCalls),
  /** Of all attempts. */
  usage,
  /** No attempt said or did anything. */
  idle: mark,
});

export type EndedTurn = ValueOf<typeof endedTurn>;

const JUDGED = {
  treeChanged: orNull(boolean),
  repeats: number,
  standstill: maybe(object<Standstill>()),
  denials: maybe(texts),
  stories: maybe(object<StoryEvidence>()),
  spent,
  inputsChanged: maybe(texts),
  unstable: maybe(texts),
  /** A name for what the files were; null: not looked at. */
  tree: orNull(text),
  /** The tree of git that was checked; absent: it is not known. */
  snapshot: maybe(text),
  /** The tree of git that the turn left, where no check has looked at it. */
  files: maybe(text),
  /** As they were then. */
  limits: maybe(limits),
};

export type Judged = RecordOf<typeof JUDGED>;

const scmResult = record({
  task: text,
  outcome: word<'done' | 'nothing-to-do' | 'failed'>(),
  detail: text,
  /** A hook or a filter changed what was committed: it is not what was checked. */
  differs: mark,
  /** Of a commit: its name. */
  commit: maybe(text),
  /** A hook has refused the commit: what it printed. */
  refused: maybe(text),
  /** Of a commit that failed: its message, so that nobody is asked for one again. */
  message: maybe(text),
});

/** What came of a task of source control. */
export type ScmResult = ValueOf<typeof scmResult>;

const undone = record({
  iteration,
  /** Which files it changed, in a few words. */
  changes: text,
  /** What it made worse than it was: a few words each. */
  broke: texts,
});

/** An iteration that a run has gone back behind. */
export type Undone = ValueOf<typeof undone>;

/** `end`: the run ends, and leaves the best it had. */
const WHY = word<'worse' | 'end'>();

const restored = record({
  from: iteration,
  to: iteration,
  why: WHY,
  undone: list(undone),
  /** The ref in the user's repository that holds the files as they were before. */
  aside: maybe(text),
  /** Brings them back: for a shell. */
  bringBack: maybe(text),
  /** Why the files were left as they were. */
  problem: maybe(text),
});

/** What came of going back to the files of an earlier iteration. */
export type Restored = ValueOf<typeof restored>;

const restoring = record({
  from: iteration,
  to: iteration,
  why: WHY,
  /** Trees of git: the files as they will be, and as they were. */
  tree: text,
  aside: text,
});

/** Going back to the files of an earlier iteration, as it was planned. */
export type Restoring = ValueOf<typeof restoring>;

type Purpose = 'work' | 'commit-message';

const EVENTS = {
  'run-started': record(HEAD),
  /** The run continues after it was cut off or had stopped. */
  'run-resumed': record({ ...HEAD, ...RESUMPTION }),
  /** Everything that is done once is done. */
  prepared,
  'iteration-started': record({
    iteration,
    /** In `ralph prd`: what this iteration is for. */
    mode: maybe(text),
    story: maybe(text),
    /** A name for the files that a review must leave as they are, kept in the run's folder. */
    kept: maybe(text),
    /** The tree that a review is shown: what is approved is that one. And why it is not shown what changed. */
    reviewed: maybe(text),
    unshown: maybe(text),
    /** Who does it, where the roles of a run are given to different agents. */
    role: maybe(word<'implementer' | 'reviewer'>()),
    agent: maybe(text),
  }),
  'agent-started': record({
    purpose: word<Purpose>(),
    /** Counted from 2 where the same iteration is tried again; absent for the first. */
    attempt: maybe(number),
    /** Whose stream it speaks. */
    adapter: maybe(text),
    /** The command as it was run, fit to be shown. */
    command: text,
    promptChars: number,
    /** So many of them are the user's own words; the rest is Ralph's. */
    userChars: maybe(number),
    /** The first 200 characters of the prompt. */
    promptHead: text,
  }),
  agent: record({ event: agentEvent }),
  'agent-ended': record({
    purpose: word<Purpose>(),
    outcome,
    /** Seconds. */
    duration: number,
    /** null: this agent does not tell. */
    toolCalls: orNull(number),
    toolErrors: orNull(number),
    /** Tool calls that the agent's own permissions did not allow; absent: none. */
    refused: maybe(refusedCalls),
    /** Of this turn. */
    usage,
  }),
  /** The result of the iteration's turn, after all attempts at it: evidence from here on. */
  'turn-ended': endedTurn,
  /** Nothing is done until the trouble has passed; then the same iteration is tried again. */
  waiting: record({
    /** Who met the trouble. */
    agent: text,
    trouble,
    /** Milliseconds since 1970. */
    until: number,
  }),
  /** Another agent takes over: this one is limited, or the one that is preferred is free again. */
  'agent-switched': record({
    from: text,
    to: text,
    why: word<'limited' | 'free-again'>(),
    /** Until when `from` is limited, in milliseconds since 1970; absent where nobody knows. */
    until: maybe(number),
  }),
  /** The user has paused the run; nothing is begun until it is continued. */
  paused: record({}),
  continued: record({}),
  /** What the user says to the agent goes into the prompt of this iteration, and of no other. */
  'hint-delivered': record({ iteration, hint: text, text }),
  /** The agent asks the user to decide something: its story waits for the answer. */
  'question-asked': record({ iteration, story: text, question: text }),
  /** `message` brought it. */
  'question-answered': record({ story: text, question: text, answer: text, message: text }),
  /** `clean`: in a clean checkout of the tree that is handed over. */
  'check-started': record({ index: number, command: text, clean: mark }),
  'check-ended': record({ result: checkResult }),
  /** Faults were put into the changed lines, in copies, before the run is done. */
  mutated: both(record({ iteration }), measured),
  /** Written before anything of it is undone, so that a crash in the middle does not hide what was there. */
  tampered: record({ what: texts }),
  /** The agent changed something that is not its to change. */
  violation: record({ violation }),
  /** The evidence that no other event carries, and what was made of it; before anything is kept. */
  judged: record({ iteration, verdict, ...JUDGED }),
  /** Written before the task runs: `head` is the commit it starts from, null where there is none to be found; `tree` is what a commit will hold. */
  'scm-started': record({ task: text, head: orNull(text), tree: maybe(text) }),
  /** The sandbox stopped something. What it was comes from the inside: a hint, nothing to rely on. */
  denied: record({ what: text }),
  /** Ralph's own copy of the story list is this one now: it is in the run's folder, under its hash. */
  'stories-updated': record({
    iteration,
    hash: text,
    done: number,
    total: number,
    /** The story whose state changed, and what it is now. */
    moved: maybe(moved),
  }),
  scm: scmResult,
  /** Written before any file is moved, so that a move that is cut off is finished. */
  'restore-started': restoring,
  /** The files are those of the best iteration again. */
  restored,
  'iteration-ended': record({
    iteration,
    claim,
    verdict,
    /** Of the whole run up to now. */
    usage,
    /** Seconds; absent in ledgers of 0.1. */
    duration: maybe(number),
    /** In `ralph prd`: the story that it really changed, where that is not the one it was for. */
    story: maybe(text),
  }),
  ...BOARD_EVENTS,
  ...FORGE_EVENTS,
  /** Something the user should know that is no ending: a warning, what was killed, what was left alone. */
  notice: record({ level: word<'info' | 'warning' | 'debug'>(), text }),
  'run-ended': record({ result }),
};

export const runEvent = oneOf('type', EVENTS);

/** One of the rows, with its name as `type`. */
export type RunEvent = RowOf<typeof EVENTS, 'type'>;

/** What is written down only so that a run can be resumed or judged again: no news for readers. */
export const LEDGER_ONLY = [
  ...(['prepared', 'turn-ended', 'tampered', 'judged'] as const),
  ...(['scm-started', 'restore-started', 'forge-started'] as const),
];

/** An event as it is on the ledger: when it happened, in which run, and in which iteration of it (0: before the first). */
export type RecordedEvent = RunEvent & {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly run: string;
  readonly iteration: number;
};

/** Takes every event of a run, in order. Must not throw. */
export type Emit = (event: RunEvent) => void;
