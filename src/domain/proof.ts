import type { Board } from './board.ts';
import { isGreen } from './check.ts';
import type { Past } from './past.ts';

/** What was proven and how: part of every result, shown by every reader in one line. */

/** `claimed`: nothing was checked. `place`: checked in the work tree. `clean`: checked once more in a clean checkout. */
export type ProofLevel = 'claimed' | 'place' | 'clean';

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

/** Of a run so far: what its last iteration that was judged shows. */
export function proofOfRun({ head, last, open, board, scm = [] }: Past): Proof {
  if (board) return proofOfBoard(board, containedIn(head));
  const judgedLast = open?.judged ? open : last;
  const { checks = [], clean = [], judged } = judgedLast ?? {};
  return {
    level: checks.length === 0 ? 'claimed' : clean.length > 0 && isGreen(clean) ? 'clean' : 'place',
    contained: containedIn(head),
    commit: scm.find(({ task }) => task.trim() === 'commit')?.commit ?? null,
    tree: checks.length === 0 ? null : (judged?.snapshot ?? null),
    checkInputsChanged: judged?.inputsChanged ?? [],
  };
}

function containedIn(head: Past['head']): Contained {
  return head?.contained ?? (head?.sandbox === undefined ? 'none' : 'sandbox');
}

/** Of a parallel run: what has landed was checked clean, each time, as it landed. */
function proofOfBoard({ landed, green }: Board, contained: Contained): Proof {
  const last = landed.at(-1);
  if (!last) return { ...UNPROVEN, contained };
  const isChecked = landed.every(({ commit }) => (green[commit] ?? 0) > 0);
  return {
    level: isChecked ? 'clean' : 'claimed',
    contained,
    commit: last.commit,
    tree: isChecked ? last.tree : null,
    checkInputsChanged: last.inputsChanged,
  };
}

const LEVELS: Readonly<Record<ProofLevel, string>> = {
  claimed: 'claimed only: nothing was checked',
  place: 'checked in place',
  clean: 'checked clean',
};

const CONTAINED: Readonly<Record<Contained, string>> = {
  sandbox: 'sandboxed',
  pid: 'contained',
  cgroup: 'contained',
  none: 'not contained',
};

/** For people, in one line. */
export function proofWords({ level, contained, checkInputsChanged }: Proof): string {
  const changed =
    checkInputsChanged.length > 0 ? [`check inputs changed: ${checkInputsChanged.join(', ')}`] : [];
  return [LEVELS[level], CONTAINED[contained], ...changed].join(' · ');
}

/** What is known of a run that has ended. */
export interface Proven {
  readonly success: boolean;
  /** As the result has it, or a ledger, which may hold anything; runs of 0.1 have none. */
  readonly proof?: unknown;
  /** How many checks passed at the end. */
  readonly passed: number;
  /** What agent and checks ran in; nothing: they ran as they are. */
  readonly sandbox?: string | null | undefined;
}

export function proofOf({ proof, passed, sandbox }: Proven): Proof {
  if (isProof(proof)) return proof;
  const level = passed > 0 ? 'place' : 'claimed';
  return {
    level,
    contained: sandbox ? 'sandbox' : 'none',
    commit: null,
    tree: null,
    checkInputsChanged: [],
  };
}

/** The line that every reader shows of a run that has ended. */
export function provenWords(run: Proven): string {
  const proof = proofOf(run);
  return run.success ? proofWords(proof) : `nothing was proven · ${CONTAINED[proof.contained]}`;
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
