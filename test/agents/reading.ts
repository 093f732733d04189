/** What the tests of the adapters share. Streams are read as in a run: through the skimmer, in chunks. */
import type { AgentAdapter } from '../../src/agents/agent.ts';
import { createSkimmer } from '../../src/agents/skim.ts';
import type { AgentEvent } from '../../src/domain/agent-event.ts';
import { createTurnFold, type Turn } from '../../src/domain/turn.ts';

export const line = (record: object): string => JSON.stringify(record);

export const read = (adapter: AgentAdapter, text: string): readonly AgentEvent[] =>
  skim(adapter, [Buffer.from(text)]);

/** The events of a stream that came in these chunks. What a chunk was in is used again at once, as in a run. */
export function skim(adapter: AgentAdapter, chunks: readonly Buffer[]): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  const skimmer = createSkimmer(adapter, event => events.push(event));
  for (const chunk of chunks) {
    const lent = Buffer.from(chunk);
    skimmer.push(lent);
    lent.fill('?');
  }
  skimmer.end();
  return events;
}

/** Every line of a stream parsed as a whole. */
export function parseAll(adapter: AgentAdapter, stream: Buffer): readonly AgentEvent[] {
  return stream
    .toString('utf8')
    .split('\n')
    .filter(text => text !== '')
    .flatMap(text => adapter.read(text.replace(/\r$/, '')));
}

export function inChunksOf(size: number, stream: Buffer): readonly Buffer[] {
  const count = Math.ceil(stream.length / size);
  return Array.from({ length: count }, (_, at) => stream.subarray(at * size, (at + 1) * size));
}

/** The turn that these lines come to, with `<promise>DONE</promise>` as the claim. */
export function fold(adapter: AgentAdapter, lines: readonly string[]): Turn {
  const turn = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
  for (const event of read(adapter, lines.join('\n'))) turn.add(event);
  return turn.turn();
}
