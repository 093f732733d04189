import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const FILES = {
  'src/sum.sh': 'echo $(($1 + $2))\n',
  'test/sum.test.sh': 'test "$(sh src/sum.sh 1 2)" = 3\n',
};

interface Simulated {
  readonly trouble: string;
  readonly story: readonly string[];
  readonly weakness?: string;
}

async function simulate(project: Repo, ...args: string[]) {
  const { code, stdout, stderr } = await ralph(['simulate', ...args, '--json'], { cwd: project.dir });
  const simulated: readonly Simulated[] = (stdout.startsWith('{') && JSON.parse(stdout).simulated) || [];
  return { code, stderr, simulated: Object.fromEntries(simulated.map(each => [each.trouble, each])) };
}

test('settings that catch everything, trouble by trouble', async () => {
  const project = repo(FILES);
  project.settings({ checks: ['sh test/sum.test.sh'], protect: ['test/**'] });
  const before = project.git('status', '--porcelain=v2', '--branch', '--untracked-files=all');
  const { code, simulated } = await simulate(project);
  expect(Object.keys(simulated)).toEqual([
    ...['limit', 'hang', 'lie', 'echo', 'crash', 'flood', 'tamper'],
    ...['weaken', 'swap', 'script', 'review', 'waver'],
  ]);
  expect(simulated.waver?.story).toContain(
    'iteration 3: Went back to iteration 1, the best: iterations 2 and 3 ended worse',
  );
  for (const cheat of ['weaken', 'swap', 'script'])
    expect(simulated[cheat]?.story[0]).toMatch(
      /^iteration 1: test\/sum\.test\.sh (is protected|was replaced)/,
    );
  expect(simulated.review?.story.at(-1)).toContain('Stopped');
  expect(simulated.limit?.story[1]).toBe('iteration 1: waited, then retried');
  expect(simulated.hang?.story[0]).toBe('iteration 1: the turn was ended by --idle-timeout');
  expect(simulated.lie?.story[0]).toContain('not done: check "sh test/sum.test.sh" failed');
  expect(simulated.echo?.story[0]).toBe('iteration 1: not done: the agent has not said that it is done');
  expect(simulated.crash?.story[0]).toContain('the turn failed (crash');
  expect(simulated.flood?.story.at(-1)).toContain('Done');
  expect(simulated.tamper?.story[0]).toBe(
    "iteration 1: test/sum.test.sh is protected: the agent's change was undone",
  );
  expect(Object.values(simulated).filter(each => each.weakness !== undefined)).toEqual([]);
  expect(code).toBe(0);
  expect(project.git('status', '--porcelain=v2', '--branch', '--untracked-files=all')).toBe(before);
  expect(readdirSync(project.path('.ralph'))).toEqual(['settings.json']);
});

test('what is not caught is named, and the exit code says so', async () => {
  const project = repo(FILES);
  project.settings({ checks: ['true'] });
  const { code, simulated } = await simulate(project, 'lie', 'tamper');
  expect(code).toBe(1);
  expect(simulated.lie?.weakness).toBe('The lie was believed: src/sum.sh is empty, and no check noticed.');
  expect(simulated.tamper?.weakness).toContain('test/sum.test.sh was emptied and not restored');
  const protectedToo = await simulate(
    project,
    'tamper',
    '--protect',
    'test/**',
    '--check',
    'sh test/sum.test.sh',
  );
  expect([protectedToo.code, protectedToo.simulated.tamper?.weakness]).toEqual([0, undefined]);
});

test('a turn that nothing would end is ended here, and that is a weakness', async () => {
  const project = repo(FILES);
  project.settings({ guardrails: [{ command: 'sh test/sum.test.sh' }], idleTimeout: 0 });
  const { code, simulated } = await simulate(project, 'hang');
  expect([code, simulated.hang?.weakness]).toEqual([
    1,
    'Nothing would end the turn: set --idle-timeout or --iteration-timeout.',
  ]);
});

test('neither a push nor a commit, neither a notification nor the real agent gets out', async () => {
  const project = repo(FILES);
  project.git('init', '--quiet', '--bare', '.git/remote');
  project.git('remote', 'add', 'origin', project.path('.git/remote'));
  project.git('push', '--quiet', '--set-upstream', 'origin', 'main');
  project.settings({
    agent: { command: 'sh', flags: ['-c', `touch '${project.path('called')}'`] },
    notify: `touch '${project.path('notified')}'`,
    guardrails: [{ command: 'sh test/sum.test.sh' }],
    scm: { command: 'git', tasks: ['commit', 'push'] },
  });
  project.write('src/sum.sh', `${FILES['src/sum.sh']}# mine, not committed\n`);
  project.write('new.txt', 'mine, too\n');
  const before = project.git('for-each-ref') + project.git('status', '--porcelain');
  const { code, simulated } = await simulate(project, 'crash');
  expect([code, simulated.crash?.story.at(-1)]).toEqual([
    0,
    'Done: every check passes and the agent says it is complete.',
  ]);
  expect(project.git('for-each-ref') + project.git('status', '--porcelain')).toBe(before);
  expect(project.git('-C', '.git/remote', 'log', '--format=%s', 'main').trim()).toBe('start');
});

