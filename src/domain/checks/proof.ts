import type { Board, LaneOutcome } from '../lanes/board.ts';
import type { RunState } from '../run/state.ts';
import { isProven } from '../run/stop-reason.ts';
import type { StoryReport } from '../stories/report.ts';
import { isGreen } from './check.ts';

/** What was proven and how: part of every result, shown by every reader in one line. */

/**
 * `claimed`: nothing was checked. `place`: checked in the work tree. `clean`: checked once more in a clean checkout. `sealed`: in one in which
 * only what the run may change can differ from the start, in a sandbox that shows nothing else the agent wrote.
 */
export type ProofLevel = 'claimed' | 'place' | 'clean' | 'sealed';

/** What keeps processes from outliving their turn or check; `none`: only a mark in their environment. */
export type Contained = 'sandbox' | 'pid' | 'cgroup' | 'none';

export interface Proof {
  readonly level: ProofLevel;
  readonly contained: Contained;
  /** The commit that is handed over; null: none was asked for, or it could not be made. */
  readonly commit: string | null;
  /** The tree that was checked; null: this is not a git repository, or nothing was checked. */
  readonly tree: string | null;
  /** Files that a check rests on, not protected, and changed since the run began. */
  readonly checkInputsChanged: readonly string[];
}

/** Nothing is known but what the agent says. */
export const UNPROVEN: Proof = {
  level: 'claimed',
  contained: 'none',
  commit: null,
  tree: null,
  checkInputsChanged: [],
};

/** Of a run so far: what its last iteration that was judged shows; of one that had nothing to do, what it looked at first. */
export function proofOfRun({ head, last, open, board, baseline, scm = [] }: RunState): Proof {
  if (board) return proofOfBoard(board, head);
  const judgedLast = open?.judged ? open : last;
  const before = judgedLast || !isGreen(baseline) ? [] : baseline;
  const { checks = before, clean = [], judged } = judgedLast ?? {};
  return {
    level: checks.length === 0 ? 'claimed' : clean.length > 0 && isGreen(clean) ? cleanLevel(head) : 'place',
    contained: containedIn(head),
    commit: scm.find(({ task }) => task.trim() === 'commit')?.commit ?? null,
    tree: checks.length === 0 ? null : (judged?.snapshot ?? null),
    checkInputsChanged: judged?.inputsChanged ?? [],
  };
}

function cleanLevel(head: RunState['head']): ProofLevel {
  return head?.sealed && containedIn(head) === 'sandbox' ? 'sealed' : 'clean';
}

function containedIn(head: RunState['head']): Contained {
  return head?.contained ?? (head?.sandbox === undefined ? 'none' : 'sandbox');
}

/** Of a parallel run: what has landed was checked clean, each time, as it landed. */
function proofOfBoard({ landed, green }: Board, head: RunState['head']): Proof {
  const contained = containedIn(head);
  const last = landed.at(-1);
  if (!last) return { ...UNPROVEN, contained };
  const isChecked = landed.every(({ commit }) => (green[commit] ?? 0) > 0);
  return {
    level: isChecked ? cleanLevel(head) : 'claimed',
    contained,
    commit: last.commit,
    tree: isChecked ? last.tree : null,
    checkInputsChanged: last.inputsChanged,
  };
}

/** What is known of a run that has ended, from its result or from a ledger, which may hold anything. */
export interface Proven {
  readonly stopReason: string;
  /** Runs of 0.1 have none. */
  readonly proof?: unknown;
  /** How many checks passed at the end, and how many failed; of a run that is done, those are not required. */
  readonly checks?: { readonly passed: number; readonly failed: number };
  /** What agent and checks ran in; nothing: they ran as they are. */
  readonly sandbox?: string | null | undefined;
  readonly worktreePath?: string | null;
  readonly stories?: Pick<StoryReport, 'stories'>;
  readonly lanes?: readonly Pick<LaneOutcome, 'state'>[];
}

/** What the checks say for a run that is done. `excused`: some failed before it, too, and are not required. `failing`: all did. */
export type Support = 'checked' | 'excused' | 'failing' | 'unchecked';

export function supportOf(run: Proven): Support {
  if (proofOf(run).level === 'claimed') return 'unchecked';
  const { passed, failed } = run.checks ?? { passed: 0, failed: 0 };
  return failed === 0 ? 'checked' : passed === 0 ? 'failing' : 'excused';
}

/** Whether there is a check that passed. */
export function isSupported(support: Support): boolean {
  return support === 'checked' || support === 'excused';
}

const LEVELS: Readonly<Record<ProofLevel, (which: string, folder: string) => string>> = {
  claimed: () => 'nothing was checked; there is only what agents say',
  place: (which, folder) => `${which} passed in ${folder}; not tried in a clean checkout`,
  clean: which => `${which} passed in a clean checkout`,
  sealed: which => `${which} passed in a sealed checkout`,
};

const CONTAINED: Readonly<Record<Contained, string>> = {
  sandbox: 'sandboxed',
  pid: 'contained',
  cgroup: 'contained',
  none: 'not contained',
};

/** For people, in one line. `folder`: where the agent has worked. */
export function proofWords(
  { level, contained, checkInputsChanged }: Proof,
  folder: string,
  support: Support = 'checked',
): string {
  const words =
    support === 'failing'
      ? 'no check passed, each failed before the run too'
      : LEVELS[level](support === 'excused' ? 'the required checks' : 'the checks', folder);
  const changed =
    checkInputsChanged.length > 0 ? [`check inputs changed: ${checkInputsChanged.join(', ')}`] : [];
  return [words, CONTAINED[contained], ...changed].join(' · ');
}

export function proofOf({ proof, checks, sandbox }: Proven): Proof {
  if (isProof(proof)) return proof;
  const level = checks && checks.passed > 0 ? 'place' : 'claimed';
  return {
    level,
    contained: sandbox ? 'sandbox' : 'none',
    commit: null,
    tree: null,
    checkInputsChanged: [],
  };
}

/** Whether its level of proof counts: it is done, or some of it has landed. */
export function hasProven(run: Proven): boolean {
  return isProven(run.stopReason) || hasLanded(run);
}

function hasLanded({ lanes = [] }: Proven): boolean {
  return lanes.some(({ state }) => state === 'landed');
}

/** The line that every reader shows of a run that has ended. */
export function provenWords(run: Proven): string {
  const proof = proofOf(run);
  const words = proofWords(proof, run.worktreePath ? 'its worktree' : 'your folder', supportOf(run));
  if (isProven(run.stopReason)) return words;
  return hasLanded(run)
    ? `of what has landed: ${words}`
    : `nothing was proven · ${CONTAINED[proof.contained]}`;
}

function isProof(value: unknown): value is Proof {
  if (typeof value !== 'object' || value === null) return false;
  const { level, contained, checkInputsChanged } = value as Record<string, unknown>;
  return (
    Object.hasOwn(LEVELS, String(level)) &&
    Object.hasOwn(CONTAINED, String(contained)) &&
    Array.isArray(checkInputsChanged) &&
    checkInputsChanged.every(each => typeof each === 'string')
  );
}
