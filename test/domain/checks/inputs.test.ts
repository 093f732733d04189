import { describe, expect, test } from 'vitest';
import { findCheckInputs, inputParts } from '../../../src/domain/checks/inputs.ts';
import { toolFile } from '../../../src/domain/checks/tools.ts';
import { simpleCommands } from '../../../src/domain/text/shell-words.ts';

function inputs(command: string, files: Readonly<Record<string, string>> = {}): readonly string[] {
  return findCheckInputs([command], path => files[path]).paths;
}

const PACKAGE = JSON.stringify({
  scripts: {
    test: 'npm run lint && vitest run',
    pretest: './scripts/build.sh',
    lint: 'eslint .',
    dev: 'node dev.js',
  },
});

describe('the commands of a line', () => {
  test.each([
    ['a && b || c; d | e & f', [['a'], ['b'], ['c'], ['d'], ['e'], ['f']]],
    [`A=1 x "b c" 'd e' f\\ g`, [['A=1', 'x', 'b c', 'd e', 'f g']]],
    ['x > out 2>&1 < in y', [['x', 'y']]],
    ['x # y\nz', [['x'], ['z']]],
    ['(cd a && b)', [['cd', 'a'], ['b']]],
    ['x "unclosed', [['x', '"unclosed']]],
    ['test "$(sh "a b.sh")" = "c d"', [['test', '$(sh "a b.sh")', '=', 'c d']]],
    ["cat <<EOF > a; b\nit's\nEOF\nc 'd e'", [['cat'], ['b'], ['c', 'd e']]],
    ['a <<-X <<"Y"\n1\n\tX\n2\nY\nb <<< c', [['a'], ['b']]],
    ['a <<X\nnever closed', [['a']]],
    ['a >&2 2>&- <&3 b', [['a', 'b']]],
    ['', []],
  ])('%s', (line, expected) => {
    expect(simpleCommands(line)).toEqual(expected);
  });
});

