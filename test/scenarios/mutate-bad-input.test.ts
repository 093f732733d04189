/** What `ralph mutate` says when it cannot do what was asked, or has nothing to do. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

async function mutate(project: Repo, ...args: string[]) {
  const { code, stdout, stderr } = await ralph(['mutate', ...args], { cwd: project.dir });
  return [code, stdout + stderr] as const;
}

function changed(name = 'a.sh', content = 'test 1 -lt 2\n'): Repo {
  const project = repo();
  project.write(name, content);
  return project;
}

test('no changed line: nothing is tried, and that is no failure', async () => {
  const project = repo();
  project.write('README.md', '# changed\n');
  const [code, words] = await mutate(project, '--check', 'false');
  expect(code).toBe(0);
  expect(words).toMatch(/^No fault was tried: 0 changed lines in 0 files since [0-9a-f]{10}\.\n$/);
  const { stdout } = await ralph(['mutate', '--check', 'false', '--json'], { cwd: project.dir });
  expect(JSON.parse(stdout)).toMatchObject({ score: null, mutants: 0, survivors: [] });
});

test.each([
  [
    ['nowhere', '--check', 'true'],
    'ralph: nowhere: there is no such commit (`git log --oneline` and `git branch --all` list what there is)\n',
  ],
  [[], 'ralph: ralph mutate: there is no check (--check "npm test" names one)\n'],
  [['--check', 'true', '--max', '0'], 'ralph: --max 0: must be a whole number, 1 or more\n'],
  [
    ['--check', 'true', '--time', 'soon'],
    'ralph: --time soon: must be a duration of at most 24 days (10m)\n',
  ],
  [['--check', 'true', '--min', '101'], 'ralph: --min 101: must be a number from 0 to 100\n'],
  [
    ['--check', 'true', '--max', 'x', '--time', '0s'],
    'ralph: 2 problems:\n  - --max x: must be a whole number, 1 or more\n  - --time 0s: must be a duration of at most 24 days (10m)\n',
  ],
])('%j', async (args, words) => {
  expect(await mutate(changed(), ...args)).toEqual([2, words]);
});

test('a check that is red at once is shown with its output', async () => {
  expect(await mutate(changed(), '--check', 'echo no tests here; exit 4')).toEqual([
    2,
    'ralph: echo no tests here; exit 4: fails in a clean copy before any fault is in it (exit code 4):\nno tests here\n\n',
  ]);
  expect((await mutate(changed(), '--check', 'exit 4'))[1]).toContain('(exit code 4), and prints nothing\n');
});

test('checks that alone take longer than the time', async () => {
  const [code, words] = await mutate(changed(), '--check', 'sleep 20', '--time', '1s');
  expect([code, words]).toEqual([
    2,
    'ralph: sleep 20: did not finish once in the time that there is for all faults (give it more with --time, or a faster --check)\n',
  ]);
});

test('without a commit everything is new; without a repository there is nothing to compare', async () => {
  const project = folder();
  expect((await mutate(project, '--check', 'true'))[1]).toContain('this is not in a git repository');
  project.git('init', '--quiet');
  project.write('a.sh', 'test 1 -lt 2\n');
  const [code, words] = await mutate(project, '--check', 'true');
  expect(code).toBe(1);
  expect(words).toContain('a.sh:1  `test 1 -lt 2` changed to `test 1 -le 2`');
});

test('files that cannot be changed are named and skipped; the rest is tried', async () => {
  const project = changed('good.js', 'go(1);\r\n');
  project.write('bad.js', 'if (a {\n');
  project.write('large.js', `// ${'x'.repeat(1024 * 1024)}\n`);
  project.write('binary.py', 'a = 1\0\n');
  writeFileSync(project.path('latin.py'), Buffer.from('a = "\xe9" > 1\n', 'latin1'));
  symlinkSync('good.js', project.path('link.js'));
  project.write('clean.sh', '[ -z "$1" ] && exit 1\nrm -f -r "$1"/*\n');
  project.write('na\tme\nq".sh', 'test 3 -lt 4\n');
  const { code, stdout } = await ralph(['mutate', '--check', 'true', '--json'], { cwd: project.dir });
  const { survivors, notes } = JSON.parse(stdout);
  expect(code).toBe(1);
  expect(notes).toEqual([
    'bad.js was skipped: it cannot be parsed: Unexpected token, expected ")" (1:6)',
    'binary.py was skipped: it is binary',
    'clean.sh was skipped: it deletes folders, and with a fault in it that could be any folder',
    'large.js was skipped: it is larger than 1 MB',
    'latin.py was skipped: it is not UTF-8',
    'link.js was skipped: it is not a regular file',
  ]);
  expect(survivors.map((each: { file: string }) => each.file)).toEqual([
    'good.js',
    'good.js',
    'na\tme\nq".sh',
    'na\tme\nq".sh',
  ]);
});

test('a fault that destroys its copy does not reach the project, and the rest is tried in another', async () => {
  const project = changed('a.sh', 'test 1 -lt 2\ntest 3 -lt 4\n');
  // Whoever sees the first fault removes all there is.
  const check = `grep -q '1 -lt 2' a.sh || find . -mindepth 1 -delete`;
  const { code, stdout } = await ralph(['mutate', '--check', check, '--json'], { cwd: project.dir });
  const { mutants, untried } = JSON.parse(stdout);
  expect([code, mutants, untried, project.read('a.sh')]).toEqual([
    ...[1, 4, 0],
    'test 1 -lt 2\ntest 3 -lt 4\n',
  ]);
});

test('CRLF stays CRLF: only the fault is another', async () => {
  const project = changed('a.js', 'const a = 1 < 2;\r\nif (!a) go();\r\n');
  const check = `node -e "process.exit(require('fs').readFileSync('a.js', 'utf8').split('\\r\\n').length === 3 ? 0 : 1)"`;
  const { code, stdout } = await ralph(['mutate', '--check', check, '--json'], { cwd: project.dir });
  expect([code, JSON.parse(stdout).score]).toEqual([1, 0]);
});
