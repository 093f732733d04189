/** What the ledger says: every claim of a bundle that can be taken from it is, by the writer and again by whoever verifies it. */
import type { CheckResult } from '../../domain/checks/check.ts';
import { proofOfRun } from '../../domain/checks/proof.ts';
import { type KnownEntry, knownEntry, type RawEntry } from '../../domain/run/ledger-entry.ts';
import type { LoopResult } from '../../domain/run/result.ts';
import { fold, NOTHING_YET, type RunState } from '../../domain/run/state.ts';
import { asObject, type Json, objectAt, parseObject, textsIn } from '../../domain/text/json.ts';
import type { BundledCheck, LeftOut, Predicate } from './format.ts';

export type Derived = Pick<
  Predicate,
  'run' | 'proof' | 'checks' | 'inputs' | 'reviews' | 'violations' | 'mutation'
> & {
  /** A name for the protected files, by which they can be found; undefined: nothing was protected. */
  readonly kept: string | undefined;
  /** The tree of the last commit that was made; undefined: none was, or it is not known. */
  readonly committed: string | undefined;
};

/** A sentence instead, where the run has not ended. The lines may be anybody's: what no Ralph writes may break what Ralph does with it. */
export function derive(lines: readonly (string | LeftOut)[]): Derived | string {
  try {
    const found = lines
      .map(line => (typeof line === 'string' ? parseObject(line) : undefined))
      .filter(entry => entry !== undefined);
    const iterations = iterationsOf(found.at(-1));
    const entries = found.flatMap(entry => knownEntry(shortened(entry) as unknown as RawEntry) ?? []);
    return fromEntries(entries, iterations.length);
  } catch {
    return 'its ledger holds what no Ralph writes';
  }
}

function fromEntries(entries: readonly KnownEntry[], iterations: number): Derived | string {
  const first = entries.find(entry => entry.type === 'run-started');
  const last = entries.at(-1);
  if (!first) return 'its ledger does not begin with the start of a run';
  if (last?.type !== 'run-ended') return 'the run has not ended';
  const state = entries.reduce<RunState>(
    (before, entry) => fold(before, { ...entry, time: Date.parse(entry.at) }),
    NOTHING_YET,
  );
  const violations = violationsIn(entries);
  const reported = last.result.iterations.flatMap(each => each.violations);
  if (reported.some(what => !violations.some(each => each.what === what)))
    return 'a violation of the run is left out of its ledger';
  const { head, prepared, open, last: done } = state;
  const iteration = open?.judged ? open : done;
  const { result } = last;
  const { proof } = result;
  return {
    run: {
      id: result.runId,
      command: first.command,
      agent: head?.agent ?? first.agent,
      model: head?.model ?? null,
      startedAt: first.at,
      endedAt: last.at,
      iterations,
      success: result.success,
      stopReason: result.stopReason,
    },
    proof: { ...proofOfRun(state), sandbox: head?.sandbox ?? null, ...(!agrees(state, proof) && UNKNOWN) },
    checks: checksIn(entries, iteration).map(checkOf),
    inputs: prepared?.inputs ?? {},
    reviews: reviewsIn(entries, first.agent),
    violations,
    mutation: result.mutation ?? null,
    kept: prepared?.kept,
    committed: treeOfCommit(entries),
  };
}

/** Of the last iteration; of a parallel run, those of the commit that landed last. */
function checksIn(entries: readonly KnownEntry[], iteration: RunState['last']): readonly CheckResult[] {
  const landed = entries.findLast(entry => entry.type === 'landed');
  if (landed?.type !== 'landed') return [...(iteration?.checks ?? []), ...(iteration?.clean ?? [])];
  const checked = entries.findLast(
    entry => entry.type === 'candidate-checked' && entry.passed && entry.commit === landed.commit,
  );
  return checked?.type === 'candidate-checked' ? checked.results : [];
}

function iterationsOf(entry: Json | undefined): readonly unknown[] {
  const iterations = objectAt(entry, 'result')?.iterations;
  return Array.isArray(iterations) ? iterations : [];
}

/** Of a thousand iterations only those are looked at in which something was done that may not be done. */
function shortened(entry: Json): Json {
  if (entry.type !== 'run-ended') return entry;
  const iterations = iterationsOf(entry).filter(each => textsIn(asObject(each)?.violations).length > 0);
  return { ...entry, result: { ...objectAt(entry, 'result'), iterations } };
}

/** The steps and the last line say the same, unless one of them was written by somebody else. */
function agrees(state: RunState, proof: LoopResult['proof']): boolean {
  return JSON.stringify(proofOfRun(state)) === JSON.stringify(proof);
}

const UNKNOWN = { level: 'claimed', commit: null, tree: null } as const;

function checkOf(result: CheckResult): BundledCheck {
  return {
    command: result.command,
    passed: result.passed,
    exitCode: result.exitCode,
    timedOut: result.timedOut,
    seconds: result.duration,
    clean: result.clean ?? false,
    setup: result.isSetup ?? false,
    ungated: result.ungated ?? false,
    flaked: result.flaked ?? 0,
    voided: result.voided ?? null,
    log: result.logHash ?? null,
  };
}

/** A review is over when its story has moved. */
function reviewsIn(entries: readonly KnownEntry[], agent: string): Predicate['reviews'] {
  const reviews: Predicate['reviews'][number][] = [];
  let reviewer: { readonly iteration: number; readonly by: string } | undefined;
  for (const entry of entries) {
    if (entry.type === 'iteration-started')
      reviewer =
        entry.mode === 'review' ? { iteration: entry.iteration, by: entry.agent ?? agent } : undefined;
    if (entry.type !== 'stories-updated' || !entry.moved || reviewer?.iteration !== entry.iteration) continue;
    const verdict = entry.moved.passes ? 'approved' : (entry.moved.reviewStatus ?? 'none');
    reviews.push({
      story: entry.moved.id,
      verdict,
      by: reviewer.by,
      at: entry.at,
      iteration: entry.iteration,
    });
  }
  return reviews;
}

function violationsIn(entries: readonly KnownEntry[]): Predicate['violations'] {
  return entries.flatMap(entry => {
    if (entry.type !== 'violation') return [];
    const { what, restored, by = null } = entry.violation;
    // Every line of the ledger has the iteration in which it was written.
    const { iteration } = entry as KnownEntry & { readonly iteration?: number };
    return [{ what, restored, by, iteration: iteration ?? 0 }];
  });
}

function treeOfCommit(entries: readonly KnownEntry[]): string | undefined {
  const landed = entries.findLast(entry => entry.type === 'landed');
  if (landed?.type === 'landed') return landed.tree;
  const started = entries.findLast(entry => entry.type === 'scm-started' && entry.tree !== undefined);
  return started?.type === 'scm-started' ? started.tree : undefined;
}
