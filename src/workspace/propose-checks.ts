/** Which checks a project already has, by the files in it: what its own people run before they commit. */
import { join } from 'node:path';
import { asObject, parseObject } from '../domain/json.ts';
import { namesIn, readIfThere } from '../platform/files.ts';

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
