/** What was proven and how: honest runs at each level, and what is said of those that are not. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { ralph } from '../rig/commands.ts';
import { ledgerOf, promptOf } from '../rig/ledger.ts';
import { type Repo, repo, scriptedAgent } from '../rig/repo.ts';

/** Its prompt is on stdin. */
const agent = (script: string) => scriptedAgent(`cat > .prompt\n${script}`);

const CLAIM = `echo '<promise>COMPLETE</promise>'`;

async function loop(work: Repo, script: string, ...args: string[]) {
  const command = ['loop', 'Fix it', '--agent', agent(script), '--max-iterations', '3', '--json', ...args];
  const { code, stdout, stderr } = await ralph(command, { cwd: work.dir });
  return { code, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) };
}

const IGNORED = { '.gitignore': '.prompt\nnode_modules/\n*.local\n' };

describe('the level of proof', () => {
  test('without a check it is a claim, and the stop reason says no more', {
    tags: ['promise', 'P-proof-claimed'],
  }, async () => {
    const work = repo(IGNORED);
    const args = ['run', '-p', 'go', '--agent', agent(`echo '<response>DONE</response>'`), '--json'];
    const { stdout } = await ralph(args, { cwd: work.dir });
    expect(JSON.parse(stdout)).toMatchObject({
      success: true,
      stopReason: 'promise_accepted',
      proof: { level: 'claimed', commit: null, tree: null, checkInputsChanged: [] },
    });
  });

  test('in place it names the tree that was checked', { tags: ['promise', 'P-proof-place'] }, async () => {
    const work = repo({ ...IGNORED, a: 'a\n' });
    const { code, result } = await loop(work, `echo b > a\n${CLAIM}`, '--check', 'grep -q b a', '--strict');
    work.git('add', '--all', ':!.ralph');
    expect(code).toBe(0);
    expect(result.proof).toMatchObject({
      level: 'place',
      tree: work.git('write-tree').trim(),
      checkInputsChanged: [],
    });
  });

  test('clean it is what passes in a checkout with setup and .worktreeinclude, and nothing else', {
    tags: ['promise', 'P-proof-clean'],
  }, async () => {
    const work = repo({
      ...IGNORED,
      '.worktreeinclude': '*.local\n',
      'check.sh': 'cat settings.local node_modules/tool src/new && [ ! -e node_modules/left ] && pwd\n',
      'install.sh': 'mkdir -p node_modules; echo tool > node_modules/tool\n',
    });
    work.write('settings.local', 'settings\n');
    work.write('node_modules/tool', 'tool\n');
    const script = `mkdir -p src; echo new > src/new\n${CLAIM}`;
    const flags = ['--proof', 'clean', '--setup', 'sh install.sh', '--check', 'sh check.sh'];
    const { code, result, stderr } = await loop(work, script, ...flags);
    expect(code).toBe(0);
    expect(result.proof.level).toBe('clean');
    expect(stderr).toContain('in a clean checkout');
    const [inPlace, ...clean] = result.iterations[0].checkResults;
    expect(inPlace).toMatchObject({ name: 'sh check.sh', passed: true });
    expect(inPlace.output).toContain(work.dir);
    expect(clean).toMatchObject([
      { name: 'sh check.sh', passed: true, clean: true },
      { name: 'sh install.sh', passed: true, clean: true, isSetup: true },
    ]);
    expect(clean[0].output).toMatch(/^settings\ntool\nnew\n/);
    const place = clean[0].output.trim().split('\n').at(-1);
    expect(existsSync(place)).toBe(false);
    const logs = runPaths(projectPaths(work.dir), result.runId).iteration(1);
    expect(readFileSync(logs.check('clean-sh_check_sh'), 'utf8')).toBe(clean[0].output);
  });

  test('what passes in place and fails clean is said to the agent, and the run continues', async () => {
    const work = repo({ ...IGNORED, 'check.sh': '[ -e made ] || [ -e made.local ]\n' });
    const script = `if [ -e made.local ]; then touch made; else touch made.local; echo x > x; fi\n${CLAIM}`;
    const { code, result } = await loop(work, script, '--proof', 'clean', '--check', 'sh check.sh');
    expect(code).toBe(0);
    expect(result.iterations).toHaveLength(2);
    expect(result.iterations[0].allChecksPassed).toBe(false);
    expect(promptOf(work, result.runId, 2)).toContain(
      'passes in your work tree and fails in a clean checkout',
    );
    expect(result.proof.level).toBe('clean');
  });

  test('clean proof needs a git repository', async () => {
    const work = repo(IGNORED);
    work.git('rev-parse', 'HEAD');
    rmSync(work.path('.git'), { recursive: true });
    const { code, stderr } = await loop(work, CLAIM, '--proof', 'clean', '--check', 'true');
    expect(code).toBe(2);
    expect(stderr).toContain('git');
  });
});

