/** A loop changes its face: from a session to an outer loop and back. It stays one run, with one ledger, and nothing is typed twice. */
import { type Dialect, endPrompt, type HookAnswer, type HookInput } from '../agents/dialect.ts';
import { transcriptSize } from '../agents/transcript.ts';
import { doubtsOf, trustWith } from '../domain/run/ledger-trust.ts';
import type { RunState } from '../domain/run/state.ts';
import { contract, type SessionRequest, type SessionState } from '../domain/session/session.ts';
import { numberAt, objectAt, stringAt, textsIn } from '../domain/text/json.ts';
import { isProblem } from '../domain/text/problem.ts';
import { readIfThere, tryTo } from '../platform/files.ts';
import { readState } from '../store/checkpoint.ts';
import { isRunning } from '../store/lease.ts';
import { projectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { findRun, listRuns, type RunFile, readRunFile, writeRunFile } from '../store/run-file.ts';
import {
  endSession,
  findSession,
  newSession,
  newSessionPath,
  type SessionFile,
  writeSession,
} from '../store/session-file.ts';
import { fallAsleep, hold, letGo, record, turnStarted } from '../store/session-ledger.ts';
import { putBack } from './protected.ts';

/** Takes the loop out of its session, for good; its run is nobody's then. undefined: it has ended already, or never began. */
export function handOut(root: string, file: SessionFile): SessionState | undefined {
  if (file.state.runId === '') return undefined;
  const state = endSession(file);
  if (state) letGo(root, state.runId);
  return state;
}

/** In a session with a loop: how it is handed over. In one without: the latest outer loop of the project continues here. */
export async function onHandOver(root: string, dialect: Dialect, input: HookInput): Promise<HookAnswer> {
  const file = findSession(root, input.sessionId);
  if (!file) return takeIn(root, dialect.host, input);
  if (file.state.active) await putBack(root, file.state);
  fallAsleep(root, file);
  return endPrompt(
    `⏸️ Ralph: the loop sleeps at iteration ${file.state.iteration}. It continues with a clean context each time when you type this in a terminal, in ${root}:\n\n  ralph continue-here`,
  );
}

function takeIn(root: string, host: string, input: HookInput): HookAnswer {
  const found = runToTake(root, input.commandArguments.trim());
  if (typeof found === 'string') return endPrompt(`❌ Ralph: nothing was handed over. ${found}`);
  const { file, paths, past, request } = found;
  const iteration = past.open?.number ?? past.results.length + 1;
  const kept = past.prepared?.kept ?? null;
  const protect = kept === null ? [] : textsIn(objectAt({ config: file.config }, 'config')?.protect);
  const { sessionId, promptId, transcript } = input;
  const at = { sessionId, promptId, runId: file.id, transcriptRead: transcriptSize(transcript) };
  const state: SessionState = { ...newSession(request, at, Date.now()), iteration, protect, kept };
  writeRunFile(paths, { ...file, command: 'session' });
  hold(root, file.id);
  const { maxIterations, checks } = request;
  const head = { runId: file.id, command: 'session', agent: host, maxIterations, checks, cwd: root } as const;
  const context = `${contract(state)}\n\nThis loop began outside of this session. What was done so far is in the files, and in ${projectPaths(root).progress}.`;
  record(
    root,
    file.id,
    { type: 'run-resumed', ...head, iteration, step: 'agent', repaired: [], changes: [] },
    ...turnStarted(iteration, state, context, host),
  );
  writeSession(newSessionPath(root, input.sessionId), state);
  return {
    kind: 'context',
    context,
    message: `🔄 Ralph: the run ${file.id} continues in this session at iteration ${iteration}.`,
  };
}

interface Takeable {
  readonly file: RunFile;
  readonly paths: RunPaths;
  readonly past: RunState;
  readonly request: SessionRequest;
}

/** A sentence: why there is none. */
function runToTake(root: string, wanted: string): Takeable | string {
  const project = projectPaths(root);
  const named = wanted === '' ? undefined : findRun(project, wanted);
  if (isProblem(named)) return `${named.where}: ${named.what}.`;
  const ids = named === undefined ? listRuns(project).toReversed() : [named];
  const isLoop = (id: string) => readRunFile(runPaths(project, id))?.command === 'loop';
  const id = ids.find(isLoop);
  const paths = id === undefined ? undefined : runPaths(project, id);
  const file = paths && readRunFile(paths);
  if (!paths || !file) return 'There is no `ralph loop` in this project that could continue here.';
  if (isRunning(paths)) return `The run ${file.id} is running: \`ralph cancel ${file.id}\` stops it.`;
  if (file.given?.worktree !== undefined)
    return `The run ${file.id} works in the worktree ${file.given.worktree}: it can only be resumed, with \`ralph resume ${file.id}\`.`;
  const { state: past, problems } = readState(paths);
  const [doubt] = doubtsOf(trustWith(paths.trust, problems));
  if (doubt !== undefined) return `The run ${file.id} cannot be believed: ${doubt}.`;
  if (past.result?.success) return `The run ${file.id} is done.`;
  const task = tryTo(() => readIfThere(paths.task)) ?? '';
  return task === ''
    ? `The task of ${file.id} is not there.`
    : { file, paths, past, request: requestOf(task, file, past) };
}

/** Where the run has no iterations left, it gets as many again: to hand it over is to want more. */
function requestOf(task: string, { config }: RunFile, { results }: RunState): SessionRequest {
  const settings = objectAt({ config }, 'config');
  const most = numberAt(settings, 'maximumIterations') ?? 0;
  return {
    task,
    maxIterations: most > 0 && results.length >= most ? results.length + most : most,
    completionPromise: stringAt(settings, 'completionTag') ?? null,
    minToolCalls: 1,
    onPromiseNoWork: 'reject',
    ultrawork: false,
    checks: textsIn(settings?.checks),
  };
}
