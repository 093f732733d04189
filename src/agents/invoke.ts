/** One turn of an agent: start it, feed it the prompt, read its stream as it comes, end it when it must end. */
import { closeSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import type { EndedBy, TurnOutcome } from '../domain/run/evidence.ts';
import type { Redact } from '../domain/text/secrets.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';
import type { CompletionRule } from '../domain/turn/claim.ts';
import { classifyError, ROOT_REFUSED, type Trouble } from '../domain/turn/trouble.ts';
import { createTurnFold, type Turn } from '../domain/turn/turn.ts';
import type { Prices, Usage } from '../domain/turn/usage.ts';
import { leftOutNotice, openCapped } from '../platform/capped-file.ts';
import type { Confinement } from '../platform/confinement.ts';
import { errorLine, errorWords } from '../platform/error-words.ts';
import {
  appendPrivate,
  createPrivate,
  ensureFolder,
  fileSize,
  readIfThere,
  readSlice,
  tryTo,
  writePrivate,
} from '../platform/files.ts';
import { withAttachedGit } from '../platform/git.ts';
import { noteGarbage } from '../platform/memory.ts';
import { type OwnedProcess, type ProcessEnd, startConfined } from '../platform/process.ts';
import { redactFile } from '../platform/redact-file.ts';
import { startTimer, type Timer } from '../platform/timer.ts';
import type {
  AgentAdapter,
  AgentInvocation,
  AgentRequest,
  Conversation,
  ConversationRequest,
  OutputMode,
} from './agent.ts';
import { createReader, createRedaction, printsRecords } from './reader.ts';

export interface TurnRequest extends AgentRequest, Prices {
  readonly adapter: AgentAdapter;
  readonly prompt: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The wall it runs behind. */
  readonly confinement?: Confinement;
  readonly rule: CompletionRule;
  /** Takes secrets out of what it says. */
  readonly redact: Redact;
  /** Where the raw output goes. */
  readonly rawFile: string;
  readonly errorFile: string;
  /** Milliseconds; 0: no limit. */
  readonly idleTimeout: number;
  readonly lingerTimeout: number;
  /** The turn is ended when one of them has passed. */
  readonly deadlines: readonly { readonly after: number; readonly by: EndedBy }[];
  /** Asked whenever the agent reports usage: a reason to end the turn now. */
  overBudget(usage: Usage): EndedBy | undefined;
  /** Ends the turn at once. */
  readonly abort: AbortSignal;
  /** Every event of the stream, in order. Must not throw. */
  onEvent(event: AgentEvent): void;
  /** Something the user should know. */
  onNotice(text: string): void;
  /** Nothing of it is left; its files have not been touched yet. */
  onGone?(): void;
  /** The raw output cannot be kept any more: names the file and says why. The turn is to be ended then. */
  onDiskTrouble(what: string): void;
}

export interface TurnReport {
  readonly turn: Turn;
  readonly outcome: TurnOutcome;
}

type Why = EndedBy | 'lingering' | 'unanswered';

export async function takeTurn(request: TurnRequest, invocation: AgentInvocation): Promise<TurnReport> {
  const { adapter, cwd, env } = request;
  const fold = createTurnFold(request);
  const errors = openCapped(request.errorFile, 'append');
  const raw = adapter.needsFile ? undefined : createRawLog(request.rawFile, request.onDiskTrouble);
  const timers = createTimers();
  let child: OwnedProcess<Why> | undefined;

  const onEvent = (read: AgentEvent) => {
    const event = fold.add(read);
    request.onEvent(event);
    if (event.kind === 'result') timers.linger(request.lingerTimeout, () => child?.stop('lingering'));
    if (event.kind !== 'usage') return;
    const over = request.overBudget(fold.usage());
    if (over) child?.stop(over);
  };
  const redaction = createRedaction(request.redact, onEvent);
  const agentInput = createAgentInput(request);
  const hasReplyFile = invocation.replyFile !== undefined;
  const reader = createReader({ ...request, ...agentInput, hasReplyFile }, redaction.enter);

  writeFolder(invocation);
  child = await startConfined<Why>(request.confinement, {
    argv: invocation.argv,
    cwd,
    env: withAttachedGit({ ...invocation.env, ...env }),
    input: agentInput.input,
    stdout: chunk => {
      raw?.write(chunk);
      reader.push(chunk);
      timers.active();
      noteGarbage(chunk.length);
    },
    stderr: errors.fd,
    stopSignal: adapter.stopSignal,
    ...(adapter.needsFile && { throughFile: request.rawFile }),
    ...(request.idleTimeout > 0 && { idleTimeout: request.idleTimeout }),
  });
  for (const { after, by } of request.deadlines)
    timers.after(after, () => child?.stop(by, by === 'max-time' ? 'briefly' : 'gently'));
  timers.after(PATIENCE, () => agentInput.isUnanswered() && child?.stop('unanswered'));
  const abort = () => child?.stop('interrupt', 'at-once');
  request.abort.addEventListener('abort', abort);
  if (request.abort.aborted) abort();

  const { end, endedBy, leftBehind } = await child.done;
  request.onGone?.();
  request.abort.removeEventListener('abort', abort);
  timers.clear();
  reader.end();
  raw?.close();
  for (const notice of noticesOf({ endedBy, leftBehind, leftOut: errors.close() })) request.onNotice(notice);
  const report = readSideFiles(invocation, adapter, redaction.enter);
  redaction.end();
  keepFiles(request, report);
  if (invocation.folder) rmSync(invocation.folder.path, { recursive: true, force: true });
  const turn = fold.turn();
  const stderr = request.redact(tail(request.errorFile));
  return { turn, outcome: outcomeOf({ ...request, turn, end, stderr, ...(endedBy && { endedBy }) }) };
}

interface Remarkable {
  readonly endedBy: string | undefined;
  /** Processes. */
  readonly leftBehind: number;
  /** Bytes on stderr. */
  readonly leftOut: number;
}

function noticesOf({ endedBy, leftBehind, leftOut }: Remarkable): readonly string[] {
  return [
    ...(endedBy === 'lingering' ? ['The agent reported its result and did not exit: it was ended.'] : []),
    ...(leftBehind > 0 && !endedBy ? [`The agent left ${leftBehind} process(es) behind: ended.`] : []),
    ...(leftOut > 0 ? [leftOutNotice('What the agent printed on stderr', leftOut)] : []),
  ];
}

/** The raw output is kept as it came, unless the agent writes it into the file itself. */
function createRawLog(path: string, onDiskTrouble: (what: string) => void) {
  let fd: number | undefined = createPrivate(path);
  return {
    write(chunk: Buffer): void {
      if (fd === undefined) return;
      try {
        writeFileSync(fd, chunk);
      } catch (error) {
        closeSync(fd);
        fd = undefined;
        onDiskTrouble(`${path}: ${errorWords(error)}`);
      }
    },
    close(): void {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}

function createTimers() {
  const timers: Timer[] = [];
  let lingering: Timer | undefined;
  return {
    after: (delay: number, act: () => void) => void timers.push(startTimer(delay, act)),
    /** Restarted whenever something is printed: an agent that continues after its result is not lingering. */
    linger(delay: number, act: () => void): void {
      if (delay > 0) lingering ??= startTimer(delay, act);
    },
    active: () => lingering?.refresh(),
    clear(): void {
      for (const timer of timers) timer.clear();
      lingering?.clear();
    },
  };
}

function writeFolder({ folder }: AgentInvocation): void {
  for (const [name, content] of Object.entries(folder?.files ?? {})) {
    const path = join(folder?.path ?? '', name);
    ensureFolder(dirname(path));
    writePrivate(path, content);
  }
}

function readSideFiles(
  { replyFile, reportFile }: AgentInvocation,
  adapter: AgentAdapter,
  onEvent: (event: AgentEvent) => void,
): string | undefined {
  const take = (path: string | undefined) => {
    if (path === undefined) return undefined;
    // What cannot be read was not said.
    const content = tryTo(() => readIfThere(path));
    rmSync(path, { recursive: true, force: true });
    return content;
  };
  const reply = take(replyFile);
  if (reply) onEvent({ kind: 'text', text: reply });
  const report = take(reportFile);
  if (report) for (const event of adapter.read(report)) onEvent(event);
  return report;
}

/** The raw output holds all that was read, and neither file a secret. */
function keepFiles(request: TurnRequest, report: string | undefined): void {
  const { rawFile, errorFile, redact, onDiskTrouble } = request;
  try {
    if (report) appendPrivate(rawFile, `${report.trimEnd()}\n`);
  } catch (error) {
    onDiskTrouble(`${rawFile}: ${errorWords(error)}`);
  }
  for (const path of [rawFile, errorFile]) redactFile(path, redact);
}

const TAIL = 16_384;

function tail(path: string): string {
  return readSlice(path, Math.max(0, fileSize(path) - TAIL), TAIL).trim();
}

export interface EndedTurn {
  readonly adapter: AgentAdapter;
  readonly mode: OutputMode;
  readonly turn: Turn;
  readonly end: ProcessEnd;
  readonly endedBy?: Why | 'timeout' | 'idle-timeout';
  /** The end of what it printed on stderr. */
  readonly stderr: string;
}

export function outcomeOf(ended: EndedTurn): TurnOutcome {
  const outcome = plainOutcome(ended);
  if (outcome.kind !== 'failed') return outcome;
  const fix = fixOf(ended.adapter, outcome.trouble);
  return fix === undefined ? outcome : failed({ ...outcome.trouble, fix });
}

/** What this agent needs, where its error shows which of these it is. */
function fixOf({ login, needs, rootNeeds, name }: AgentAdapter, trouble: Trouble): string | undefined {
  const [key] = needs.keys;
  const setKey = key === undefined ? [] : [`set ${key}`];
  if (trouble.class === 'auth' && (login || setKey.length > 0))
    return [login ? `log in with \`${login.fix}\`` : `log in with ${name} itself`, ...setKey].join(', or ');
  const [variable] = rootNeeds ?? [];
  if (!ROOT_REFUSED.test(trouble.message) || variable === undefined) return undefined;
  return `run as another user than root, set ${variable}=1 if this machine is a sandbox, or give --permissions host`;
}

function plainOutcome(ended: EndedTurn): TurnOutcome {
  const { adapter, mode, turn, end, endedBy } = ended;
  if (end.kind === 'not-started') return failed(notStarted(end.code));
  if (endedBy === 'unanswered') return failed({ class: 'hang', message: UNANSWERED });
  if (endedBy !== undefined && endedBy !== 'lingering') {
    return { kind: 'ended', by: endedBy === 'timeout' ? 'iteration-timeout' : endedBy };
  }
  const streams = printsRecords(adapter, mode);
  if (streams && turn.result)
    return turn.result.ok ? completed(ended) : failed(troubleOf(ended, turn.result.error));
  if (streams && adapter.endsWithResult) return failed(troubleOf(ended, 'the stream ended without a result'));
  if (turn.trouble) return failed(turn.trouble);
  if (endedBy === 'lingering' || (end.kind === 'exited' && end.code === 0)) return completed(ended);
  return failed(troubleOf(ended, undefined));
}

const UNANSWERED = 'the agent did not answer the first requests of the protocol';

function completed({ adapter, turn }: EndedTurn): TurnOutcome {
  // A plain command may well work in silence; an agent that neither spoke nor acted did nothing.
  const silent = turn.lastWords.trim() === '' && turn.toolCalls === 0 && adapter.name !== 'generic';
  return silent
    ? failed({ class: 'empty-reply', message: 'the agent said nothing and did nothing' })
    : { kind: 'completed' };
}

function troubleOf({ adapter, turn, end, stderr }: EndedTurn, said: string | undefined): Trouble {
  if (turn.trouble) return turn.trouble;
  const exit =
    end.kind === 'exited'
      ? `exit code ${end.code}`
      : end.kind === 'signalled'
        ? `ended by ${end.signal}`
        : '';
  const printed = (adapter.errorIn?.(stderr) ?? errorLine(stderr)).trim();
  const message = [said, exit, printed].filter(Boolean).join('; ');
  // A plain command's stderr may hold anything; only an agent's error channel is worth reading for its meaning.
  if (adapter.name === 'generic') return { class: 'crash', message };
  return { ...classifyError([said, printed].filter(Boolean).join('; ')), message };
}

function notStarted(code: string): Trouble {
  const why = code === 'ENOENT' ? 'it is not there' : code === 'EACCES' ? 'it may not be executed' : code;
  return { class: 'config', message: `the agent cannot be started: ${why}` };
}

function failed(trouble: Trouble): TurnOutcome {
  return { kind: 'failed', trouble };
}

/** What Ralph says to an agent on its stdin: the prompt, or its side of a conversation. */
interface AgentInput {
  readonly input: string | Readable;
  readonly conversation?: Conversation;
  onSay?(words: readonly string[]): void;
  /** It was not given the prompt yet, since it has not answered. */
  isUnanswered(): boolean;
}

/** Milliseconds until an agent must have answered; then it may work as long as its limits say. The slowest of eleven agents took six seconds; one start of one of them never answered. */
const PATIENCE = 120_000;

/** Bytes. */
const MOST_UNREAD = 1024 * 1024;

export function createAgentInput(
  request: ConversationRequest & { readonly adapter: AgentAdapter },
): AgentInput {
  const conversation = request.adapter.converse?.(request);
  if (!conversation) return { input: request.prompt, isUnanswered: () => false };
  const input = new PassThrough();
  input.write(conversation.opening);
  return {
    input,
    conversation,
    onSay(words) {
      if (input.writableEnded) return;
      // One that asks and never reads what is answered must not fill the memory.
      if (input.writableLength < MOST_UNREAD) for (const each of words) input.write(each);
      if (conversation.isOver()) input.end();
    },
    isUnanswered: () => !conversation.isOpen(),
  };
}
