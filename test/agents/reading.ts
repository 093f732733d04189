/** What the tests of the adapters share. */
import type { AgentAdapter } from '../../src/agents/agent.ts';
import type { AgentEvent } from '../../src/domain/agent-event.ts';
import { createTurnFold, type Turn } from '../../src/domain/turn.ts';

export const line = (record: object): string => JSON.stringify(record);

export const read = (adapter: AgentAdapter, text: string): readonly AgentEvent[] => adapter.read(text);

/** The turn that these lines come to, with `<promise>DONE</promise>` as the claim. */
export function fold(adapter: AgentAdapter, lines: readonly string[]): Turn {
  const turn = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
  for (const event of lines.flatMap(text => adapter.read(text))) turn.add(event);
  return turn.turn();
}
