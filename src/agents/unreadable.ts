/** Lines that an adapter does not know: kept as events so that they can be counted, and none for an empty line. */
import type { AgentEvent } from '../domain/agent-event.ts';
import { type Json, stringAt } from '../domain/json.ts';
import { oneLine } from './tools.ts';

export function unreadable(line: string, record?: Json): readonly AgentEvent[] {
  if (record)
    return [{ kind: 'unknown', what: oneLine(stringAt(record, 'type') ?? 'record without a type') }];
  const text = oneLine(line.slice(0, 80));
  return text === '' ? [] : [{ kind: 'unknown', what: `not JSON: ${text}` }];
}
