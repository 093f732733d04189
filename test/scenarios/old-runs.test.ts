/** Runs that another version has written, through the real bin: every reader shows them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ask, serve } from '../dashboard/serve.ts';
import { type Line, OLD_RUN, oldLines, oldProject, writeLedger } from '../rig/old-run.ts';
import { ralph } from '../rig/ralph.ts';
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
    expect(stderr).toMatch(/^(ralph \w+: The ledger was recorded before its end was kept outside .*\n)?$/);
    printed[args.join(' ')] = args[0] === 'status' ? stdout.replace(/\d+[hms]\d*[ms]?$/gm, '') : stdout;
  }
  const { port } = await serve([project.dir]);
  const { status, body } = await ask(port, `/api/0/${OLD_RUN}`);
  expect(status).toBe(200);
  printed.dashboard = body;
  return printed;
}

test('a run folder of 0.1 is read by every reader', async () => {
  const printed = await readAll(oldProject());
  const resume = `Resume: \`ralph resume ${OLD_RUN} --max-iterations 4\` (2 of 2 used)`;
  const flat = (text = '') => text.replace(/\s+/g, ' ');
  // The settings that it was started with are not in this project.
  expect(flat(printed.status)).toContain(
    `> Resume: \`ralph resume ${OLD_RUN} --max-iterations 4 --accept-changes\``,
  );
  expect(flat(printed.log)).toContain("cart.test.js is protected: the agent's change was undone");
  expect(flat(printed.log)).toContain(resume);
  expect(flat(printed.explain)).toContain('Stopped: the maximum number of iterations was reached.');
  expect(flat(printed.explain)).toContain(resume);
  expect(printed.report).toContain(resume);
  expect(printed['report --format html']).toContain('<h1>Stopped: the maximum number of iterations');
  expect(printed.replay).toContain('2 verdicts judged again: all the same.');
  expect(JSON.parse(printed.dashboard ?? '').view.iterations).toHaveLength(2);
});

test('lines that carry their run and iteration are read alike', async () => {
  const project = oldProject();
  const before = await readAll(project);
  let iteration = 0;
  const lines = oldLines().map(({ seq, at, prev, ...rest }) => {
    if (rest.type === 'iteration-started') iteration = Number(rest.iteration);
    return { at, run: OLD_RUN, iteration, ...rest };
  });
  writeLedger(project.events, lines);
  const after = await readAll(project);
  const { 'log --json': _, ...others } = before;
  expect(after).toEqual({ ...others, 'log --json': readFileSync(project.events, 'utf8') });
});

test('an event of a later version is shown as unknown by every reader', async () => {
  const project = oldProject();
  const future: Line = {
    at: '2027-01-01T00:00:00.000Z',
    type: 'agent-cloned',
    run: 'x',
    iteration: 1,
    into: 3,
  };
  const [first, ...rest] = oldLines();
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
  const project = oldProject();
  const lines = oldLines().map(line =>
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
