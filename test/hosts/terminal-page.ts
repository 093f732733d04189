/** The table of docs/reference/in-session-hosts.md: written from what the terminals showed, and compared with it ever after. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { TERMINALS, type TerminalHost } from '../rig/hosts/terminals.ts';

const PAGE = join(import.meta.dirname, '../../docs/reference/in-session-hosts.md');
const [BEGIN, END] = ['<!-- terminals -->', '<!-- end of terminals -->'];

export const CASES = {
  start: 'the command starts a loop',
  esc: 'Esc while the agent generates',
  escInTool: 'Esc while a tool runs',
  own: 'a prompt of your own after that',
  wake: 'the command without a task',
  cancel: 'the cancel command',
  cancelOutside: '`ralph session cancel` while the agent generates',
  second: 'a loop, seen from a second session',
  resume: 'the host closed, opened again, and the loop resumed',
  uninstall: '`ralph plugin remove`',
} as const;

type Case = keyof typeof CASES;
export type Seen = Readonly<Partial<Record<Case, string>>>;

const KEYS = Object.keys(CASES) as readonly Case[];
const HOSTS = Object.keys(TERMINALS) as readonly TerminalHost[];

/** The table must be what it becomes with this host's column as it was just seen. `RALPH_GENERATE=1` writes it. */
export function expectColumn(name: TerminalHost, seen: Seen): void {
  const page = readFileSync(PAGE, 'utf8');
  const next = withTable(page, { ...columnsOf(page), [name]: seen });
  if (process.env.RALPH_GENERATE) writeFileSync(PAGE, next);
  expect(readFileSync(PAGE, 'utf8'), 'out of date: RALPH_GENERATE=1 npm run test:hosts').toBe(next);
}

/** All but the cells; cheap enough for every test run. */
export function expectFrame(): void {
  const page = readFileSync(PAGE, 'utf8');
  const columns = columnsOf(page);
  expect(page).toBe(withTable(page, columns));
  for (const name of HOSTS) expect(Object.keys(columns[name] ?? {}), name).toEqual(KEYS);
}

type Columns = Readonly<Partial<Record<TerminalHost, Seen>>>;

function withTable(page: string, columns: Columns): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rows = KEYS.map(key => [CASES[key], ...HOSTS.map(name => columns[name]?.[key] ?? '?')]);
  const table = [['', ...HOSTS], ['---', ...HOSTS.map(() => '---')], ...rows].map(line).join('\n');
  const [start, end] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  return `${page.slice(0, start)}\n${table}\n\n${unheard(columns)}\n${page.slice(end)}`;
}

/** What a cell says when no hook was called: the host's next prompt is the first that Ralph hears. */
export const NEXT_PROMPT = 'sleeps at the next prompt';

function unheard(columns: Columns): string {
  const at = (key: Case) => HOSTS.filter(name => columns[name]?.[key] === NEXT_PROMPT).join(', ') || 'none';
  return `These hosts call no hook on Esc, so Ralph hears of it with your next prompt: while the agent generates ${at('esc')}; while a tool runs ${at('escInTool')}.`;
}

/** Reads the cells back, so that the run of one host leaves the columns of the others as they are. */
function columnsOf(page: string): Columns {
  const lines = page.slice(page.indexOf(BEGIN), page.indexOf(END)).split('\n');
  const rows = lines.filter(line => line.startsWith('| ')).map(line => line.slice(2, -2).split(' | '));
  const column = (at: number): Seen =>
    Object.fromEntries(
      KEYS.flatMap(key => {
        const cell = rows.find(([first]) => first === CASES[key])?.[at + 1];
        return cell === undefined || cell === '?' ? [] : [[key, cell]];
      }),
    );
  return Object.fromEntries(HOSTS.map((name, at) => [name, column(at)]));
}
