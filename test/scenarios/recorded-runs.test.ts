/** A run that was recorded long ago, or by a later version, through the real bin: every reader shows it; of a copy none says that it is done. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ask, serve } from '../dashboard/serve.ts';
import { ralph } from '../rig/commands.ts';
import {
  type Line,
  projectWithCopy,
  RECORDED_RUN,
  recordedLines,
  recordedProject,
  writeLedger,
} from '../rig/recorded-run.ts';
import type { Repo } from '../rig/repo.ts';

const READERS = [
  ['status'],
  ['status', '--json'],
  ['log'],
  ['log', '--json'],
  ['explain'],
  ['explain', '--json'],
  ['report'],
  ['report', '--format', 'json'],
  ['report', '--format', 'junit'],
  ['report', '--format', 'sarif'],
  ['report', '--format', 'html'],
  ['report', '--all', '--format', 'json'],
  ['replay'],
] as const;

/** What each reader prints; every one must come to its end. The age of a run is of the clock. */
async function readAll(project: Repo): Promise<Readonly<Record<string, string>>> {
  const printed: Record<string, string> = {};
  for (const args of READERS) {
    const { code, stdout, stderr } = await ralph([...args, '--no-color'], { cwd: project.dir });
    expect([args.join(' '), code]).toEqual([args.join(' '), 0]);
    expect([
      args.join(' '),
      stderr.replace(/^\.ralph\/runs\S* was changed: it was put back\.\n/, ''),
    ]).toEqual([args.join(' '), '']);
    printed[args.join(' ')] = args[0] === 'status' ? stdout.replace(/\d+[hms]\d*[ms]?$/gm, '') : stdout;
  }
  const { port } = await serve([project.dir]);
  const { status, body } = await ask(port, `/api/0/${RECORDED_RUN}`);
  expect(status).toBe(200);
  printed.dashboard = body;
  return printed;
}

test('a recorded run is read by every reader', async () => {
  const printed = await readAll(recordedProject());
  const resume = `Resume: \`ralph resume ${RECORDED_RUN} --max-iterations 4\` (2 of 2 used)`;
  const flat = (text = '') => text.replace(/\s+/g, ' ');
  // The settings that it was started with are not in this project.
  expect(flat(printed.status)).toContain('> Resume: `ralph resume --max-iterations 4 --accept-changes`');
  expect(flat(printed.log)).toContain("cart.test.js is protected: the agent's change was undone");
  expect(flat(printed.log)).toContain(resume);
  expect(flat(printed.explain)).toContain('Stopped: the maximum number of iterations was reached.');
  expect(flat(printed.explain)).toContain('Resume: `ralph resume --max-iterations 4` (2 of 2 used)');
  expect(printed.report).toContain(resume);
  expect(printed['report --format html']).toContain('<h1>Stopped: the maximum number of iterations');
  expect(printed.replay).toContain('2 verdicts judged again: all the same.');
  expect(JSON.parse(printed.dashboard ?? '').view.iterations).toHaveLength(2);
});

test('an event of a later version is shown as unknown by every reader', async () => {
  const project = recordedProject();
  const future: Line = {
    at: '2027-01-01T00:00:00.000Z',
    type: 'agent-cloned',
    run: 'x',
    iteration: 1,
    into: 3,
  };
  const [first, ...rest] = recordedLines();
  writeLedger(project.events, [first!, future, ...rest]);
  const printed = await readAll(project);
  const words = 'Unknown event "agent-cloned": {"into":3}';
  expect(printed.log).toContain(words);
  expect(printed.explain).toContain(words);
  expect(JSON.parse(printed['report --format json'] ?? '').view.remarks[0].text).toBe(words);
  expect(printed['report --format html']).toContain('agent-cloned');
  expect(JSON.parse(printed.dashboard ?? '').view.remarks[0].text).toBe(words);
  expect(printed.replay).toContain('2 verdicts judged again: all the same.');
});

