/** The real Claude Code on two workers with homes of their own: one is killed in the middle of a turn, the other finishes. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { hostPath } from '../rig/hosts/host.ts';
import { makePlace } from '../rig/hosts/place.ts';
import { hostSession } from '../rig/hosts/session.ts';
import { describeWithPostgres, startPostgres } from '../rig/postgres.ts';
import { ralph, startRalph } from '../rig/ralph.ts';

const STEPS = [
  { tools: [{ do: 'shell', command: 'echo half > half.txt' }] },
  // Here its worker is killed.
  { hang: true },
  { tools: [{ do: 'shell', command: 'echo done > work.txt' }] },
  { text: 'It is done. <promise>COMPLETE</promise>' },
] as const;

describeWithPostgres('Claude Code in a fleet', () => {
  test('a unit whose worker was killed in a turn is finished on another machine', async () => {
    const postgres = await startPostgres();
    const claude = await hostSession('claude', { steps: STEPS });
    onTestFinished(() => claude.close());
    const { place, server, host } = claude;
    const other = await makePlace(hostPath('claude'));
    onTestFinished(() => other.remove());
    const remote = join(place.root, 'remote.git');
    const git = (...args: readonly string[]) =>
      execFileSync('git', args, { cwd: place.repo, env: place.env, encoding: 'utf8' });
    git('init', '--quiet', '--bare', remote);
    git('remote', 'add', 'origin', remote);
    git('push', '--quiet', 'origin', 'main');
    const database = { RALPH_DATABASE_URL: postgres.url };
    const machines = [
      { cwd: place.home, env: { ...place.env, ...claude.env, ...database } },
      { cwd: other.home, env: { ...other.env, ...(await host.setUp(other, server.url)).env, ...database } },
    ] as const;
    const words = ['Write it', '--check', 'grep -q done work.txt', '--agent', 'claude', '--json'];
    const submitted = await ralph(['fleet', 'submit', 'loop', ...words], {
      ...machines[0],
      cwd: place.repo,
    });
    expect(submitted.code, submitted.stderr).toBe(0);
    const { unit } = JSON.parse(submitted.stdout);
    const start = (machine: (typeof machines)[number]) =>
      startRalph(['worker', '--sandbox', 'none'], machine);
    const one = start(machines[0]);
    const turns = () => server.requests.filter(({ kind }) => kind === 'step').length;
    await vi.waitFor(() => expect(turns()).toBe(2), { timeout: 240_000, interval: 50 });
    const two = start(machines[1]);
    await two.until('started');
    one.process.kill('SIGKILL');
    const standing = async () =>
      (await postgres.sql('select state, fence::int as fence, stop_reason, job from ralph.unit'))[0];
    await vi.waitFor(
      async () =>
        expect(await standing()).toEqual({
          ...{ state: 'done', fence: 2, stop_reason: 'all_checks_passed', job: null },
        }),
      { timeout: 240_000, interval: 100 },
    );
    expect(turns()).toBe(STEPS.length);
    const files = git('--git-dir', remote, 'ls-tree', '-r', '--name-only', `ralph/${unit}`);
    expect(files.trim().split('\n')).toEqual(['README.md', 'work.txt']);
    two.process.kill('SIGTERM');
    expect((await two.finished).code).toBe(0);
  });
});
