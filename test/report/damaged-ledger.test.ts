/** Whatever a ledger holds, events of a later version or damage: every reader comes to its end and shows what it cannot read. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call, CliCommand } from '../../src/cli/command.ts';
import { explain } from '../../src/cli/commands/explain.ts';
import { log } from '../../src/cli/commands/log.ts';
import { replay } from '../../src/cli/commands/replay.ts';
import { report } from '../../src/cli/commands/report.ts';
import { status } from '../../src/cli/commands/status.ts';
import { type FoundRun, openProjects } from '../../src/dashboard/projects.ts';
import { knownEntry, type RawEntry } from '../../src/domain/run/ledger-entry.ts';
import { createDetailFold } from '../../src/report/details.ts';
import { htmlOf } from '../../src/report/html.ts';
import { readRun } from '../../src/report/read-run.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { changed, pathsOf } from '../rig/damage.ts';
import { type Line, RECORDED_RUN, recordedLines, recordedProject, writeLedger } from '../rig/recorded-run.ts';
import { examples } from '../rig/thorough.ts';

const LINES = recordedLines();

/** Runs a command of the CLI in this process, and says what it printed. */
async function run(command: CliCommand, cwd: string, options: Call['options'] = {}): Promise<string> {
  let printed = '';
  const add = (text: string) => {
    printed += text;
  };
  const output = {
    answer: add,
    human: add,
    error: () => {},
    document: add,
    draw: add,
    humanIsTTY: false,
    columns: () => 100_000,
    json: options.json === true,
    quiet: false,
    verbose: false,
    color: false,
    emoji: true,
    us: 'ralph',
  };
  await command.run({ args: [], options, cwd, root: cwd, env: process.env, output });
  return printed;
}

async function readWithAll(cwd: string): Promise<string> {
  const printed = await run(log, cwd);
  for (const json of [false, true]) {
    await run(status, cwd, { json });
    await run(explain, cwd, { json });
    await run(replay, cwd, { json });
  }
  await run(log, cwd, { json: true, only: 'run,checks,verdicts', iteration: '2-' });
  for (const format of ['md', 'json', 'junit', 'sarif']) await run(report, cwd, { format });
  const paths = runPaths(projectPaths(cwd), RECORDED_RUN);
  const fold = createDetailFold(paths, () => {});
  const world = { assets: { script: '', style: '' }, version: '0', redact: (line: string) => line };
  htmlOf(readRun(RECORDED_RUN, paths, fold.add), new Map(), world);
  fold.end();
  const projects = openProjects([cwd], process.env);
  await projects.list();
  const found = (await projects.find('0', RECORDED_RUN)) as FoundRun;
  found.snapshot();
  found.detail(1);
  return printed;
}

const unknownEvent = fc.record({
  at: fc.constant('2026-11-15T17:15:00.000Z'),
  type: fc.stringMatching(/^[a-z]{3,9}-from-later$/),
  iteration: fc.jsonValue(),
  more: fc.jsonValue(),
});

const damage = fc.record({
  line: fc.nat({ max: LINES.length - 1 }),
  /** Which of its values, however deep. */
  at: fc.nat({ max: 200 }),
  value: fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, -1, 1e300, '', 'later', null, [], {}, [null])),
});

function damaged(lines: readonly Line[], { line, at, value }: { line: number; at: number; value: unknown }) {
  const paths = pathsOf(lines[line]);
  const path = paths[at % paths.length] ?? [];
  return lines.with(line, changed(lines[line], path, value) as Line);
}

test('events of a later version and damaged fields stop no reader', async () => {
  const project = recordedProject();
  let unknown = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(damage, { maxLength: 12 }),
      fc.array(unknownEvent, { maxLength: 4 }),
      fc.nat({ max: LINES.length }),
      async (damages, events, where) => {
        writeLedger(project.events, damages.reduce(damaged, LINES).toSpliced(where, 0, ...events));
        const printed = await readWithAll(project.dir);
        for (const { type } of events) expect(printed).toContain(`Unknown event "${type}": {`);
        const written = readFileSync(project.events, 'utf8').trimEnd().split('\n');
        for (const text of written) {
          const entry = JSON.parse(text) as RawEntry;
          const hasName = typeof entry.type === 'string' && /^[a-z-]+$/.test(entry.type);
          if (knownEntry(entry) || !hasName) continue;
          unknown++;
          expect(printed).toContain(`Unknown event "${entry.type}": {`);
        }
      },
    ),
    examples(200),
  );
  expect(unknown).toBeGreaterThan(40);
});
