/** The plugin from the repository's address, as a user of Claude Code installs it: a bare repository stands for the public one. */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hostCommand } from '../rig/hosts/host.ts';
import { runHost } from '../rig/hosts/run.ts';
import { hostSession } from '../rig/hosts/session.ts';
import { releaseRepo } from '../rig/release.ts';
import { DONE, work } from './in-session.ts';

/** Nothing answers there: git is told to take the local repository instead. */
const ADDRESS = 'https://git.example.invalid/ralph.git';

async function published() {
  const repo = releaseRepo();
  expect(repo.release()).toMatchObject({ code: 0 });
  const session = await hostSession('claude', { steps: [work, { text: DONE }] });
  onTestFinished(() => session.close());
  const { root, home } = session.place;
  const bare = join(root, 'public.git');
  repo.git('init', '--quiet', '--bare', '--initial-branch=main', bare);
  repo.git('remote', 'add', 'origin', bare);
  repo.git('push', '--quiet', 'origin', 'main', 'release');
  appendFileSync(join(home, '.gitconfig'), `[url "file://${bare}"]\ninsteadOf = ${ADDRESS}\n`);
  const claude = (args: readonly string[], stdin = '') =>
    runHost([hostCommand('claude'), ...args], { place: session.place, env: session.env, stdin });
  return { repo, session, claude };
}

test('added by ADDRESS#release, the plugin is there with its programs, and loops', async () => {
  const { session, claude } = await published();
  expect(await claude(['plugin', 'marketplace', 'add', `${ADDRESS}#release`])).toMatchObject({ code: 0 });
  expect(await claude(['plugin', 'install', 'ralph@ralph'])).toMatchObject({ code: 0 });
  await session.run('/ralph:ralph-loop Do it --completion-promise DONE');
  expect(session.server.requests.filter(request => request.kind !== 'side')).toHaveLength(2);
  expect(existsSync(join(session.place.repo, 'work.txt'))).toBe(true);
  expect(existsSync(join(session.place.repo, '.ralph/runs'))).toBe(true);
});

test('by the bare address there is no marketplace, rather than a plugin without its programs', async () => {
  const { claude } = await published();
  const { code, stdout, stderr } = await claude(['plugin', 'marketplace', 'add', ADDRESS]);
  expect(code).toBe(1);
  expect(stdout + stderr).toContain('marketplace.json');
});

test('the next release arrives as an update', async () => {
  const { repo, claude } = await published();
  await claude(['plugin', 'marketplace', 'add', `${ADDRESS}#release`]);
  await claude(['plugin', 'install', 'ralph@ralph']);
  repo.raiseVersion('9.9.9');
  expect(repo.release()).toMatchObject({ code: 0 });
  repo.git('push', '--quiet', 'origin', 'release');
  expect(await claude(['plugin', 'marketplace', 'update', 'ralph'])).toMatchObject({ code: 0 });
  expect(await claude(['plugin', 'update', 'ralph@ralph'])).toMatchObject({ code: 0 });
  const { stdout } = await claude(['plugin', 'list', '--json']);
  expect(stdout).toContain('"version": "9.9.9"');
});
