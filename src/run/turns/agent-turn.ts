/** One turn of the chosen agent, with its limits kept from inside and its events recorded. */

import { join } from 'node:path';
import type { AgentInvocation, AgentRequest } from '../../agents/agent.ts';
import type { HookWish } from '../../agents/hooks.ts';
import { type TurnReport, type TurnRequest, takeTurn } from '../../agents/invoke.ts';
import type { Settings } from '../../config/settings-shape.ts';
import type { EndedBy } from '../../domain/run/evidence.ts';
import { pick } from '../../domain/text/fields.ts';
import { createRedactor, redactWords } from '../../domain/text/secrets.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import { secondsSince } from '../../platform/clock.ts';
import { joinWords } from '../../platform/shell.ts';
import { childTrace, iterationName, turnName } from '../../platform/trace.ts';
import { warn } from '../steps.ts';
import type { ChosenAgent } from './choose-agent.ts';
import type { RunContext } from './context.ts';
import { takeFunctionTurn } from './function-agent.ts';
import { hooksFor, listenToHooks } from './run-hooks.ts';

export type OneTurn = Pick<
  TurnRequest,
  'prompt' | 'rule' | 'mode' | 'rawFile' | 'errorFile' | 'deadlines' | 'overBudget'
> & {
  readonly purpose: 'work' | 'commit-message';
  readonly iteration: number;
  /** How many characters of the prompt are the user's own. */
  readonly userChars?: number;
  /** Counted from 2 where the iteration is tried again. */
  readonly attempt?: number;
};

export async function oneTurn(world: RunContext, turn: OneTurn): Promise<TurnReport> {
  const { agent, settings, cwd, env, clock, emit, abort } = world;
  const given = await hooksFor(agent, world.hooks, env);
  const notes = listenToHooks(world.hooks, emit);
  const confinement = world.sandbox?.agent;
  const scratch = confinement?.scratch ? join(confinement.scratch, 'agent') : turn.rawFile;
  const request = agentRequest(agent, settings, turn.mode, scratch, given.wish);
  const invocation = invocationOf(agent, request);
  const { purpose } = turn;
  emit({
    type: 'agent-started',
    adapter: agent.adapter.name,
    command: shownCommand(invocation),
    ...startOf(turn),
  });
  const redact = createRedactor(env);
  const began = clock.ticks();
  const onEvent = createListener(world, notes.listen);
  const report = agent.function
    ? await takeFunctionTurn(agent.function, { ...turn, cwd, abort, redact, onEvent })
    : await takeTurn(
        {
          ...request,
          ...turn,
          adapter: agent.adapter,
          cwd,
          env: { ...env, ...given.env, ...traceOf(world, turn) },
          ...(confinement && { confinement }),
          ...pick(agent, 'prices', 'listPrice'),
          redact,
          idleTimeout: settings.idleTimeout * 1000,
          lingerTimeout: settings.lingerTimeout * 1000,
          abort,
          onEvent,
          onNotice: text => warn(emit, text),
          onDiskTrouble: world.disk.failed,
          onGone: world.secure,
        },
        invocation,
      );
  notes.listen();
  const { turn: done, outcome } = report;
  const tools =
    agent.adapter.reports.toolCalls && turn.mode === 'stream' ? done : { toolCalls: null, toolErrors: null };
  emit({
    type: 'agent-ended',
    purpose,
    outcome,
    duration: secondsSince(clock, began),
    toolCalls: tools.toolCalls,
    toolErrors: tools.toolErrors,
    ...pick(done, 'refused'),
    usage: done.usage,
  });
  return report;
}

/** Whoever it starts can join the trace as a part of this turn. */
function traceOf({ trace }: RunContext, { iteration, purpose, attempt }: OneTurn) {
  const names = [iterationName(iteration), turnName(purpose, attempt)];
  return trace === undefined ? {} : { TRACEPARENT: childTrace(trace, ...names) };
}

function startOf({ purpose, attempt, prompt, userChars }: OneTurn) {
  return {
    purpose,
    ...(attempt !== undefined && { attempt }),
    promptChars: prompt.length,
    ...(userChars !== undefined && { userChars }),
    promptHead: prompt.slice(0, 200),
  };
}

/** Of a turn. More is in its raw output, and would keep Ralph busy: an agent may print a gigabyte that is no record. */
const MOST_UNKNOWN = 1_000;

function createListener({ agent, hooks, emit }: RunContext, onToolEnd: () => void) {
  let unknown = 0;
  return (event: AgentEvent): void => {
    if (event.kind !== 'unknown' || ++unknown <= MOST_UNKNOWN) emit({ type: 'agent', event });
    hooks.door?.hear(agent, event);
    if (event.kind === 'tool-end') onToolEnd();
  };
}

export function agentRequest(
  agent: ChosenAgent,
  settings: Settings,
  mode: AgentRequest['mode'],
  scratch: string,
  hooks?: HookWish,
): AgentRequest {
  const { command, flags, model } = agent;
  return {
    command,
    flags,
    mode,
    permissions: settings.permissions,
    scratch,
    ...(model !== undefined && { model }),
    ...(hooks && { hooks }),
  };
}

export function invocationOf({ adapter, prefix }: ChosenAgent, request: AgentRequest): AgentInvocation {
  const invocation = adapter.invocation(request);
  const [command, ...args] = invocation.argv;
  return { ...invocation, argv: [command, ...prefix, ...args] };
}

export function shownCommand(invocation: AgentInvocation): string {
  return joinWords(redactWords(invocation.argv));
}

export function deadlines(
  { iterationTimeout, maxTime }: Settings,
  elapsed: number,
): TurnRequest['deadlines'] {
  const all: { after: number; by: EndedBy }[] = [];
  if (iterationTimeout > 0) all.push({ after: iterationTimeout * 1000, by: 'iteration-timeout' });
  if (maxTime !== undefined) all.push({ after: Math.max(0, maxTime - elapsed) * 1000, by: 'max-time' });
  return all;
}
