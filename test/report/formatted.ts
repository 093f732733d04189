import type { RunEvent } from '../../src/domain/run/event.ts';
import { createFormatter } from '../../src/report/format.ts';
import { DEFAULT_STYLE, type Style } from '../../src/report/style.ts';

const NOON = new Date(2026, 2, 1, 12, 0, 5).getTime();

/** The lines of some events, after an empty one, so that they read as a picture in backticks. */
export function formatted(events: readonly RunEvent[], over: Partial<Style> = {}): string[] {
  const formatter = createFormatter({ ...DEFAULT_STYLE, width: 120, ...over });
  return ['', ...events.flatMap(event => formatter.lines(event, NOON)), ...formatter.rest(NOON)];
}

export function block(text: string): string[] {
  return text.trimEnd().split('\n');
}