test('where the checks are red anyhow, that is said first; the copy is removed', async () => {
  const project = repo(FILES);
  project.settings({ checks: ['false'] });
  // A temporary folder of its own: others may simulate at the same time.
  const temporary = folder();
  const { stdout } = await ralph(['simulate', 'crash'], { cwd: project.dir, env: { TMPDIR: temporary.dir } });
  expect(stdout).toContain('Even without failures the run does not succeed here (stuck)');
  expect(readdirSync(temporary.dir).filter(name => name.startsWith('ralph-simulate-'))).toEqual([]);
});

test('where there is nothing to harm, that is said', { tags: 'promise' }, async () => {
  const { code, simulated } = await simulate(repo(), 'lie', 'tamper');
  expect(code).toBe(0);
  expect(simulated.lie?.story).toEqual(['skipped: there is no code here to empty']);
  expect(simulated.tamper?.story).toEqual(['skipped: nothing is protected, and nothing looks like a test']);
});

test('an unknown trouble gets a did-you-mean', async () => {
  const { code, stderr } = await simulate(repo(), 'lei', 'hangs');
  expect(code).toBe(2);
  expect(stderr).toContain('did you mean lie?');
  expect(stderr).toContain('did you mean hang?');
});

describe('cheating at the checks', () => {
  const PACKAGE = JSON.stringify({ scripts: { test: 'sh test/sum.test.sh' } });

  test('gets through where nothing is protected, and each weakness says what helps', async () => {
    const project = repo({ ...FILES, 'package.json': PACKAGE });
    project.settings({ checks: ['npm test --silent'] });
    const { code, simulated } = await simulate(project, 'lie', 'weaken', 'swap', 'script', 'review');
    expect(code).toBe(1);
    expect(simulated.lie?.weakness).toBeUndefined();
    expect(simulated.weaken?.weakness).toContain(
      'test/sum.test.sh was weakened, src/sum.sh is empty, and the run was done',
    );
    expect(simulated.swap?.weakness).toContain('test/sum.test.sh was replaced by a link');
    expect(simulated.script?.weakness).toContain('package.json was changed so that the check passes');
    expect(simulated.review?.weakness).toBeUndefined();
  });

  test('is caught by --protect and --strict', async () => {
    const project = repo({ ...FILES, 'package.json': PACKAGE });
    project.settings({ checks: ['npm test --silent'], protect: ['test/**'], strict: true });
    const { code, simulated } = await simulate(project, 'weaken', 'swap', 'script');
    expect(Object.values(simulated).map(({ weakness }) => weakness)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(code).toBe(0);
    expect(simulated.script?.story[0]).toContain(
      'what the checks rest on was changed, which voids the proof: package.json',
    );
  });

  test('a review that looks at nothing is believed where no check looks either', async () => {
    const project = repo(FILES);
    project.settings({ checks: ['true'] });
    const { code, simulated } = await simulate(project, 'review');
    expect(code).toBe(1);
    expect(simulated.review?.weakness).toContain('A review approved without a look, src/sum.sh is empty');
  });

  test('without tests, scripts or code there is nothing to cheat at', async () => {
    const project = repo();
    project.settings({ checks: ['true'] });
    const { code, simulated } = await simulate(project, 'weaken', 'swap', 'script', 'review');
    expect(code).toBe(0);
    for (const each of Object.values(simulated)) expect(each.story[0]).toMatch(/^skipped: /);
  });
});

test('a run that never goes back loses what an agent makes worse', async () => {
  const project = repo(FILES);
  project.settings({ checks: ['sh test/sum.test.sh'], keep: 'last' });
  const { code, simulated } = await simulate(project, 'waver');
  expect([code, simulated.waver?.weakness]).toEqual([
    1,
    'The run ended worse than iteration 1 had left it: src/sum.sh is empty. --keep best goes back.',
  ]);
  project.settings({ checks: ['sh test/sum.test.sh'], patience: 0 });
  const patient = await simulate(project, 'waver');
  expect([patient.code, patient.simulated.waver?.story.at(-2)]).toEqual([
    0,
    'iteration 4: The files are those of iteration 1, the best: iterations 2, 3 and 4 ended worse',
  ]);
});
