/** `ralph mutate` in real repositories: which faults real checks let through. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { MutationReport } from '../../src/domain/checks/mutation.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

async function mutate(project: Repo, ...args: string[]) {
  const { code, stdout, stderr } = await ralph(['mutate', ...args, '--json'], { cwd: project.dir });
  const report: Partial<MutationReport> = stdout.startsWith('{') ? JSON.parse(stdout) : {};
  const survivors = report.survivors?.map(({ file, line, change }) => `${file}:${line} ${change}`);
  return { code, stderr, report, survivors };
}

const CART = `export function shipping(sum, mail) {
  if (sum >= 100) return 0;
  mail.send(sum);
  console.log('shipping', sum + 1);
  return 5;
}
`;
const CART_TEST = `import assert from 'node:assert/strict';
import test from 'node:test';
import { shipping } from '../src/cart.js';
test('shipping', () => {
  assert.equal(shipping(200, { send() {} }), 0);
  assert.equal(shipping(10, { send() {} }), 5);
});
`;
const CART_CHECK = 'node --test test/cart.test.js';

function cart(): Repo {
  const project = repo({
    'package.json': '{ "type": "module" }\n',
    'src/cart.js': 'export const a = 1 > 0;\n',
  });
  project.write('src/cart.js', CART);
  project.write('test/cart.test.js', CART_TEST);
  return project;
}

test('JavaScript: the faults that node --test lets through, and nothing of the project is touched', {
  tags: ['promise', 'P-mutate'],
}, async () => {
  const project = cart();
  const temporary = folder();
  const before =
    project.git('status', '--porcelain=v2', '--untracked-files=all') + project.read('.git/index');
  const { code, stdout } = await ralph(['mutate', '--check', CART_CHECK], {
    cwd: project.dir,
    env: { TMPDIR: temporary.dir },
  });
  expect(stdout).toMatch(
    /^Your checks would not notice this:\n {2}src\/cart\.js:2 {2}`sum >= 100` changed to `sum > 100`\n {2}src\/cart\.js:3 {2}`mail\.send\(sum\);` removed\nScore 60 %: 3 of 5 faults noticed; 6 changed lines in 1 file since [0-9a-f]{10}; \d.*s\.\nAdd a test that fails for each, or leave those that make no difference\.\n$/,
  );
  expect(code).toBe(1);
  expect(project.git('status', '--porcelain=v2', '--untracked-files=all') + project.read('.git/index')).toBe(
    before,
  );
  expect(readdirSync(temporary.dir)).toEqual([]);
});

test('TypeScript: types are no faults, and the fastest check comes first', async () => {
  const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
  const project = repo({
    'tsconfig.json':
      '{ "compilerOptions": { "types": [], "rootDir": "src", "outDir": "out", "module": "nodenext", "strict": true }, "files": ["src/price.mts"] }',
  });
  project.write('.gitignore', 'out\n');
  project.write(
    'src/price.mts',
    'type Size = 1 | 2;\nexport function price(size: Size, count = 1): number {\n  return size > 1 && count > 9 ? size * 9 : size * 10;\n}\n',
  );
  project.write(
    'test/price.mjs',
    "import { price } from '../out/price.mjs';\nif (price(2, 10) !== 18 || price(1, 20) !== 10) process.exit(1);\n",
  );
  const slow = `node '${tsc}' -p . && node test/price.mjs`;
  const { code, report, survivors } = await mutate(project, '--check', slow, '--check', 'true');
  expect([code, report.checks, survivors]).toEqual([
    1,
    ['true', slow],
    [
      'src/price.mts:2 `count = 1` changed to `count = 2`',
      'src/price.mts:3 `count > 9` changed to `count >= 9`',
    ],
  ]);
});

const python =
  existsSync('/usr/bin/python3') ||
  process.env.PATH?.split(':').some(each => existsSync(join(each, 'python3')));

test.skipIf(!python)('Python: the faults that unittest lets through (skipped without python3)', async () => {
  const project = repo();
  project.write(
    'stock.py',
    `import logging


def reorder(level, minimum, supplier):
    """Orders when level < minimum."""
    if level < minimum and supplier:
        supplier.order(minimum - level)
        logging.info("ordered %d", minimum - level)
        return True
    return False
`,
  );
  project.write(
    'test_stock.py',
    `import unittest
import stock


class Supplier:
    def order(self, count):
        pass


class Stock(unittest.TestCase):
    def test_low(self):
        self.assertTrue(stock.reorder(1, 5, Supplier()))

    def test_enough(self):
        self.assertFalse(stock.reorder(9, 5, Supplier()))
`,
  );
  const { code, survivors } = await mutate(project, '--check', 'python3 -m unittest -f -q');
  expect([code, survivors]).toEqual([
    1,
    [
      'stock.py:6 `if level < minimum and supplier:` changed to `if level <= minimum and supplier:`',
      'stock.py:7 `supplier.order(minimum - level)` removed',
      'stock.py:7 `supplier.order(minimum - level)` changed to `supplier.order(minimum + level)`',
    ],
  ]);
});

test('shell: an exit code that nobody looks at', async () => {
  const project = repo();
  project.write('bin/keep.sh', 'n=$1\nif [ "$n" -gt 3 ]; then\n  echo many\n  exit 2\nfi\necho few\n');
  project.write('test/keep.sh', 'test "$(sh bin/keep.sh 9)" = many && test "$(sh bin/keep.sh 1)" = few\n');
  const { survivors } = await mutate(project, '--check', 'sh test/keep.sh');
  expect(survivors).toEqual([
    'bin/keep.sh:2 `if [ "$n" -gt 3 ]; then` changed to `if [ "$n" -ge 3 ]; then`',
    'bin/keep.sh:4 `exit 2` changed to `exit 0`',
  ]);
});

test('only what changed since the base: a branch, a commit, and without one where the branch began', async () => {
  const project = repo({ 'a.sh': 'test 1 -lt 2\n' });
  project.git('checkout', '--quiet', '-b', 'work');
  project.write('a.sh', 'test 1 -lt 2\ntest 3 -lt 4\n');
  project.git('commit', '--quiet', '--all', '--message', 'more');
  project.write('a.sh', 'test 1 -lt 2\ntest 3 -lt 4\ntest 5 -lt 6\n');
  const lines = async (...args: string[]) => [
    ...new Set((await mutate(project, ...args, '--check', 'true')).report.survivors?.map(({ line }) => line)),
  ];
  expect(await lines()).toEqual([2, 3]);
  expect(await lines('main')).toEqual([2, 3]);
  expect(await lines('HEAD')).toEqual([3]);
  project.git('checkout', '--quiet', '.');
  project.git('checkout', '--quiet', '-B', 'main');
  expect(await lines()).toEqual([2]);
});

test('no flag, attribute, setting or pattern of the repository hides a line', async () => {
  const project = repo({ 'a.sh': 'true\n', 'b.sh': 'true\n', '.gitattributes': '*.sh -diff\n' });
  project.git('update-index', '--assume-unchanged', 'b.sh');
  project.write('c.sh', 'test 3 -lt 4\n');
  project.git('add', 'c.sh');
  project.git('commit', '--quiet', '--message', 'more');
  project.write('b.sh', 'true\ntest 1 -lt 2\n');
  project.write('.git/info/exclude', '*.sh\n');
  for (const [name, value] of [
    ['autoRefreshIndex', 'false'],
    ['noprefix', 'true'],
    ['external', `touch '${project.path('ran')}'; true`],
    ['context', '9'],
  ] as const)
    project.git('config', `diff.${name}`, value);
  const start = project.git('rev-parse', 'HEAD~1').trim();
  project.git('replace', start, 'HEAD');
  const { survivors } = await mutate(project, start, '--check', 'true');
  expect(survivors).toEqual([
    'b.sh:2 `test 1 -lt 2` changed to `test 1 -le 2`',
    'b.sh:2 `test 1 -lt 2` changed to `test 2 -lt 2`',
    'c.sh:1 `test 3 -lt 4` changed to `test 3 -le 4`',
    'c.sh:1 `test 3 -lt 4` changed to `test 4 -lt 4`',
  ]);
  expect(existsSync(project.path('ran'))).toBe(false);
});

test('below the folder it is started in, with paths from there', async () => {
  const project = repo();
  project.write('one/a b.sh', 'test 1 -lt 2\n');
  project.write('two/c.sh', 'test 1 -lt 2\n');
  const { code, stdout } = await ralph(['mutate', '-C', 'one', '--check', 'test -f "a b.sh"', '--json'], {
    cwd: project.dir,
  });
  const { survivors } = JSON.parse(stdout) as MutationReport;
  expect([code, [...new Set(survivors.map(({ file }) => file))]]).toEqual([1, ['a b.sh']]);
});

test('a fault that hangs is ended with all it started, and counted apart', async () => {
  const project = repo();
  project.write('count.sh', 'i=0\nwhile [ $i -lt 3 ]; do\n  i=$((i + 1))\ndone\necho $i\n');
  const { report, survivors } = await mutate(project, '--check', 'sh -c "test $(sh count.sh) = 3"');
  expect([report.timeouts, report.score, survivors]).toEqual([1, 80, ['count.sh:1 `i=0` changed to `i=1`']]);
});

test('what is ignored is in the copies; with --setup it is made there instead', async () => {
  const project = repo({ '.gitignore': 'deps\n' });
  project.write('a.sh', 'test 1 -lt 2\n');
  project.write('deps/lib', 'x');
  expect((await mutate(project, '--check', 'test -f deps/lib')).code).toBe(1);
  const made = await mutate(
    project,
    '--check',
    'test -f deps/made && ! test -f deps/lib',
    '--setup',
    'mkdir deps && touch deps/made',
  );
  expect([made.code, made.stderr]).toEqual([1, '']);
  const failed = await mutate(project, '--check', 'true', '--setup', 'echo no such thing; exit 3');
  expect([failed.code, failed.stderr]).toEqual([
    2,
    'ralph: echo no such thing; exit 3: failed in a clean copy (exit code 3):\nno such thing\n\n',
  ]);
});

test('checks that cannot run twice at a time run in one copy', async () => {
  const project = repo();
  project.write('a.sh', 'test 1 -lt 2\ntest 3 -lt 4\n');
  const lock = join(folder().dir, 'lock');
  // Whoever comes second while the first is there is red.
  const check = `mkdir '${lock}' && { sleep 0.2; rmdir '${lock}'; }`;
  const { report } = await mutate(project, '--check', check);
  expect([report.score, report.notes]).toEqual([
    0,
    ['The checks fail when they run twice at the same time: one copy was used.'],
  ]);
});

test('a check that makes what the checks rest on is void, in every copy and at every try', async () => {
  const project = repo({
    'n.sh': 'true\n',
    't.sh': 'sh n.sh 100 || { : > GNUmakefile; exit 1; }\n',
    'plant.sh': 'true\n',
    Makefile: 't:\n\tsh plant.sh\n\tsh t.sh\n',
  });
  project.write('n.sh', '[ "$1" -ge 100 ]\n');
  const { code, report, survivors } = await mutate(project, 'HEAD', '--check', 'make t');
  const why = '(the check is void: it changed what is protected (GNUmakefile, which the checks rest on))';
  expect({ code, score: report.score }).toEqual({ code: 1, score: 0 });
  expect(survivors?.filter(each => !each.endsWith(why))).toEqual([]);
  project.write('plant.sh', 'printf "t:\\n\\tsh t.sh\\n" > GNUmakefile\n');
  const planted = await mutate(project, 'HEAD', '--check', 'make t');
  expect(planted.code).toBe(2);
  expect(planted.stderr).toContain('GNUmakefile, which the checks rest on');
});

test('--max, --min and the checks of the settings', async () => {
  const project = repo();
  project.write('a.sh', 'test 1 -lt 2\ntest 3 -lt 4\ntest 5 -lt 6\n');
  project.settings({ checks: ['sh -e a.sh'], guardrails: [{ command: 'true' }] });
  const all = await mutate(project);
  expect(all.report.checks?.toSorted()).toEqual(['sh -e a.sh', 'true']);
  const two = await mutate(project, '--max', '2');
  expect([two.report.mutants, two.report.untried]).toEqual([2, (all.report.mutants ?? 0) - 2]);
  const score = all.report.score ?? 0;
  expect((await mutate(project, '--min', String(score))).code).toBe(0);
  expect((await mutate(project, '--min', String(score + 1))).code).toBe(1);
});

test('Ctrl-C ends the checks and reports what is known', async () => {
  const project = repo();
  project.write('a.sh', 'test 1 -lt 2\n');
  const temporary = folder();
  const begun = join(temporary.dir, 'begun');
  // Green at first, so that the baseline is; with a fault it says so and waits.
  const check = `grep -q -- '1 -lt 2' a.sh || { echo x > '${begun}'; exec tail -f /dev/null; }`;
  const running = startRalph(['mutate', '--check', check, '--json'], {
    cwd: project.dir,
    env: { TMPDIR: temporary.dir },
  });
  while (!existsSync(begun)) await new Promise(resolve => setImmediate(resolve));
  running.process.kill('SIGINT');
  const { code, stdout } = await running.finished;
  const report = JSON.parse(stdout) as MutationReport;
  expect([code, report.stopped, report.mutants + report.untried]).toEqual([130, 'interrupted', 2]);
  expect(readdirSync(temporary.dir)).toEqual(['begun']);
});

test('when the time is over, what was not tried is counted', async () => {
  const project = repo();
  project.write('a.sh', 'test 1 -lt 2\n'.repeat(40));
  const { code, report } = await mutate(project, '--check', 'sleep 1.5', '--time', '25s');
  expect([code, report.stopped]).toEqual([1, 'time']);
  expect(report.untried).toBeGreaterThan(0);
  expect(report.mutants).toBeGreaterThan(0);
});

test('no other command loads the parser', () => {
  const bin = join(import.meta.dirname, '../../dist/bin/main.cjs');
  const loaded = execFileSync(
    process.execPath,
    ['-e', `require(${JSON.stringify(bin)}); console.log(Object.keys(require.cache).join())`],
    { encoding: 'utf8' },
  );
  expect(loaded).not.toContain('babel');
});
