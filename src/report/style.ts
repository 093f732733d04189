/** How output looks: colour, markers, width. Every escape sequence in a report line is written here. */
import { clip, displayWidth, wrap } from '../platform/text.ts';

export interface Style {
  readonly color: boolean;
  /** Emoji, or markers in plain letters such as `[OK]`. */
  readonly emoji: boolean;
  /** `[HH:MM:SS]` before each line. */
  readonly timestamps: boolean;
  /** Columns of a line; Infinity where lines are never cut. */
  readonly width: number;
  /** How much of a tool's output is shown. */
  readonly maxOutputLines: number;
  readonly maxOutputChars: number;
}

export const DEFAULT_STYLE: Style = {
  color: false,
  emoji: true,
  timestamps: false,
  width: 80,
  maxOutputLines: 3,
  maxOutputChars: 400,
};

const STAMP_WIDTH = '[00:00:00] '.length;
const NARROWEST = 20;

/** Columns for the words of a line, beside its timestamp. */
export function textWidth(style: Style): number {
  return Math.max(NARROWEST, style.width - (style.timestamps ? STAMP_WIDTH : 0));
}

export function stamped(style: Style, line: string, now: number): string {
  if (!style.timestamps || line === '') return line;
  const time = new Date(now);
  const digits = [time.getHours(), time.getMinutes(), time.getSeconds()].map(part =>
    String(part).padStart(2, '0'),
  );
  return `${paint(style, 'dim', `[${digits.join(':')}]`)} ${line}`;
}

export type Paint = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

const SGR: Record<Paint, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

export function paint(style: Style, color: Paint, text: string): string {
  if (!style.color || text === '') return text;
  const [on, off] = SGR[color];
  return `\x1b[${on}m${text}\x1b[${off}m`;
}

/** Each sign with its stand-in for terminals and people without emoji. */
const MARKS = {
  tool: ['⏺', '[TOOL]'],
  ok: ['✅', '[OK]'],
  error: ['❌', '[ERR]'],
  /** Good to know. */
  warning: ['🔸', '[WARN]'],
  retry: ['🔁', '[RETRY]'],
  next: ['🔄', '[NEXT]'],
  thinking: ['💭', '[THINK]'],
  subagent: ['↳', '>'],
  note: ['·', '-'],
  output: ['⎿', '|'],
  from: ['←', '<-'],
  todo: ['📋', '[TODO]'],
  done: ['✅', '[x]'],
  active: ['🔄', '[>]'],
  pending: ['⏸️', '[ ]'],
  /** The user must do something. */
  attention: ['❗', '[!]'],
  progress: ['📊', '[=]'],
  rule: ['─', '-'],
  dot: [' · ', ' | '],
  passed: ['✓', ' ok'],
  failed: ['✗', ' failed'],
} as const satisfies Record<string, readonly [string, string]>;

export type Mark = keyof typeof MARKS;

export function mark(style: Style, name: Mark): string {
  return MARKS[name][style.emoji ? 0 : 1];
}

const SIGN_PAINT: Partial<Record<Mark, Paint>> = {
  tool: 'cyan',
  ok: 'green',
  error: 'red',
  warning: 'yellow',
  attention: 'yellow',
  retry: 'yellow',
  next: 'cyan',
  note: 'dim',
};

/** A marker at the beginning of a line, in its colour. */
export function sign(style: Style, name: Mark): string {
  const color = SIGN_PAINT[name];
  return color ? paint(style, color, mark(style, name)) : mark(style, name);
}

/** A marker and its words, wrapped under each other; `color` is for the words. */
export function hanging(style: Style, marker: string, text: string, color?: Paint): string[] {
  const indent = displayWidth(marker) + 1;
  const rows = wrap(text, Math.max(NARROWEST / 2, textWidth(style) - indent));
  return rows.map((row, at) => {
    const words = row.trimEnd();
    return `${at === 0 ? marker : ' '.repeat(indent - 1)} ${color ? paint(style, color, words) : words}`;
  });
}

/** The same behind one of the signs. */
export function markLines(style: Style, name: Mark, text: string, color?: Paint): string[] {
  return hanging(style, sign(style, name), text, color);
}

/** Cells under each other, without the columns that are empty in every row. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map(row => displayWidth(row[at] ?? ''))));
  return rows.map(row =>
    row
      .map((cell, at) => cell + ' '.repeat(Math.max(0, (widths[at] ?? 0) - displayWidth(cell))))
      .filter(cell => cell !== '')
      .join('  ')
      .trimEnd(),
  );
}

/** A title set into a rule. */
export function titled(style: Style, title: string): string {
  const width = Math.min(textWidth(style), WIDEST_RULE);
  const line = mark(style, 'rule');
  const words = clip(title, width - 6);
  const rest = line.repeat(Math.max(2, width - displayWidth(words) - 4));
  return `${paint(style, 'dim', line.repeat(2))} ${paint(style, 'bold', words)} ${paint(style, 'dim', rest)}`;
}

const WIDEST_RULE = 80;
