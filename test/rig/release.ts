/** A repository with what `scripts/release.mjs` reads, as it is in this work tree, with the plugin's programs built. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { folder, gitEnv, type Repo } from './repo.ts';

const ROOT = join(import.meta.dirname, '../..');
const NEEDED = [
  'plugins',
  'scripts',
  'templates',
  'action.yml',
  'package.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
];

export interface ReleaseRepo extends Repo {
  readonly version: string;
  /** As for the next release, built and committed. */
  raiseVersion(version: string): void;
  release(): { readonly code: number | null; readonly output: string };
}

export function releaseRepo(): ReleaseRepo {
  const made = folder('ralph-release-');
  const tracked = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', '--', ...NEEDED, '.gitignore'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  for (const name of tracked.trim().split('\n')) cpSync(join(ROOT, name), made.path(name));
  const manifest = JSON.parse(made.read('package.json'));
  const { version } = manifest;
  made.write('package.json', JSON.stringify({ ...manifest, repository: 'github:OWNER/REPO' }));
  const dated = made.read('CHANGELOG.md').replace(/^## .*\n/m, `## ${version} (2026-01-01)\n`);
  made.write('CHANGELOG.md', dated);
  made.git('init', '--quiet', '--initial-branch=main');
  made.git('add', '--all');
  made.git('commit', '--quiet', '--message', 'source');
  // After the commit: they are ignored, as in a clone that has been built.
  const bin = 'plugins/claude/bin';
  const programs = readdirSync(join(ROOT, bin)).filter(file => file.endsWith('.cjs'));
  for (const name of ['.claude-plugin/marketplace.json', ...programs.map(file => join(bin, file))])
    cpSync(join(ROOT, name), made.path(name));
  cpSync(join(ROOT, 'dist'), made.path('dist'), { recursive: true });
  return {
    ...made,
    version,
    raiseVersion: to => raiseVersion(made, version, to),
    release: () => release(made.dir),
  };
}

function raiseVersion(repo: Repo, from: string, to: string): void {
  const manifests = ['plugins/claude/.claude-plugin/plugin.json', 'plugins/gemini/gemini-extension.json'];
  for (const file of ['package.json', 'CHANGELOG.md', '.claude-plugin/marketplace.json', ...manifests])
    repo.write(file, repo.read(file).replaceAll(from, to));
  repo.git('commit', '--quiet', '--all', '--message', to);
}

function release(dir: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.mjs', '--built'], {
    cwd: dir,
    env: gitEnv(),
    encoding: 'utf8',
  });
  return { code: status, output: stdout + stderr };
}