describe('a check that changes what is protected', () => {
  test('is void with all after it, for the agent, the terminal and the ledger; and its change is undone', {
    tags: 'promise',
  }, async () => {
    const work = repo({ ...IGNORED, 'test/a': 'a\n', 'build.sh': 'true\n' });
    const script = `if [ -e once ]; then echo true > build.sh; else touch once; echo 'echo b > test/a' > build.sh; fi\n${CLAIM}`;
    const flags = ['--protect', 'test/**', '--check', 'sh build.sh', '--check', 'true'];
    const { code, result, stderr } = await loop(work, script, ...flags);
    expect(code).toBe(0);
    expect(result.iterations).toHaveLength(2);
    const [first, second] = result.iterations[0].checkResults;
    expect(first).toMatchObject({
      passed: false,
      exitCode: 0,
      voided: expect.stringContaining('test/a was changed'),
    });
    expect(second).toMatchObject({
      passed: false,
      exitCode: 0,
      voided: expect.stringContaining('a check before it'),
    });
    expect(stderr).toContain('is void: it changed what is protected (test/a was changed)');
    expect(promptOf(work, result.runId, 2)).toContain(
      'The check `sh build.sh` changed something that is protected',
    );
    expect(promptOf(work, result.runId, 2)).toContain('It counts as failed whatever its exit code');
    expect(work.read('test/a')).toBe('a\n');
    const entries = ledgerOf(work, result.runId);
    expect(entries.find(entry => entry.type === 'violation')).toMatchObject({
      violation: { what: 'test/a was changed', restored: true, by: 'sh build.sh' },
    });
  });

  test('is not excused for having failed before the run', async () => {
    const work = repo({ ...IGNORED, 'test/a': 'a\n', 'build.sh': 'exit 1\n' });
    const script = `echo 'echo b > test/a' > build.sh\n${CLAIM}`;
    const flags = ['--protect', 'test/**', '--check', 'sh build.sh', '--baseline', '--baseline-ungated'];
    expect((await loop(work, script, ...flags, '--max-iterations', '1')).code).toBe(1);
  });
});

describe('what the checks rest on', () => {
  const files = { ...IGNORED, 'check.sh': 'true\n' };

  test('is reported where it changed: to the agent, in the final block and in the result', async () => {
    const work = repo(files);
    const script = `echo 'true #' > check.sh\n[ -e x ] && ${CLAIM}\ntouch x`;
    const { code, result, stderr } = await loop(work, script, '--check', 'sh check.sh');
    expect(code).toBe(0);
    expect(result.proof.checkInputsChanged).toEqual(['check.sh']);
    expect(promptOf(work, result.runId, 2)).toContain('What the checks rest on is not what it was');
    expect(stderr).toContain('What the checks rest on was changed: check.sh');
  });

  test('with --strict nothing is proven until it is restored', {
    tags: ['promise', 'P-strict'],
  }, async () => {
    const work = repo(files);
    const script = `if [ -e x ]; then git checkout -q check.sh; else echo 'true #' > check.sh; touch x; fi\n${CLAIM}`;
    const { code, result } = await loop(work, script, '--check', 'sh check.sh', '--strict');
    expect(code).toBe(0);
    expect(result.iterations).toHaveLength(2);
    expect(promptOf(work, result.runId, 2)).toContain('Nothing counts as proven until it is as it was');
    expect(result.proof.checkInputsChanged).toEqual([]);
  });

  test('a dependency that is added is no change', async () => {
    const work = repo({ ...IGNORED, 'package.json': '{ "scripts": { "test": "true" } }\n' });
    const script = `npm pkg set dependencies.left=1.0.0\n${CLAIM}`;
    expect((await loop(work, script, '--check', 'npm test', '--strict')).code).toBe(0);
  });

  test('is listed by --dry-run', async () => {
    const work = repo({ ...files, 'package.json': '{ "scripts": { "test": "sh check.sh" } }\n' });
    const args = ['loop', 'x', '--agent', agent(''), '--check', 'npm test', '--dry-run'];
    const { stdout } = await ralph(args, { cwd: work.dir });
    expect(stdout).toContain('The checks rest on\ncheck.sh\npackage.json\n');
    const { stdout: json } = await ralph([...args, '--json'], { cwd: work.dir });
    expect(JSON.parse(json).checkInputs).toEqual(['check.sh', 'package.json']);
  });
});

