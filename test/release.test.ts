/** `scripts/release.mjs`: what it commits to the branch `release`, and when it refuses. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { releaseRepo } from './rig/release.ts';

const ROOT = join(import.meta.dirname, '..');

test('a release holds the built plugin, and the work tree and main are as before', () => {
  const repo = releaseRepo();
  const main = repo.git('rev-parse', 'main');
  expect(repo.release()).toMatchObject({ code: 0 });
  const released = repo.git('ls-tree', '-r', '--name-only', 'release').split('\n');
  expect(released).toEqual(
    expect.arrayContaining([
      '.claude-plugin/marketplace.json',
      'plugins/claude/bin/gate.sh',
      'plugins/claude/bin/ralph-guard.cjs',
      'plugins/claude/bin/ralph-hook-main.cjs',
      'plugins/claude/bin/ralph-hook-more.cjs',
      'plugins/claude/bin/ralph-hook.cjs',
      'action.yml',
      'dist/bin/ralph.cjs',
    ]),
  );
  expect(released.filter(name => /^(src|test|scripts|package|dist\/lib)/.test(name))).toEqual([
    'scripts/action.mjs',
  ]);
  expect(repo.git('rev-parse', 'main')).toBe(main);
  expect(repo.git('status', '--porcelain')).toBe('');
  // The hooks start it as a program.
  expect(repo.git('ls-tree', 'release', 'plugins/claude/bin/gate.sh')).toMatch(/^100755/);
});

test('the next release follows the one before, and names the source it was built from', () => {
  const repo = releaseRepo();
  repo.release();
  const first = repo.git('rev-parse', 'release');
  repo.raiseVersion('9.9.9');
  const { output } = repo.release();
  expect(output).toContain('Committed Ralph 9.9.9');
  expect(output).toContain('git tag v9.9.9 release && git push origin release v9.9.9');
  expect(repo.git('rev-parse', 'release^1')).toBe(first);
  expect(repo.git('rev-parse', 'release^2')).toBe(repo.git('rev-parse', 'main'));
});

test.each(['.github/workflows/release.yml', 'docs/releasing.md'])(
  '%s finds the source of a release, of the first one too',
  file => {
    const [command = ''] = /git checkout --detach .*$/m.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
    const repo = releaseRepo();
    for (const version of [repo.version, '9.9.9']) {
      if (version !== repo.version) repo.raiseVersion(version);
      repo.release();
      const cwd = repo.path(`of-${version}`);
      repo.git('worktree', 'add', '--quiet', '--detach', cwd, 'release');
      execFileSync('sh', ['-ec', `${command} 2> /dev/null`], { cwd });
      expect(repo.git('-C', cwd, 'rev-parse', 'HEAD')).toBe(repo.git('rev-parse', 'main'));
      repo.git('worktree', 'remove', cwd);
    }
  },
);

test('a version that was released is not released again', () => {
  const repo = releaseRepo();
  repo.release();
  expect(repo.release()).toMatchObject({ code: 2, output: expect.stringContaining('has version') });
});

test('all that is wrong is listed at once, and nothing is released', () => {
  const repo = releaseRepo();
  const manifest = 'plugins/claude/.claude-plugin/plugin.json';
  repo.write(manifest, repo.read(manifest).replace(repo.version, '0.0.1'));
  repo.write('CHANGELOG.md', `# Changelog\n\n## ${repo.version} (unreleased)\n`);
  const { repository: _, ...unpublished } = JSON.parse(repo.read('package.json'));
  repo.write('package.json', JSON.stringify(unpublished));
  const { code, output } = repo.release();
  expect(code).toBe(2);
  expect(output).toContain('Nothing was released. 4 problems:');
  expect(output).toContain('package.json has no repository: npm pkg set repository=');
  expect(output).toContain('there are uncommitted changes');
  expect(output).toContain(`${manifest} has version 0.0.1, package.json has ${repo.version}`);
  expect(output).toContain(`calls ${repo.version} unreleased`);
  expect(() => repo.git('rev-parse', '--verify', '--quiet', 'release')).toThrow();
});

test('programs of another version are refused', () => {
  const repo = releaseRepo();
  const built = '.claude-plugin/marketplace.json';
  repo.write(built, repo.read(built).replace(repo.version, '0.0.1'));
  expect(repo.release()).toMatchObject({ code: 2, output: expect.stringContaining('npm run build') });
});

test('a version that is not the latest of the changelog is refused', () => {
  const repo = releaseRepo();
  repo.write('CHANGELOG.md', '# Changelog\n');
  repo.git('commit', '--quiet', '--all', '--message', 'no changelog');
  expect(repo.release().output).toContain(`the first section of CHANGELOG.md is not "## ${repo.version}"`);
});
