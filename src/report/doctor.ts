/** `ralph doctor`: what was found here, a line each, and how to fix it. */
import { counted } from './numbers.ts';
import { phrase } from './phrases.ts';
import { type Mark, markLines, type Style } from './style.ts';

/** `fact`: neither good nor bad. `problem`: no loop can run before it is fixed. */
export type Level = 'ok' | 'fact' | 'warning' | 'problem';

export interface Finding {
  readonly topic: string;
  readonly level: Level;
  readonly what: string;
  readonly fix?: string;
}

const MARKS: Record<Level, Mark> = { ok: 'ok', fact: 'note', warning: 'warning', problem: 'error' };

export function doctorLines(findings: readonly Finding[], style: Style): readonly string[] {
  const lines = findings.flatMap(({ topic, level, what, fix }) =>
    markLines(
      style,
      MARKS[level],
      `${topic}: ${phrase(what)}${fix ? ` → ${phrase(fix)}` : ''}`,
      level === 'fact' ? 'dim' : undefined,
    ),
  );
  return [...lines, '', verdict(findings)];
}

export function canRun(findings: readonly Finding[]): boolean {
  return findings.every(({ level }) => level !== 'problem');
}

function verdict(findings: readonly Finding[]): string {
  const count = findings.filter(({ level }) => level === 'problem').length;
  if (count === 0) return 'A loop can run here.';
  return `No loop can run here. Fix ${counted(count, 'problem')} first.`;
}
