/** The formats of each release, kept for ever: where their fixtures are, how they are made, and how a run of one is put into a project. */
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { MIGRATIONS } from '../../src/fleet/migrations.ts';
import { sha256 } from '../../src/platform/hash.ts';
import { newRunPaths, projectPaths } from '../../src/store/paths.ts';
import { agentOf } from '../rig/ended-run.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

export const FORMATS = join(import.meta.dirname, '../fixtures/formats');

export const RELEASES = readdirSync(FORMATS);

export function fixture(release: string, name: string): string {
  return readFileSync(join(FORMATS, release, name), 'utf8');
}

export function runOf(release: string): string {
  const [id = ''] = readdirSync(join(FORMATS, release, 'run'));
  return id;
}

/** The steps of the database, each with the hash of what it does. */
export function fleetSteps() {
  return MIGRATIONS.map(({ sql, ...step }) => ({ ...step, sha256: sha256(sql) }));
}

export interface Placed extends Repo {
  readonly env: { readonly HOME: string; readonly XDG_STATE_HOME: string };
  readonly id: string;
  /** The ledger that counts. */
  readonly events: string;
}

/** A project in which the run of a release was recorded. */
export function placeRun(release: string): Placed {
  const [work, home] = [repo(), folder('ralph-home-')];
  const env = { HOME: home.dir, XDG_STATE_HOME: home.path('state') };
  const id = runOf(release);
  const { state } = newRunPaths(projectPaths(work.dir, env), id);
  mkdirSync(state.folder, { recursive: true, mode: 0o700 });
  cpSync(join(FORMATS, release, 'run', id), state.folder, { recursive: true });
  home.write('state/ralph/format', fixture(release, 'format'));
  return { ...work, env, id, events: state.events };
}

/** A run with a check, a protected file and a commit, as it is today. */
export async function makeRun() {
  const [work, home] = [
    repo({ 'README.md': '# test\n', 'test/a.sh': 'test -f new.txt\n' }),
    folder('ralph-home-'),
  ];
  work.settings({ scm: { command: 'git', tasks: ['commit'] } });
  const env = { HOME: home.dir, XDG_STATE_HOME: home.path('state') };
  const words = ['loop', 'Make it new', '--agent', agentOf('echo new > new.txt'), '--json'];
  const checks = ['--check', 'sh test/a.sh', '--protect', 'test/**'];
  const { code, stdout, stderr } = await ralph([...words, ...checks], { cwd: work.dir, env });
  expect(code, stderr).toBe(0);
  return { work, env, home, result: stdout };
}
