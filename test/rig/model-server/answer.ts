/** Which step answers a request, and what that answer is. */
import type { Answer, Asked, Protocol } from './protocol.ts';
import type { ModelRequest, RequestKind } from './record.ts';
import { DEFAULT_USAGE, type Step, stepProblem } from './script.ts';
import type { Reply } from './send.ts';
import { concrete } from './tools.ts';

/** A request that offers tools and still is no turn of the agent: the first rule that matches answers it. */
export interface SideRule {
  readonly match: (request: Omit<ModelRequest, 'kind' | 'step' | 'ended'>) => boolean;
  readonly step: Step;
}

export interface Script {
  readonly steps: readonly Step[];
  readonly sides?: readonly SideRule[];
  /** Answers every request without tools. */
  readonly side?: Step;
}

/** The step to play, or the sentence why none can be. */
export type Choice = { readonly kind: RequestKind; readonly index?: number; readonly play: Step | string };

export const USED_UP = 'The script has no more steps.';

/** Keeps the place in the script. Its answer must not throw, whatever the script holds. */
export function chooser(script: Script): (request: Omit<ModelRequest, 'kind' | 'step' | 'ended'>) => Choice {
  let index = 0;
  let played = 0;
  return request => {
    try {
      if (request.tools.length === 0)
        return checked('side', script.side ?? { text: 'Scripted.' }, 'the side step');
      const rule = (script.sides ?? []).find(side => side.match(request));
      if (rule !== undefined) return checked('side', rule.step, 'a side rule');
      if (index >= script.steps.length) return { kind: 'used-up', play: { text: USED_UP } };
      const step = script.steps[index];
      const choice = { ...checked('step', step, `step ${index}`), index };
      played += 1;
      const times = step?.repeat ?? 1;
      if (times !== 'forever' && played >= times) {
        index += 1;
        played = 0;
      }
      return choice;
    } catch (error) {
      return { kind: 'refused', play: `the script cannot be played: ${String(error)}` };
    }
  };
}

/** Every sentence about the script that can be said before it is played. */
export function scriptProblems(script: Script): readonly string[] {
  if (!Array.isArray(script.steps)) return ['the script has no list of steps'];
  const named: readonly (readonly [unknown, string])[] = [
    ...script.steps.map((step, n) => [step, `step ${n}`] as const),
    ...(script.side === undefined ? [] : [[script.side, 'the side step'] as const]),
  ];
  return named.map(([step, name]) => stepProblem(step, name)).filter(problem => problem !== undefined);
}

/** What goes over the wire for a step, or the sentence why this client cannot be given it. */
export function replyTo(step: Step, asked: Asked, protocol: Protocol, url: URL, id: string): Reply | string {
  const how = {
    ...(step.gate === undefined ? {} : { gate: step.gate }),
    ...(step.hang === undefined ? {} : { hang: step.hang }),
    ...(step.cut === undefined ? {} : { cut: step.cut }),
  };
  const json = { 'content-type': 'application/json' };
  if (step.status !== undefined) {
    const body = step.errorBody ?? protocol.error(step.status, step.error ?? `scripted error ${step.status}`);
    return {
      ...how,
      status: step.status,
      headers: { ...json, ...step.headers },
      parts: [JSON.stringify(body)],
    };
  }
  const answer = answerOf(step, asked, id);
  if (typeof answer === 'string') return answer;
  const parts = asked.stream ? protocol.events(answer, url) : [JSON.stringify(protocol.whole(answer))];
  const stream = asked.stream && !parts[0]?.startsWith('[');
  const type = stream ? { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } : json;
  return { ...how, status: 200, headers: { ...type, ...step.headers }, parts };
}

function answerOf(step: Step, asked: Asked, id: string): Answer | string {
  const calls: Answer['calls'][number][] = [];
  for (const [n, use] of (step.tools ?? []).entries()) {
    const call = concrete(use, asked.tools);
    if (typeof call === 'string') return call;
    calls.push({ ...call, id: `${id}x${n}` });
  }
  const usage = { ...DEFAULT_USAGE, ...step.usage };
  return { id, model: asked.model, reasoning: step.reasoning ?? '', text: step.text ?? '', calls, usage };
}

function checked(kind: RequestKind, step: unknown, name: string): Choice {
  const problem = stepProblem(step, name);
  return problem === undefined ? { kind, play: step as Step } : { kind: 'refused', play: problem };
}
