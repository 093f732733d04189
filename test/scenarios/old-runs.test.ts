/** A thousand runs that are over cost whoever looks at a project or begins another run in it no more than two hundred. */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projectPaths } from '../../src/store/paths.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';

const MANY = 1_000;
const hasStrace = spawnSync('strace', ['-qq', 'true']).status === 0;

/** Of how many runs a file is opened. */
async function runsOpened(project: Repo, ...args: readonly string[]): Promise<number> {
  const trace = folder('ralph-trace-').path('trace');
  const prefix = ['strace', '-f', '-qq', '-s', '400', '-e', 'trace=openat', '-o', trace];
  const { code, stderr } = await ralph(args, { cwd: project.dir, prefix });
  expect(code, stderr).toBe(0);
  const ids = readFileSync(trace, 'utf8').matchAll(/\/runs\/(?:[^/"]+\/)?(\d{8}-\d{6}-\w+)\//g);
  return new Set([...ids].map(([, id]) => id)).size;
}

const ACTIONS = {
  'ralph status': ['status'],
  'a run that begins': ['loop', 'Add', '--check', 'true', '--max-iterations', '1', '--quiet', '--agent'],
};

test.skipIf(!hasStrace).for(Object.entries(ACTIONS))(
  '%s opens the files of the latest runs alone',
  async ([, words]) => {
    const project = repo();
    const agent = folder('ralph-agent-');
    agent.write('agent', '#!/bin/sh\ncat >/dev/null\necho made > made\necho "<promise>COMPLETE</promise>"\n');
    spawnSync('chmod', ['+x', agent.path('agent')]);
    const start = Date.parse('2026-03-01T10:15:00Z');
    for (let at = 0; at < MANY; at++)
      writeRun(project.dir, {
        ...{ iterations: 1, ends: 'all_checks_passed', start: start + at * 60_000, filesFrom: 2 },
        id: `20260301-${String(100_000 + at)}-aaaa`,
      });
    // Whoever wrote them is this process, which is alive.
    rmSync(projectPaths(project.dir).state().live, { recursive: true, force: true });
    const args = words.at(-1) === '--agent' ? [...words, agent.path('agent')] : words;
    expect(await runsOpened(project, ...args)).toBeLessThan(MANY / 4);
  },
);
