import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly resolved?: string;
}

const ROOT = join(import.meta.dirname, '..');
const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
const packages: Readonly<Record<string, LockedPackage>> = read('package-lock.json').packages;

test('the lockfile has every platform’s package, so that npm ci works wherever it was not made', () => {
  const missing = Object.values(packages)
    .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    .filter(name => !Object.keys(packages).some(path => path.endsWith(`node_modules/${name}`)));
  expect(missing).toEqual([]);
});

test('the lockfile holds no download addresses', () => {
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});

test('every dependency is pinned', () => {
  const { dependencies = {}, devDependencies } = read('package.json');
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)),
  );
  expect(loose).toEqual([]);
});

test('the package has what every host’s plugin is installed from', () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const files: readonly string[] = JSON.parse(packed)[0].files.map((file: { path: string }) => file.path);
  expect(files).toEqual(
    expect.arrayContaining([
      '.claude-plugin/marketplace.json',
      'plugins/claude/.claude-plugin/plugin.json',
      'plugins/claude/bin/gate.sh',
      'plugins/claude/bin/ralph-guard.cjs',
      'plugins/claude/bin/ralph-hook-main.cjs',
      'plugins/claude/bin/ralph-hook.cjs',
      'plugins/gemini/gemini-extension.json',
      'plugins/opencode/ralph.js',
    ]),
  );
});
