/**
 * Every recording of a real agent, folded into a turn and compared with what was signed for.
 * `UPDATE_STREAMS=1` writes the expectations anew: read the difference before you keep it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AgentAdapter } from '../../src/agents/agent.ts';
import { ADAPTERS } from '../../src/agents/registry.ts';
import type { AgentEvent } from '../../src/domain/turn/agent-event.ts';
import { createTurnFold, type Turn } from '../../src/domain/turn/turn.ts';
import { readChunks } from './reading.ts';

const STREAMS = new URL('../streams/', import.meta.url);

describe.each(ADAPTERS.map(adapter => [adapter.name, adapter] as const))('%s', (name, adapter) => {
  const folder = new URL(`${name}/`, STREAMS);
  const scenarios = readdirSync(folder)
    .filter(file => file.endsWith('.jsonl'))
    .map(file => file.slice(0, -'.jsonl'.length));

  test.each(scenarios)('reads the recording %s as expected', scenario => {
    const seen = replay(
      adapter,
      new URL(`${scenario}.jsonl`, folder),
      new URL(`${scenario}.report.json`, folder),
    );
    const golden = new URL(`${scenario}.expected.json`, folder);
    if (process.env.UPDATE_STREAMS === '1') writeFileSync(golden, `${JSON.stringify(seen, null, 2)}\n`);
    expect(seen).toEqual(JSON.parse(readFileSync(golden, 'utf8')));
  });
});

interface Seen {
  readonly events: Readonly<Record<string, number>>;
  readonly turn: Turn;
}

function replay(adapter: AgentAdapter, stream: URL, report: URL): Seen {
  const fold = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
  const events = [
    ...(adapter.name === 'generic' ? plain(adapter, stream) : readChunks(adapter, [readFileSync(stream)])),
    ...(existsSync(report) ? adapter.read(readFileSync(report, 'utf8')) : []),
  ];
  for (const event of events) fold.add(event);
  return { events: countByKind(events), turn: fold.turn() };
}

/** An agent that has no records: each line is its own words. */
function plain(adapter: AgentAdapter, stream: URL): readonly AgentEvent[] {
  const lines = readFileSync(stream, 'utf8').replace(/\n$/, '').split('\n');
  return lines.flatMap(line => adapter.read(line));
}

function countByKind(events: readonly AgentEvent[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { kind } of events) counts[kind] = (counts[kind] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort());
}
