/** What `ralph init` proposes, by the files of a project. */
import { expect, test } from 'vitest';
import { proposeChecks, proposeProtect, proposeSetup } from '../../src/workspace/propose-checks.ts';
import { folder, repo } from '../rig/repo.ts';

test.each<[string, Record<string, string>, readonly string[]]>([
  ['nothing', {}, []],
  [
    'what npm init writes',
    { 'package.json': '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' },
    [],
  ],
  [
    'scripts',
    { 'package.json': '{"scripts":{"test":"vitest","lint":"x","build":"y"}}' },
    ['npm run lint', 'npm test'],
  ],
  ['a script that never ends', { 'package.json': '{"scripts":{"test":"jest --watch"}}' }, []],
  ['yarn', { 'package.json': '{"scripts":{"test":"x"}}', 'yarn.lock': '' }, ['yarn test']],
  ['bun', { 'package.json': '{"scripts":{"test":"x"}}', 'bun.lock': '' }, ['bun run test']],
  ['a broken manifest', { 'package.json': '{' }, []],
  ['make', { Makefile: 'all: x\ntest: all\n\ttrue\ncheck := 1\n' }, ['make test']],
  ['make behind npm', { Makefile: 'test:\n', 'package.json': '{"scripts":{"test":"x"}}' }, ['npm test']],
  ['pytest', { 'pyproject.toml': '[tool.pytest.ini_options]\n[tool.ruff]\n' }, ['ruff check .', 'pytest -q']],
  ['pytest by its files', { 'a.py': '', 'test_a.py': '' }, ['pytest -q']],
  ['cargo', { 'Cargo.toml': '' }, ['cargo test']],
  ['go', { 'go.mod': '' }, ['go vet ./...', 'go test ./...']],
])('%s', (_, files, expected) => {
  const place = folder();
  for (const [name, content] of Object.entries(files)) place.write(name, content);
  expect(proposeChecks(place.dir)).toEqual(expected);
});

test.each<[readonly string[], readonly string[]]>([
  [['src/a.js'], []],
  [['test/a.js', 'tests'], ['test/**']],
  [
    ['tests/a.py', 'spec/a.rb', '__tests__/a.js', 'e2e/a.js'],
    ['__tests__/**', 'e2e/**', 'spec/**', 'tests/**'],
  ],
  [['src/test/java/A.java'], ['src/test/**']],
])('%j: protected are %j', (files, expected) => {
  const place = repo(Object.fromEntries(files.map(name => [name, 'x\n'])));
  expect(proposeProtect(place.dir)).toEqual(expected);
});

test('without a repository nothing can be protected', () => {
  const place = folder();
  place.write('test/a.js', '');
  expect(proposeProtect(place.dir)).toEqual([]);
});

test.each<[readonly string[], string | undefined]>([
  [['package.json'], undefined],
  [['package-lock.json'], 'npm ci'],
  [['npm-shrinkwrap.json'], 'npm ci'],
  [['pnpm-lock.yaml', 'package-lock.json'], 'pnpm install --frozen-lockfile'],
  [['yarn.lock'], 'yarn install --frozen-lockfile'],
  [['bun.lock'], 'bun install --frozen-lockfile'],
  [['uv.lock'], 'uv sync --frozen'],
  [['poetry.lock'], 'poetry install'],
  [['package-lock.json', 'uv.lock'], 'npm ci && uv sync --frozen'],
  [['Gemfile.lock'], 'bundle install'],
  [['composer.lock'], 'composer install'],
])('%j: a fresh checkout needs %s', (files, expected) => {
  const place = folder();
  for (const name of files) place.write(name, '');
  expect(proposeSetup(place.dir)).toBe(expected);
});
