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
export function proofOfRun({ head, last, open, scm = [] }: Past): Proof {
  const judgedLast = open?.judged ? open : last;
  const { checks = [], clean = [], judged } = judgedLast ?? {};
  return {
    level: checks.length === 0 ? 'claimed' : clean.length > 0 && isGreen(clean) ? 'clean' : 'place',
    contained: head?.contained ?? (head?.sandbox === undefined ? 'none' : 'sandbox'),
    commit: scm.find(({ task }) => task.trim() === 'commit')?.commit ?? null,
    tree: checks.length === 0 ? null : (judged?.snapshot ?? null),
    checkInputsChanged: judged?.inputsChanged ?? [],
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