test('a stop reason of a later version is an ending, too', async () => {
  const project = recordedProject();
  const lines = recordedLines().map(line =>
    line.type === 'run-ended'
      ? { ...line, result: { ...(line.result as Line), stopReason: 'tired', detail: null } }
      : line,
  );
  writeLedger(project.events, lines);
  const printed = await readAll(project);
  const words = 'Stopped: tired (this version does not know this reason).';
  expect(printed.report).toContain(words);
  expect(printed.explain).toContain(words);
  expect(printed.status).toContain('tired');
});

/** As if the loop had ended well. */
function endedWell(lines: readonly Line[]): readonly Line[] {
  return lines.map(line =>
    line.type === 'run-ended'
      ? {
          ...line,
          result: { ...(line.result as Line), success: true, stopReason: 'all_checks_passed', detail: null },
        }
      : line,
  );
}

describe.each([
  [
    'a copy that was recorded elsewhere, or that somebody made up',
    'not recorded on this machine',
    () => {
      const project = projectWithCopy();
      writeLedger(project.path(`.ralph/runs/${RECORDED_RUN}/events.jsonl`), endedWell(recordedLines()));
      return project;
    },
  ],
  [
    'a ledger in which a line was changed',
    'The ledger has been changed',
    () => {
      const project = recordedProject();
      writeLedger(project.events, endedWell(recordedLines()));
      const text = readFileSync(project.events, 'utf8');
      writeFileSync(project.events, text.replace('"maxIterations":1', '"maxIterations":2'));
      return project;
    },
  ],
])('of %s', (_, why, make) => {
  test.each([
    ['log'],
    ['explain'],
    ['explain', '--json'],
    ['report'],
    ['report', '--format', 'html'],
    ['report', '--format', 'json'],
    ['report', '--format', 'junit'],
    ['report', '--format', 'sarif'],
    ['show'],
  ])('`ralph %s %s %s` says neither that it is done nor what proves it', async (...args) => {
    const { code, stdout, stderr } = await ralph([...args, '--no-color'], { cwd: make().dir });
    expect([code, stderr.replace(/\s+/g, ' ')]).toEqual([1, expect.stringContaining(why)]);
    const said = stdout.replace(/<script[\s\S]*?<\/script>|<style[\s\S]*?<\/style>/g, '');
    expect(said).not.toMatch(/\bDone\b|Proof:|"proof":"|all_checks_passed|exit code 0/);
  });

  test('`ralph status` lists it as unverified, and a resume is refused', async () => {
    const project = make();
    const told = JSON.parse((await ralph(['status', '--json'], { cwd: project.dir })).stdout).runs[0];
    expect(told).toMatchObject({ state: 'unverified', proof: null, resumable: false });
    const { stdout } = await ralph(['status'], { cwd: project.dir });
    expect(stdout).toContain(' unverified ');
    expect(stdout).not.toMatch(/Proof|all_checks_passed/);
    const refused = await ralph(['resume', RECORDED_RUN, '--accept-changes'], { cwd: project.dir });
    expect(refused.code).toBe(2);
  });
});

test('what was changed in the project is written again, and said once; what counts is shown', async () => {
  const project = recordedProject();
  const shown = `.ralph/runs/${RECORDED_RUN}`;
  const [ledger, file] = [project.read(`${shown}/events.jsonl`), project.read(`${shown}/run.json`)];
  writeLedger(project.path(`${shown}/events.jsonl`), endedWell(recordedLines()));
  project.write(`${shown}/run.json`, file.replace('"node --test"', '"true"'));
  const first = await ralph(['explain'], { cwd: project.dir });
  expect([first.code, first.stderr]).toEqual([
    0,
    `${shown}/events.jsonl was changed, ${shown}/run.json was changed: it was put back.\n`,
  ]);
  expect(first.stdout).toContain('Stopped: the maximum number of iterations was reached.');
  expect([project.read(`${shown}/events.jsonl`), project.read(`${shown}/run.json`)]).toEqual([ledger, file]);
  expect((await ralph(['explain'], { cwd: project.dir })).stderr).toBe('');
  rmSync(project.path('.ralph'), { recursive: true });
  const again = await ralph(['status'], { cwd: project.dir });
  expect([again.code, again.stderr]).toEqual([0, `${shown} was deleted: it was put back.\n`]);
  expect(project.read(`${shown}/events.jsonl`)).toBe(ledger);
});