describe('what a check rests on', () => {
  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    [
      'make test',
      { Makefile: 'test:\n\t@sh scripts/t.sh\ninclude rules.mk\n' },
      ['Makefile', 'scripts/t.sh', 'rules.mk'],
    ],
    ['make -C sub -f My.mk', {}, ['sub/My.mk']],
    ['just test', { justfile: 'test:\n    ./run-tests\n' }, ['justfile', 'run-tests']],
    ['pytest -q', {}, ['**/pytest*', '**/pyproject.toml', '**/setup.cfg', '**/tox.ini', '**/conftest.py']],
    ['python3.12 -m pytest', {}, ['**/conftest.py', 'pytest.py']],
    ['cd api && PYTHONPATH=. pytest', {}, ['api/**/pytest*', 'api/**/conftest.py']],
    ['uv run pytest', {}, ['**/conftest.py']],
    ['tox -e py', { 'tox.ini': '[testenv]\ncommands = python run.py\n' }, ['tox.ini', 'run.py']],
    ['cargo test', {}, ['**/Cargo.toml', '**/build.rs', '.cargo/config.toml']],
    ['go test ./...', {}, ['go.mod', 'go.work']],
    ['./mvnw verify', {}, ['mvnw', '**/pom.xml', '.mvn/maven.config']],
    ['./gradlew check', {}, ['gradlew', '**/build.gradle', 'settings.gradle.kts']],
    ['node scripts/check.mjs --fast', {}, ['scripts/check.mjs']],
    ['node --import ./setup.mjs --test', {}, ['setup.mjs']],
    ['bash -c "cd x && ./t.sh"', {}, ['x/t.sh']],
    ['timeout 60 sh ./t.sh', {}, ['t.sh']],
    ['npx vitest run', {}, ['node_modules/.bin/npx', 'node_modules/.bin/vitest', 'vitest.config.ts']],
    [
      'node_modules/.bin/jest --config ci/jest.json',
      {},
      ['node_modules/.bin/jest', 'ci/jest.json', 'jest.config.js'],
    ],
    ['/repo/scripts/t.sh', {}, ['/repo/scripts/t.sh']],
    ['deno test', {}, ['deno.json']],
    ['rubocop --parallel', {}, ['**/rubocop*']],
    ['python3 -m unittest', {}, ['unittest.py', 'unittest/__init__.py', 'json.py', 'sitecustomize.py']],
    ['python3 tools/run.py', {}, ['tools/run.py', 'tools/json.py']],
    ['make', { Makefile: 'check: lint\n\t@true\nlint:\n\t@false\n' }, ['check', 'lint']],
    [
      'make check',
      { Makefile: 'check:\n\t@$(MAKE) -s -C sub all\n', 'sub/Makefile': 'all:\n\tsh t.sh\n' },
      ['check', 'sub/Makefile', 'sub/all', 'sub/t.sh'],
    ],
    [
      'tsc -p .',
      { 'tsconfig.json': '{ "extends": "./base.json" }', 'base.json': '{}' },
      ['tsconfig.json', 'base.json'],
    ],
    [
      'jest',
      { 'jest.config.js': "module.exports = { setupFiles: ['<rootDir>/a/setup.js'] }", 'a/setup.js': '' },
      ['a/setup.js'],
    ],
    ['yarn test', { '.yarnrc.yml': 'yarnPath: .yarn/y.cjs\n', '.yarn/y.cjs': '' }, ['.yarn/y.cjs']],
    ['git diff --exit-code', {}, ['.git/config']],
  ])('%s', (command, files, expected) => {
    expect(inputs(command, files)).toEqual(expect.arrayContaining([...expected]));
  });

  test.each<[string, string, Readonly<Record<string, string>>?]>([
    ['sh "my checks/run.sh"', 'my checks/run.sh'],
    ["'my checks/run.sh'", 'my checks/run.sh'],
    ['my\\ checks/run.sh -q', 'my checks/run.sh'],
    [`"it's/run.sh"`, "it's/run.sh"],
    ["sh 'a$b.sh'", 'a$b.sh'],
    ["sh 'a*b.sh'", 'a*b.sh'],
    ['sh checks/*.sh', 'checks/*.sh'],
    ['node --require "./my setup.cjs" --test', 'my setup.cjs'],
    ['make -C "my app"', 'my app/Makefile'],
    ['make -Csub', 'sub/Makefile'],
    ['make -fMy.mk', 'My.mk'],
    ['npm --prefix "my app" test', 'my app/package.json'],
    ['cd sub && ./run.sh', 'sub/run.sh'],
    ['(cd sub && ./a.sh) && ./run.sh', 'run.sh'],
    ['cd sub && a; cd - && ./run.sh', 'run.sh'],
    ['pushd sub; a; popd; ./run.sh', 'run.sh'],
    ['"$PWD"/run.sh', 'run.sh'],
    ['"$(pwd)/run.sh"', 'run.sh'],
    ['sh -e run.sh', 'run.sh'],
    ['bash -eu -o pipefail run.sh', 'run.sh', { 'run.sh': '' }],
    ["bash -c './run.sh'", 'run.sh'],
    ["bash -ce './run.sh'", 'run.sh'],
    [`sh -c 'sh "$1"' _ "my run.sh"`, 'my run.sh'],
    ['env X=1 ./run.sh', 'run.sh'],
    ['/usr/bin/env -u X ./run.sh', 'run.sh'],
    ['env -C sub ./run.sh', 'sub/run.sh'],
    ["env -S 'sh run.sh'", 'run.sh'],
    ['timeout -s KILL 60 ./run.sh', 'run.sh'],
    ['time ./run.sh', 'run.sh'],
    ['time -p ./run.sh', 'run.sh'],
    ['exec -a x ./run.sh', 'run.sh'],
    ['! ./run.sh', 'run.sh'],
    ['(./run.sh)', 'run.sh'],
    ['{ ./run.sh; }', 'run.sh'],
    ['if ./run.sh; then :; fi', 'run.sh'],
    ['until ./run.sh; do :; done', 'run.sh'],
    ['for i in 1 2; do ./run.sh; done', 'run.sh'],
    ['for f in checks/a.sh "checks/b c.sh"; do sh "$f"; done', 'checks/b c.sh'],
    ['for f in checks/*; do sh $f; done', 'checks/*'],
    ['D=checks; sh "$D/run.sh"', 'checks/run.sh'],
    ['T="sh run.sh"; $T', 'run.sh'],
    ['f() { ./run.sh; }; f', 'run.sh'],
    ['case $X in a) ./run.sh;; esac', 'run.sh'],
    ['test "$(./run.sh)" = ok', 'run.sh'],
    ['test "$(sh "my run.sh")" = ok', 'my run.sh'],
    ['test "`./run.sh`" = ok', 'run.sh'],
    ['[ `./run.sh` = ok ]', 'run.sh'],
    ['diff <(./run.sh) expected', 'run.sh'],
    ['sh <<EOF\n./run.sh\nEOF', 'run.sh'],
    ["cat <<'EOF' | sh\nit's; ./run.sh\nEOF\n", 'run.sh'],
    ["cat <<EOF\nit's\nEOF\n./run.sh 'x'", 'run.sh'],
    ['bash <<< ./run.sh', 'run.sh'],
    ['sh < run.sh', 'run.sh'],
    ['cat run.sh | sh -e', 'run.sh'],
    ['ls | xargs -n 1 ./run.sh', 'run.sh'],
    ['find . -name x -exec ./run.sh {} +', 'run.sh'],
    ['flock lock ./run.sh', 'run.sh'],
    ['eval ./run.sh', 'run.sh'],
    ["trap './run.sh' EXIT", 'run.sh'],
    ['mise exec -- ./run.sh', 'run.sh'],
    ['some-runner --quiet -- sh run.sh', 'run.sh'],
    ["concurrently 'sh run.sh' 'npm start'", 'run.sh'],
    ['c8 node run.js', 'run.js'],
    ['poetry run ./run.sh', 'run.sh'],
    ['python -m coverage run -m pytest', '**/conftest.py'],
    ['python -m tools.check', 'tools/check.py'],
    ['python tools', 'tools/__main__.py'],
    ['node tools', 'tools/index.js'],
    ['node --conditions dev run.js', 'run.js', { 'run.js': '' }],
    ['node --run test', 'run.sh', { 'package.json': '{"scripts":{"test":"./run.sh"}}' }],
    ['make', 'run.sh', { Makefile: 'RUN := ./run.sh\nt:\n\t$(RUN)\n' }],
    ['make', 'run.sh', { Makefile: 'include a.mk\n', 'a.mk': 't:\n\tsh run.sh\n' }],
    ['make', 'rules/*.mk', { Makefile: 'include rules/*.mk\n' }],
    ['make', 'a.sh', { Makefile: 't:\n\tfor f in a.sh; do sh $$f; done\n' }],
  ])('%s rests on %s', (command, expected, files = {}) => {
    expect(inputs(command, files)).toContain(expected);
  });

  test.each([
    ['node -e "x" src/a.js', 'src/a.js'],
    ['vitest run src/a.test.ts', 'src/a.test.ts'],
    ['eslint src/a.js', 'src/a.js'],
    ['shellcheck src/a.sh', 'src/a.sh'],
    ['for t in test/*.sh; do sh "$t"; done', 'test/*.sh'],
    ['cat a.txt; ./run.sh', 'a.txt'],
    ['sh run.sh < data.txt', 'data.txt'],
    ['cargo test -- src/a', 'src/a'],
    ['for f in src/*.sh; do bash -n "$f"; done', 'src/*.sh'],
    ['node --check src/a.js', 'src/a.js'],
    ['php -l src/a.sh', 'src/a.sh'],
  ])('%s does not rest on %s', (command, other) => {
    expect(inputs(command, { 'src/a.js': '', 'src/a.sh': '', 'run.sh': '' })).not.toContain(other);
  });

  test.each(['"$(', "'", '`', '$(', '<<a\n', '( ', 'A=$A ', '$A', 'for f in ', '\\'])(
    'much of %j is looked through in one go',
    text => {
      expect(inputs(text.repeat(10_000))).toBeDefined();
    },
  );

  test('variables that double one another, and one that stands in a word again and again, have an end', () => {
    const doubled = Array.from({ length: 2_000 }, (_, at) => `A${at + 1}="$A${at} $A${at}"`).join('; ');
    expect(inputs(`A0=run.sh; ${doubled}; sh $A2000; sh ${'$A9'.repeat(100_000)}; sh $A0`)).toContain(
      'run.sh',
    );
  });

  test('what a make rule makes, and what is phony, is not taken for a name that switches it off', () => {
    const text = '.PHONY: test\ntest: out stamp\n\t@true\nout:\n\tcc -o $@ a.c\nstamp:\n\ttouch stamp\n';
    const found = inputs('make test', { Makefile: text });
    for (const name of ['test', 'out', 'stamp']) expect(found).not.toContain(name);
  });

  test.each([
    ['rubocop', ['.rubocop.yml', 'rubocop.yml', '.rubocop'], ['rubocop-report.json', 'my-rubocop.yml']],
    ['golangci-lint', ['.golangci.yml', '.golangci.toml'], ['golang.md']],
    [
      'jest',
      ['.jestrc', 'jest.config.ts', 'jest-setup.js'],
      ['jest-junit.xml', 'jest.test-result', 'jestful.ts', 'jest-helpers.ts', 'jest.ts'],
    ],
    ['stack', ['stack.yaml'], ['stack.yaml.lock', 'stack.log']],
    ['dune', ['dune', 'dune-project', 'dune.inc.ini'], ['dune_helpers.ml', 'dunes']],
    ['vitest', ['vitest.config.unit.ts', 'vitest.setup.ts', 'vitest-ci.json'], ['vitest_matchers.ts']],
  ])('files that are named after %s', (tool, yes, no) => {
    for (const name of yes) expect(name).toMatch(toolFile(tool));
    for (const name of no) expect(name).not.toMatch(toolFile(tool));
  });

  test.each([
    'npm test',
    'npm t',
    'npm run test',
    'pnpm test',
    'yarn test',
    'bun run test',
    'env CI=1 npm test --silent',
  ])('%s leads to its scripts and to what they run', command => {
    const found = inputs(command, { 'package.json': PACKAGE });
    expect(found).toEqual(
      expect.arrayContaining([
        'package.json',
        'scripts/build.sh',
        'node_modules/.bin/vitest',
        'node_modules/.bin/eslint',
        'eslint.config.js',
        'vitest.config.ts',
      ]),
    );
    expect(found).not.toContain('dev.js');
  });

  test('npm reads .npmrc, and finds package.json above', () => {
    expect(inputs('npm test', { 'package.json': PACKAGE })).toContain('.npmrc');
    expect(inputs('cd a/b && npm test', { 'package.json': PACKAGE })).toEqual(
      expect.arrayContaining(['a/b/package.json', 'package.json', 'scripts/build.sh']),
    );
    expect(inputs('npm --prefix web test')).toContain('web/package.json');
    expect(inputs('npm test --workspaces')).toContain('**/package.json');
  });

  test('the tests that a command names are no inputs: they are protected with protect', () => {
    expect(inputs('node --test test/a.test.js')).not.toContain('test/a.test.js');
    expect(inputs('pytest tests/test_a.py')).not.toContain('tests/test_a.py');
  });

  test('a script that calls itself ends', () => {
    expect(inputs('npm test', { 'package.json': '{"scripts":{"test":"npm test"}}' })).toContain(
      'package.json',
    );
  });
});

