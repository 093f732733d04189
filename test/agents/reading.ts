/** What the tests of the adapters share. Streams are read as in a run: in chunks. */
import type { AgentAdapter } from '../../src/agents/agent.ts';
import { createStreamReader } from '../../src/agents/reader.ts';
import type { AgentEvent } from '../../src/domain/turn/agent-event.ts';
import { createTurnFold, type Turn } from '../../src/domain/turn/turn.ts';

export const line = (record: object): string => JSON.stringify(record);

export const read = (adapter: AgentAdapter, text: string): readonly AgentEvent[] =>
  readChunks(adapter, [Buffer.from(text)]);

/** The events of a stream that came in these chunks. The memory of a chunk is reused at once, as in a run. */
export function readChunks(adapter: AgentAdapter, chunks: readonly Buffer[]): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  const reader = createStreamReader(adapter, event => events.push(event));
  for (const chunk of chunks) {
    const reused = Buffer.from(chunk);
    reader.push(reused);
    reused.fill('?');
  }
  reader.end();
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

/** The turn that these lines make, with `<promise>DONE</promise>` as the claim. */
export function fold(adapter: AgentAdapter, lines: readonly string[]): Turn {
  const turn = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
  for (const event of read(adapter, lines.join('\n'))) turn.add(event);
  return turn.turn();
}
