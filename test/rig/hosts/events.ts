/** Small readers of agents' JSON streams: the rig's own, so that a mistake in an adapter cannot hide in its test. */
import { array, type Json, object, string } from '../model-server/json.ts';

export function ofType(events: readonly unknown[], type: string): readonly Json[] {
  return events.map(object).filter(event => event.type === type);
}

/** The text blocks of a message, in Claude's and Pi's shape. */
export function textOf(message: unknown): string {
  return array(object(message).content)
    .map(object)
    .filter(block => block.type === 'text')
    .map(block => string(block.text))
    .join('');
}

/** The sum of some counters over many usage objects. */
export function sum(usages: readonly Json[], ...fields: readonly string[]): number {
  return usages.reduce(
    (all, usage) => fields.reduce((part, field) => part + Number(usage[field] ?? 0), all),
    0,
  );
}
