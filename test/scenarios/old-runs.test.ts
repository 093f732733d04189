/** A thousand runs that are over cost whoever looks at a project or begins another run in it no more than two hundred. */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projectPaths } from '../../src/store/paths.ts';
import { listenTo, TOKEN } from '../dashboard/serve.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';

const MANY = 1_000;
const hasStrace = spawnSync('strace', ['-qq', 'true']).status === 0;

const idAt = (at: number) => `20260301-${String(100_000 + at)}-aaaa`;

/** One more of them, and the time at which it began. */
function write(project: Repo, at: number): void {
  const start = Date.parse('2026-03-01T10:15:00Z') + at * 60_000;
  writeRun(project.dir, { iterations: 1, ends: 'all_checks_passed', start, filesFrom: 2, id: idAt(at) });
}

function withRuns(): Repo {
  const project = repo();
  for (let at = 0; at < MANY; at++) write(project, at);
  // Whoever wrote them is this process, which is alive.
  rmSync(projectPaths(project.dir).state().live, { recursive: true, force: true });
  return project;
}

/** What files are opened is written down. */
function traced() {
  const trace = folder('ralph-trace-').path('trace');
  return {
    // `-D`: the program that is started is not strace, so that it can be ended.
    prefix: ['strace', '-D', '-f', '-qq', '-s', '400', '-e', 'trace=openat', '-o', trace],
    /** Of how many runs one was, after so many characters. */
    runsOpened(after = 0): number {
      const ids = readFileSync(trace, 'latin1')
        .slice(after)
        .matchAll(/\/runs\/(?:[^/"]+\/)?(\d{8}-\d{6}-\w+)\//g);
      return new Set([...ids].map(([, id]) => id)).size;
    },
    length: () => readFileSync(trace, 'latin1').length,
  };
}

const ACTIONS = {
  'ralph status': ['status'],
  'a run that begins': ['loop', 'Add', '--check', 'true', '--max-iterations', '1', '--quiet', '--agent'],
};

test.skipIf(!hasStrace).for(Object.entries(ACTIONS))(
  '%s opens the files of the latest runs alone',
  async ([, words]) => {
    const project = withRuns();
    const agent = folder('ralph-agent-');
    agent.write('agent', '#!/bin/sh\ncat >/dev/null\necho made > made\necho "<promise>COMPLETE</promise>"\n');
    spawnSync('chmod', ['+x', agent.path('agent')]);
    const args = words.at(-1) === '--agent' ? [...words, agent.path('agent')] : words;
    const { prefix, runsOpened } = traced();
    const { code, stderr } = await ralph(args, { cwd: project.dir, prefix });
    expect(code, stderr).toBe(0);
    expect(runsOpened()).toBeLessThan(MANY / 4);
  },
);

test.skipIf(!hasStrace)('the dashboard opens those that it shows, and each of them once', async () => {
  const project = withRuns();
  const { prefix, runsOpened, length } = traced();
  const env = { RALPH_DASHBOARD_TOKEN: TOKEN };
  const running = startRalph(['dashboard'], { cwd: project.dir, env, prefix });
  let printed = '';
  running.process.stdout?.on('data', chunk => {
    printed += chunk;
  });
  await running.until(`?token=${TOKEN}`);
  const port = Number(new URL(printed.trim()).port);
  const lists = listenTo(port, '/api/runs');
  const first = await lists.next();
  expect(JSON.parse(first.value ?? '')[0].runs).toHaveLength(200);
  expect(runsOpened()).toBeLessThan(MANY / 4);
  const before = length();
  write(project, MANY);
  for await (const list of lists) if (list.includes(idAt(MANY))) break;
  expect(runsOpened(before)).toBeLessThan(5);
  running.process.kill('SIGTERM');
  await running.finished;
});
