/** docs/reference/agents.md: written from what the suite saw, and compared with it ever after. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findAdapter } from '../../src/agents/registry.ts';
import { HOST_NAMES, type HostName, pinnedVersion } from '../rig/hosts/host.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import { CASES, type Case, type Seen } from './cases.ts';

const PAGE = join(import.meta.dirname, '../../docs/reference/agents.md');
const KEYS = Object.keys(CASES) as readonly Case[];

/** The page must be what it becomes with this agent's column as it was just seen. `RALPH_GENERATE=1` writes it. */
export function expectOnPage(name: HostName, seen: Seen): void {
  expectPage({ ...columnsOf(readPage()), [name]: seen });
}

/** All but the cells must be what the tables of the rig say; cheap enough for every test run. */
export function expectPageFrame(): void {
  expectPage(columnsOf(readPage()));
}

function expectPage(columns: Columns): void {
  const page = agentsPage(columns);
  if (process.env.RALPH_GENERATE) writeFileSync(PAGE, page);
  expect(readPage(), 'out of date: RALPH_GENERATE=1 npm run test:hosts').toBe(page);
}

type Columns = Readonly<Partial<Record<HostName, Seen>>>;

function agentsPage(columns: Columns): string {
  const cells = (key: Case) => HOST_NAMES.map(name => columns[name]?.[key] ?? '?');
  return `# Agents

What Ralph can do with each agent, as it was seen: \`npm run test:hosts\` runs the real CLIs under the real \`ralph\`, with a
scripted model on loopback, and compares every cell of this page. \`RALPH_GENERATE=1 npm run test:hosts\` writes it anew.

${table(
  ['agent', 'version tested', 'how to install it'],
  HOST_NAMES.map(name => [name, pinnedVersion(name), installOf(name)]),
)}

\`ralph doctor\` compares what is installed with these versions. Others work by the [Agent Client Protocol](acp.md), or as a plain command: prompt in, words out.

## Case by case

${table(
  ['', ...HOST_NAMES],
  KEYS.map(key => [CASES[key][0], ...cells(key)]),
)}

- *never done*: the tag was in the agent's stream and Ralph did not accept it as a claim. *not shown*, *not echoed*: the tag was not in the stream.
- *auth*, *rate-limit*, *transient*, *crash*: the class of trouble in the run's ledger. Ralph stops at once for *auth*, with advice, and retries after the others.
- *from the price table*: the agent reports tokens, and \`prices\` in the settings turn them into dollars.

## Traps

${HOST_NAMES.map(name => `**${name}**\n\n${HOSTS[name].traps.map(trap => `- ${trap}\n`).join('')}`).join('\n')}`;
}

function installOf(name: HostName): string {
  return `\`${findAdapter(name).install}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Reads the cells back, so that one agent's run can leave the others' columns as they are. */
function columnsOf(page: string): Columns {
  const rows = page
    .split('\n')
    .filter(line => line.startsWith('| '))
    .map(line => line.slice(2, -2).split(' | '));
  const head = rows.find(cells => cells.length > 3)?.slice(1) ?? [];
  const column = (at: number): Seen =>
    Object.fromEntries(
      KEYS.flatMap(key => {
        const cell = rows.find(cells => cells[0] === CASES[key][0])?.[at + 1];
        return cell === undefined ? [] : [[key, cell]];
      }),
    );
  return Object.fromEntries(HOST_NAMES.map(name => [name, column(head.indexOf(name))]));
}

function readPage(): string {
  try {
    return readFileSync(PAGE, 'utf8');
  } catch {
    return '';
  }
}
