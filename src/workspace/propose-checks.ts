/** What the files of a project suggest: the checks that its own people run before they commit, its tests, and what a fresh checkout needs. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { asObject, parseObject } from '../domain/text/json.ts';
import { namesIn, readIfThere } from '../platform/files.ts';
import { isUnderGit } from './repository.ts';

export function proposeChecks(root: string): readonly string[] {
  const names = namesIn(root);
  const has = (...wanted: readonly string[]) => wanted.some(name => names.includes(name));
  const read = (name: string) => (names.includes(name) ? (readIfThere(join(root, name)) ?? '') : '');
  const scripts = packageChecks(read('package.json'), has);
  return [
    ...scripts,
    // A Makefile beside a manifest mostly calls what the manifest has.
    ...(scripts.length > 0 ? [] : makeChecks(read('Makefile') || read('makefile') || read('GNUmakefile'))),
    ...pythonChecks(read('pyproject.toml') + read('setup.cfg') + read('tox.ini'), names),
    ...(has('Cargo.toml') ? ['cargo test'] : []),
    ...(has('go.mod') ? ['go vet ./...', 'go test ./...'] : []),
  ];
}

/** The scripts that say whether the work is right, the quick ones first. */
const SCRIPTS = ['typecheck', 'type-check', 'lint', 'test'];

/** What `npm init` writes, and what never ends. */
const USELESS = /no test specified|--watch\b/;

function packageChecks(manifest: string, has: (...names: readonly string[]) => boolean): readonly string[] {
  const scripts = asObject(parseObject(manifest)?.scripts) ?? {};
  const manager = has('pnpm-lock.yaml')
    ? 'pnpm'
    : has('yarn.lock')
      ? 'yarn'
      : has('bun.lock', 'bun.lockb')
        ? 'bun'
        : 'npm';
  return SCRIPTS.flatMap(name => {
    const script = scripts[name];
    if (typeof script !== 'string' || USELESS.test(script)) return [];
    // Each of them has a `test` of its own that is not the script of bun.
    return [name === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${name}`];
  });
}

function makeChecks(makefile: string): readonly string[] {
  return ['lint', 'check', 'test']
    .filter(name => new RegExp(`^${name}\\s*:(?!=)`, 'm').test(makefile))
    .map(name => `make ${name}`);
}

function pythonChecks(settings: string, names: readonly string[]): readonly string[] {
  const isPython = names.some(name => /\.py$|^(pyproject\.toml|setup\.cfg|requirements\.txt)$/.test(name));
  const isTested =
    names.includes('pytest.ini') ||
    /\bpytest\b/.test(settings) ||
    (isPython && names.some(name => /^(tests?|test_.*\.py|.*_test\.py)$/.test(name)));
  return [
    ...(/\[tool\.ruff|\[ruff/.test(settings) ? ['ruff check .'] : []),
    ...(isTested ? ['pytest -q'] : []),
  ];
}

const TEST_FOLDERS = ['__tests__', 'e2e', 'spec', 'specs', 'src/__tests__', 'src/test', 'test', 'tests'];

/** Globs of its test folders; none outside of a repository, where nothing can be protected. */
export function proposeProtect(root: string): readonly string[] {
  return foldersIn(root, TEST_FOLDERS);
}

/** What a run may change where its task says nothing of tests, for `only`: the folders of sources that are there. */
export function proposeOnly(root: string): readonly string[] {
  return foldersIn(root, ['src', 'lib', 'app', 'pkg', 'cmd', 'internal']);
}

function foldersIn(root: string, names: readonly string[]): readonly string[] {
  if (!isUnderGit(root)) return [];
  return names
    .filter(name => statSync(join(root, name), { throwIfNoEntry: false })?.isDirectory())
    .map(name => `${name}/**`);
}

/** By lock file: the first of each language. */
const SETUPS: readonly (readonly (readonly [file: string, command: string])[])[] = [
  [
    ['pnpm-lock.yaml', 'pnpm install --frozen-lockfile'],
    ['yarn.lock', 'yarn install --frozen-lockfile'],
    ['bun.lock', 'bun install --frozen-lockfile'],
    ['bun.lockb', 'bun install --frozen-lockfile'],
    ['package-lock.json', 'npm ci'],
    ['npm-shrinkwrap.json', 'npm ci'],
  ],
  [
    ['uv.lock', 'uv sync --frozen'],
    ['poetry.lock', 'poetry install'],
    ['Pipfile.lock', 'pipenv sync --dev'],
  ],
  [['Gemfile.lock', 'bundle install']],
  [['composer.lock', 'composer install']],
];

/** The command that makes a fresh checkout ready; undefined: no lock file that we know. */
export function proposeSetup(root: string): string | undefined {
  const names = namesIn(root);
  const found = SETUPS.flatMap(locks => locks.find(([file]) => names.includes(file))?.[1] ?? []);
  return found.length === 0 ? undefined : found.join(' && ');
}
