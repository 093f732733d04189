/** The ledger of an in-session loop, a run like any other: written by whoever decides something in it, a process each time. */
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Contained } from '../domain/checks/proof.ts';
import type { RunEvent } from '../domain/run/event.ts';
import { runResult } from '../domain/run/result.ts';
import { NOTHING_YET } from '../domain/run/state.ts';
import type { StopReason } from '../domain/run/stop-reason.ts';
import { titleOf } from '../domain/run/title.ts';
import { contract, elapsedOf, type SessionRequest, type SessionState } from '../domain/session/session.ts';
import { parseObject, stringAt } from '../domain/text/json.ts';
import { createRedactor, type Redact, redactDeep } from '../domain/text/secrets.ts';
import { ensureFolder, fileSize, tryTo, waitAMoment } from '../platform/files.ts';
import { identify, startedBy } from '../platform/process-table.ts';
import { readState } from './checkpoint.ts';
import { createJournal } from './journal.ts';
import { leaseTo, removeLease } from './lease.ts';
import { lineEndingAt } from './ledger-end.ts';
import { openLedgerCopy } from './mirror.ts';
import { newRunPaths, projectPaths, type RunPaths } from './paths.ts';
import { createRun } from './run-file.ts';
import { changeSession, deletedSessions, endSession, isLive, type SessionFile } from './session-file.ts';

/** What is secret does not change while a hook runs. */
let secrets: Redact | undefined;

/** Never the reason that a hook fails. Nothing follows the end of a run: whoever is late is too late. */
export function record(root: string, runId: string, ...events: readonly RunEvent[]): void {
  if (runId === '' || events.length === 0) return;
  try {
    secrets ??= createRedactor(process.env);
    const redact = secrets;
    const paths = newRunPaths(projectPaths(root), runId);
    withTurn(paths.state.lock, () => {
      if (hasEnded(paths) && events[0]?.type !== 'run-resumed') return;
      const shown = openLedgerCopy(paths);
      const journal = createJournal(paths.events, {
        run: runId,
        now: Date.now,
        redact: event => redactDeep(event, redact),
        durable: false,
        copy: ({ text }) => shown.add(text),
      });
      for (const event of events) journal.append(event);
      journal.close();
      shown.close();
    });
  } catch {
    // a full disk, a folder that was deleted: the loop continues without its ledger
  }
}

function hasEnded({ events }: RunPaths): boolean {
  const last = lineEndingAt(events, fileSize(events));
  return last !== undefined && stringAt(parseObject(last), 'type') === 'run-ended';
}

/** Milliseconds. Longer than anybody needs for a few lines: whoever holds it then is dead. */
const LONGEST_TURN = 2_000;
const A_MOMENT = 2;

/** Hooks of one session may run side by side, and the ledger is a chain. */
function withTurn(lock: string, action: () => void): void {
  ensureFolder(dirname(lock));
  for (let waited = 0; !isTaken(lock) && waited < LONGEST_TURN; waited += A_MOMENT) waitAMoment(A_MOMENT);
  try {
    action();
  } finally {
    tryTo(() => unlinkSync(lock)); // whoever came later took it for that of a dead process
  }
}

function isTaken(lock: string): boolean {
  const fd = tryTo(() => openSync(lock, 'wx', 0o600));
  if (fd !== undefined) closeSync(fd);
  return fd !== undefined;
}

export function openRun(root: string, request: SessionRequest, host: string): string {
  const project = projectPaths(root);
  const { file } = createRun(project, {
    command: 'session',
    version: '',
    config: request,
    now: Date.now(),
    task: request.task,
  });
  hold(root, file.id);
  const title = titleOf(request.task);
  record(
    root,
    file.id,
    {
      type: 'run-started',
      runId: file.id,
      command: 'session',
      agent: host,
      ...(title !== undefined && { title }),
      maxIterations: request.maxIterations,
      checks: request.checks,
      cwd: root,
    },
    ...turnStarted(1, request, contract(request), host),
  );
  return file.id;
}

/** An iteration begins with the prompt of its agent; of that, the task is the user's. */
export function turnStarted(
  iteration: number,
  { task }: SessionRequest,
  prompt: string,
  host: string,
): readonly RunEvent[] {
  const [promptChars, userChars, promptHead] = [prompt.length, task.length, prompt.slice(0, 200)];
  const turn = { purpose: 'work', command: host, promptChars, userChars, promptHead } as const;
  return [
    { type: 'iteration-started', iteration },
    { type: 'agent-started', ...turn },
  ];
}

/** Says which process the loop lives in: the host's own, also one that has resumed the session. */
export function hold(root: string, runId: string): void {
  if (runId === '') return;
  const named = Number(process.env.CLAUDE_PID);
  const host = Number.isSafeInteger(named) && named > 0 ? identify(named) : undefined;
  leaseTo(newRunPaths(projectPaths(root), runId), host ?? startedBy());
}

/** The loop has left its session. */
export function letGo(root: string, runId: string): void {
  record(root, runId, { type: 'notice', level: 'info', text: 'The loop left its session.' });
  removeLease(newRunPaths(projectPaths(root), runId));
}

/** Ends the ledger with the result that it adds up to. */
export function endRun(
  root: string,
  state: SessionState,
  ending: {
    readonly stopReason: StopReason;
    readonly detail?: string | undefined;
    readonly contained?: Contained;
  },
): void {
  const { runId } = state;
  if (runId === '') return;
  const paths = newRunPaths(projectPaths(root), runId);
  const run = tryTo(() => readState(paths))?.state ?? NOTHING_YET;
  const { stopReason, detail, contained = 'none' } = ending;
  const duration = elapsedOf(state, Date.now());
  const result = runResult(run, { runId, stopReason, detail, duration, place: undefined });
  const proof = { ...result.proof, contained };
  record(root, runId, { type: 'run-ended', result: { ...result, proof } });
  removeLease(paths);
}

/** Ends a loop by hand: by command, or because its file was deleted. The loop as it was last; undefined: it had ended already. */
export function cancel(root: string, file: SessionFile): SessionState | undefined {
  const state = endSession(file);
  if (state) endRun(root, state, { stopReason: 'cancelled' });
  return state;
}

/** True: the loop was ended by hand while its hook ran, and the ledger says so. */
export function wasCancelled(root: string, file: SessionFile): boolean {
  if (isLive(file)) return false;
  cancel(root, file); // its file was deleted: nobody else has written that down
  return true;
}

/** No hook runs in a project without a loop's file: that one was deleted is written down by whoever looks next, if it can be. */
export function endDeleted(root: string): void {
  tryTo(() => deletedSessions(root).map(file => cancel(root, file)));
}

/** Its loop waits until the user wakes it. */
export function fallAsleep(root: string, file: Parameters<typeof changeSession>[0]): void {
  const asleep = changeSession(file, now => (now.active ? { ...now, active: false } : undefined));
  if (asleep) record(root, asleep.runId, { type: 'paused' });
}
