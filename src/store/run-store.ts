/**
 * Where a run is kept: everything that drives a run reads and writes it through this port. Files are its first implementation; another
 * keeps the run elsewhere and may need time for it, so whoever drives waits for `settled` between two steps.
 */
import type { RecordedEvent, RunEvent } from '../domain/event.ts';
import type { Past } from '../domain/past.ts';
import { createRedactor, redactDeep } from '../domain/secrets.ts';
import { writeCheckpoint } from './checkpoint.ts';
import { type Received, readMessages, removeMessage } from './inbox.ts';
import { createJournal, type LedgerLine } from './journal.ts';
import { type FolderDamage, keepFolder } from './keep-folder.ts';
import { takeLease } from './lease.ts';
import { type ProjectPaths, runPaths } from './paths.ts';

export interface RunStore {
  /** Appends to the ledger, in order, and answers the event as it was recorded. Must not throw. */
  append(event: RunEvent): RecordedEvent;
  /** Everything that was appended is kept, or `trouble` says why not. */
  settled(): Promise<void>;
  /** Why nothing can be written any more. */
  trouble(): string | undefined;
  /** Keeps what the run has done so far, when enough has been appended since it last did. */
  checkpoint(past: Past): void;
  /** Puts back what was deleted or replaced of Ralph's own folder in the project: before anything is written there that others could redirect. */
  secure(): void;
  /** The same, and answers what that was since the last time. */
  restore(): FolderDamage;
  /** Messages that nobody has acted on yet, oldest first. */
  messages(): readonly Received[];
  removeMessage(id: string): void;
  /** Gives the run up: somebody else may drive it. */
  close(): void;
}

/** A second place where the run is kept: it may need time, and is waited for between two steps. */
export interface RunCopy {
  line(line: LedgerLine): void;
  settled(): Promise<void>;
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
  const paths = runPaths(project, id);
  const secrets = createRedactor(env);
  const redact = (event: RunEvent) => redactDeep(event, secrets);
  const journal = createJournal(paths.events, {
    ...{ run: id, now, ticks, redact, place: paths },
    ...(copy && { copy: copy.line }),
  });
  const lease = takeLease(paths, () => {
    journal.close();
    lost();
  });
  const folder = keepFolder(project, paths, journal.putBack);
  let kept = 0;
  return {
    append: journal.append,
    settled: async () => copy?.settled(),
    trouble: journal.trouble,
    checkpoint(past) {
      const end = journal.end();
      if (end.offset - kept < WORTH_A_CHECKPOINT) return;
      kept = end.offset;
      writeCheckpoint(paths, past, end);
    },
    secure: folder.secure,
    restore: folder.restore,
    messages: () => readMessages(paths),
    removeMessage: message => removeMessage(paths, message),
    close() {
      journal.close();
      folder.close();
      lease.release();
    },
  };
}
