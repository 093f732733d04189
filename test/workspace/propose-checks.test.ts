/** Which guardrails `ralph init` proposes, by the files of a project. */
import { expect, test } from 'vitest';
import { proposeChecks } from '../../src/workspace/propose-checks.ts';
import { folder } from '../rig/repo.ts';

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