describe('checks that change files', () => {
  test('run once more on what they left, and that is the tree that was checked', async () => {
    const work = repo({ ...IGNORED, 'format.sh': 'echo formatted > code\n', code: 'raw\n' });
    const { code, result } = await loop(work, `echo new > new\n${CLAIM}`, '--check', 'sh format.sh');
    work.git('add', '--all', ':!.ralph');
    expect(code).toBe(0);
    expect(result.proof.tree).toBe(work.git('write-tree').trim());
    const ended = ledgerOf(work, result.runId).filter(entry => entry.type === 'check-ended');
    expect(ended).toHaveLength(2);
  });

  test('again and again is said, and voids nothing without --strict', async () => {
    const work = repo({ ...IGNORED, 'count.sh': 'echo x >> count\n', count: '' });
    const script = `echo new > new\n[ -e y ] && ${CLAIM}\ntouch y`;
    const { code, result, stderr } = await loop(work, script, '--check', 'sh count.sh');
    expect(code).toBe(0);
    expect(stderr).toContain('The checks change files each time they run: count');
    // Only where the run would end with it do they run once more.
    const entries = ledgerOf(work, result.runId);
    const rounds = (from: number, to: number) =>
      entries.slice(from, to).filter(entry => entry.type === 'check-ended').length;
    const first = entries.findIndex(entry => entry.type === 'judged');
    expect([rounds(0, first), rounds(first, entries.length)]).toEqual([1, 2]);
  });

  test('run once in a green iteration that is committed and does not end the run', async () => {
    const work = repo({ ...IGNORED, 'format.sh': 'echo formatted > code\n', code: 'raw\n' });
    work.write('.ralph/settings.json', JSON.stringify({ scm: { command: 'git', tasks: ['commit'] } }));
    const script = `echo new > new\n[ -e y ] && ${CLAIM}\ntouch y`;
    const { code, result } = await loop(work, script, '--check', 'sh format.sh');
    expect(code).toBe(0);
    const entries = ledgerOf(work, result.runId);
    const first = entries.findIndex(entry => entry.type === 'judged');
    expect(entries.slice(0, first).filter(entry => entry.type === 'check-ended')).toHaveLength(1);
  });
});

test('a new worktree gets what .worktreeinclude names, and setup runs in it', async () => {
  const work = repo({ ...IGNORED, '.worktreeinclude': '*.local\n' });
  work.write('settings.local', 'settings\n');
  const flags = [
    '--worktree',
    'one',
    '--setup',
    'echo ready > ready.local',
    '--check',
    'cat settings.local ready.local',
  ];
  const { code, result } = await loop(work, `echo x > x\n${CLAIM}`, ...flags);
  expect(code).toBe(0);
  expect(result.iterations[0].checkResults[0].output).toBe('settings\nready\n');
  const failing = ['--worktree', 'two', '--setup', 'echo broken; exit 3', '--check', 'true'];
  const { code: failed, stderr } = await loop(work, CLAIM, ...failing);
  expect(failed).toBe(2);
  expect(stderr).toContain('failed with exit code 3 in the new checkout: broken');
});
