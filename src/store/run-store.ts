/**
 * Where a run is kept: everything that drives a run reads and writes it through this port. Files are its first implementation; another
 * keeps the run elsewhere and may need time for it, so whoever drives waits for `flushed` between two steps.
 */
import type { RecordedEvent, RunEvent } from '../domain/run/event.ts';
import type { RunState } from '../domain/run/state.ts';
import { createRedactor, redactDeep } from '../domain/text/secrets.ts';
import { writeCheckpoint } from './checkpoint.ts';
import { type Received, readMessages, removeMessage } from './inbox.ts';
import { createJournal, type LedgerLine } from './journal.ts';
import { takeLease } from './lease.ts';
import { openMirror } from './mirror.ts';
import { newRunPaths, type ProjectPaths } from './paths.ts';
import { listRuns } from './run-file.ts';

export interface RunStore {
  /** Appends to the ledger, in order, and answers the event as it was recorded. Must not throw. */
  append(event: RunEvent): RecordedEvent;
  /** Everything that was appended is kept, or `trouble` says why not. */
  flushed(): Promise<void>;
  /** Why nothing can be written any more. */
  trouble(): string | undefined;
  /** Keeps what the run has done so far, when enough has been appended since it last did. */
  checkpoint(state: RunState): void;
  /** Puts right what is shown of the run in the project: before anything is written there that others could redirect. */
  secure(): void;
  /** The same, and returns what was wrong with it since the last time: a sentence each, without its end. */
  restore(): readonly string[];
  /** Messages that nobody has acted on yet, oldest first. */
  messages(): readonly Received[];
  removeMessage(id: string): void;
  /** Gives the run up: somebody else may drive it. */
  close(): void;
}

/** A second place where the run is kept: it may need time, and is waited for between two steps. */
export interface RunCopy {
  line(line: LedgerLine): void;
  flushed(): Promise<void>;
}

export interface StoreOptions {
  readonly project: ProjectPaths;
  readonly id: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  now(): number;
  ticks(): number;
  /** Somebody else has taken the run over. Nothing is written any more. */
  lost(): void;
  readonly copy?: RunCopy | undefined;
}

/** Bytes of the ledger that are read faster than a checkpoint is written again and again. */
const WORTH_A_CHECKPOINT = 512 * 1024;

/** Takes the lease of the run, too. */
export function openRunStore({ project, id, env, now, ticks, lost, copy }: StoreOptions): RunStore {
  const paths = newRunPaths(project, id);
  const secrets = createRedactor(env);
  const redact = (event: RunEvent) => redactDeep(event, secrets);
  const mirror = openMirror(paths, listRuns(project));
  const journal = createJournal(paths.events, {
    ...{ run: id, now, ticks, redact },
    copy(line) {
      mirror.add(line.text);
      copy?.line(line);
    },
  });
  const lease = takeLease(paths, () => {
    journal.close();
    lost();
  });
  let iteration = 0;
  let wrong: readonly string[] = [];
  const secure = () => {
    wrong = [...wrong, ...mirror.repair(iteration)];
  };
  let kept = 0;
  return {
    append(event) {
      const recorded = journal.append(event);
      iteration = recorded.iteration;
      return recorded;
    },
    flushed: async () => copy?.flushed(),
    trouble: journal.trouble,
    checkpoint(state) {
      const end = journal.end();
      if (end.offset - kept < WORTH_A_CHECKPOINT) return;
      kept = end.offset;
      writeCheckpoint(paths, state, end);
    },
    secure,
    restore() {
      secure();
      const all = [...wrong, ...mirror.repairEarlier()];
      wrong = [];
      return all;
    },
    messages: () => readMessages(paths),
    removeMessage: message => removeMessage(paths, message),
    close() {
      journal.close();
      mirror.close();
      lease.release();
    },
  };
}