describe('what is compared', () => {
  const scripts = new Map([['package.json', ['test']]]);
  const parts = (fields: unknown) => inputParts('package.json', JSON.stringify(fields), scripts);
  const base = { name: 'x', scripts: { test: 'vitest' }, devDependencies: { vitest: '1.0.0' } };

  test.each([
    ['a dependency that is added', { ...base, dependencies: { left: '1' } }, true],
    ['a version', { ...base, version: '2.0.0' }, true],
    ['a script that no check runs', { ...base, scripts: { test: 'vitest', dev: 'vite' } }, true],
    ['the script', { ...base, scripts: { test: 'true' } }, false],
    ['a script before it', { ...base, scripts: { test: 'vitest', pretest: 'sh x' } }, false],
    ['the settings of a tool', { ...base, jest: { testMatch: [] } }, false],
    ['where a dependency comes from', { ...base, devDependencies: { vitest: 'file:./fake' } }, false],
  ])('%s', (_, fields, isSame) => {
    const [before, now] = [parts(base), parts(fields)];
    expect(Object.keys(before).every(key => now[key] === before[key])).toBe(isSame);
  });

  test('in pyproject.toml and go.mod a dependency that is added is no change', () => {
    const toml = (text: string) => inputParts('pyproject.toml', text, scripts)[''];
    expect(toml('[project]\ndependencies = ["a"]\n[tool.pytest]\nx = 1\n')).toBe(
      toml('[project]\ndependencies = ["a", "b"]\n[tool.pytest]\nx = 1\n'),
    );
    expect(toml('[tool.pytest]\nx = 1\n')).not.toBe(toml('[tool.pytest]\nx = 2\n'));
    const mod = (text: string) => inputParts('go.mod', text, scripts)[''];
    expect(mod('module m\nrequire (\n\ta v1\n)\n')).toBe(mod('module m\nrequire (\n\ta v1\n\tb v1\n)\n'));
    expect(mod('module m\nreplace a => ./a\n')).not.toBe(mod('module m\n'));
  });
});
