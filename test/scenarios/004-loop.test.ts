import { describe, expect, test } from 'vitest';
import { speaks, writesFile } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, type Handler, says } from '../rig/fake-agent.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const COMPLETE = '<promise>COMPLETE</promise>';

async function loop(project: Repo, agentBin: string, ...args: string[]) {
  const finished = await ralph(['loop', ...args, '--agent', 'claude', '--json'], {
    cwd: project.dir,
    path: [agentBin],
  });
  return { ...finished, result: finished.stdout.startsWith('{') ? JSON.parse(finished.stdout) : undefined };
}

describe('done', () => {
  test('needs every check green and the promise', { tags: ['promise', 'P-loop-done'] }, async () => {
    const project = repo();
    const agent = await fakeAgent(
      'claude',
      writesFile('a', '1', COMPLETE),
      writesFile('b', '1', 'the checks should pass now'),
      writesFile('c', '1', `All good. ${COMPLETE}`),
    );
    const { code, result: told } = await loop(
      project,
      agent.bin,
      'Make a and b',
      '--check',
      'test -e a',
      '--check',
      'test -e b',
    );
    expect([code, told.stopReason, told.iterations.length]).toEqual([0, 'all_checks_passed', 3]);
    expect(
      told.iterations.map((each: { allChecksPassed: boolean; completionTagFound: boolean }) => [
        each.allChecksPassed,
        each.completionTagFound,
      ]),
    ).toEqual([
      [false, true],
      [true, false],
      [true, true],
    ]);
    expect(agent.calls[1]?.input).toContain('You said that you were done, but the checks below fail.');
    expect(agent.calls[2]?.input).toContain(
      `Every check passes, but you did not say that you are done. If the whole task is complete, say ${COMPLETE}`,
    );
  });

  test.each([
    'COMPLETE',
    'INCOMPLETE',
    '<promise>complete</promise>',
    '`<promise>COMPLETE</promise>`',
    '<promise> COMPLETE </promise>',
  ])('is not said with %j', async words => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('a', '1', words));
    const { code } = await loop(project, agent.bin, 'x', '--check', 'true', '--max-iterations', '1');
    expect(code).toBe(1);
  });

  test('is not said by an agent that denies it, promises it for later or shows it in code, and it hears which', async () => {
    const project = repo();
    const agent = await fakeAgent(
      'claude',
      writesFile('a', '1', `This is not finished yet. I will output ${COMPLETE} when the tests pass.`),
      writesFile('b', '1', `Two parts are left, so I cannot say ${COMPLETE}.`),
      writesFile('c', '1', `At the end it is:\n\`\`\`\n${COMPLETE}\n\`\`\``),
      writesFile('d', '1', `All tests pass, nothing will break. ${COMPLETE}`),
    );
    const { code, result: told } = await loop(project, agent.bin, 'x', '--check', 'true');
    expect([code, told.iterations.length]).toEqual([0, 4]);
    expect(agent.calls[1]?.input).toContain('promises it for later');
    expect(agent.calls[2]?.input).toContain('denies it');
    expect(agent.calls[3]?.input).toContain('in a code block');
  });

  test('is not believed of an agent that has done nothing', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks(COMPLETE), writesFile('a', '1', COMPLETE));
    const { code, result: told } = await loop(project, agent.bin, 'x', '--check', 'true');
    expect([code, told.iterations.length]).toEqual([0, 2]);
    expect(agent.calls[1]?.input).toContain('called no tool and changed no file. Do the work first.');
  });

  test('where nothing was done up to the last iteration, the end says so', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks(COMPLETE));
    const args = ['x', '--check', 'true', '--max-iterations', '1'];
    const { code, result: told } = await loop(project, agent.bin, ...args);
    expect([code, told.stopReason, told.detail]).toEqual([
      1,
      'max_iterations',
      '1 of 1 iterations used. The agent said that it was done, and had called no tool and changed no file.',
    ]);
    const explained = await ralph(['explain'], { cwd: project.dir });
    expect(explained.stdout.replace(/\s+/g, ' ')).toContain('had called no tool and changed no file.');
  });

  test('is also said with the tag of `ralph run`, unless its own has another text', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('a', '1', 'It is made. <response>Done</response>'));
    const start = (...flags: string[]) =>
      loop(project, agent.bin, 'x', '--check', 'true', '--max-iterations', '1', ...flags);
    expect((await start()).result.stopReason).toBe('all_checks_passed');
    expect(agent.calls[0]?.input).not.toContain('<response>');
    expect((await start('--completion-tag', 'FINE')).result.stopReason).toBe('max_iterations');
  });

  test('counts on the last allowed iteration', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('a', '1', COMPLETE));
    const { code } = await loop(project, agent.bin, 'x', '--check', 'true', '--max-iterations', '1');
    expect(code).toBe(0);
  });
});

describe('clean context', () => {
  test('the prompt of iterations 1, 2 and 3 holds the five parts and nothing else', {
    tags: ['promise', 'P-loop-prompt'],
  }, async () => {
    const project = repo({ 'app.js': 'old\n' });
    const agent = await fakeAgent(
      'claude',
      async turn => {
        await turn.write('app.js', 'new\n');
        await turn.write('extra.txt', 'untracked\n');
        await speaks('secret thoughts of iteration one')(turn);
      },
      speaks('secret thoughts of iteration two'),
      speaks('x'),
    );
    await loop(
      project,
      agent.bin,
      'Do it.\nWell.\n',
      '--check',
      'printf "line 1\\nboom" && false',
      '--max-iterations',
      '3',
    );
    const [first = '', second = '', third = ''] = agent.calls.map(call => call.input);
    const head = (n: number) =>
      [
        'Do it.\nWell.',
        '',
        '## Rules',
        'These checks run after your turn, and all must pass:',
        '- `printf "line 1\\nboom" && false`',
        `When the whole task is complete, say exactly ${COMPLETE}, and never before.`,
        'If you cannot continue, say why: <blocked>reason</blocked>',
        `This is iteration ${n} of 3. You remember nothing of earlier ones; their work is in the files.`,
        '',
      ].join('\n');
    expect(first).toBe(head(1));
    const rest = (n: number) => [
      head(n),
      '## Changes since the start',
      '```diff',
      'diff --git a/app.js b/app.js',
      'index 3367afd..3e75765 100644',
      '--- a/app.js',
      '+++ b/app.js',
      '@@ -1 +1 @@',
      '-old',
      '+new',
      'diff --git a/extra.txt b/extra.txt',
      'new file mode 100644',
      'index 0000000..5a72eb2',
      '--- /dev/null',
      '+++ b/extra.txt',
      '@@ -0,0 +1 @@',
      '+untracked',
      '```',
      '',
      '## What went wrong in the last iteration',
      '',
      '### `printf "line 1\\nboom" && false` failed (exit code 1)',
      '```',
      'line 1',
      'boom',
      '```',
      '',
      '## Progress',
    ];
    const entry = (n: number) => [
      `## Iteration ${n} — FAIL`,
      '- Steps: 1',
      '- Cost: $0.0100',
      '- Duration: T',
      '- Checks:',
      '  - printf "line 1\\nboom" && false: FAIL — boom',
    ];
    const timeless = (prompt: string) => prompt.replace(/Duration: \d+\.\ds/g, 'Duration: T');
    expect(timeless(second)).toBe([...rest(2), ...entry(1), ''].join('\n'));
    expect(timeless(third)).toBe([...rest(3), ...entry(1), ...entry(2), ''].join('\n'));
    expect(project.git('status', '--porcelain')).toBe(' M app.js\n?? .ralph/\n?? extra.txt\n');
    expect(timeless(project.read('.ralph/ralph-progress.md'))).toBe(
      [...entry(1), ...entry(2), ...entry(3), ''].join('\n'),
    );
  });

  test('the spec file stands in place of the task', async () => {
    const project = repo({ 'spec.md': '# Spec\nBuild it.\n' });
    const agent = await fakeAgent('claude', writesFile('a', '1', COMPLETE));
    await loop(project, agent.bin, 'ignored words', '--spec', 'spec.md', '--check', 'true');
    expect(agent.calls[0]?.input).toMatch(/^# Spec\nBuild it\.\n\n## Rules/);
    expect(agent.calls[0]?.input).not.toContain('ignored words');
  });

  test('diff and errors are cut, the diff at its end, the errors in the middle, and both say so', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('big.txt', 'changed line\n'.repeat(2000), 'x'));
    await loop(project, agent.bin, 'x', '--check', 'seq 1 5000; false', '--max-iterations', '2');
    const prompt = agent.calls[1]?.input ?? '';
    expect(prompt).toContain('```\n1\n2\n3\n');
    expect(prompt).toContain('... [truncated]\n');
    expect(prompt).toContain('\n5000\n```');
    expect(prompt.length).toBeLessThan(9_000);
    expect(prompt).toMatch(/\n.*(cut|more|missing|left out).*\n```\n\n## What went wrong/);
  });
});

describe('checks', () => {
  test('that run too long fail with the word Timeout, and everything they started is gone', {
    tags: ['promise', 'P-check-timeout'],
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('a', '1', 'x'));
    const { stderr } = await loop(
      project,
      agent.bin,
      'x',
      '--check',
      'setsid sleep 1000 & sleep 1000',
      '--check-timeout',
      '0.3',
      '--max-iterations',
      '2',
    );
    expect(agent.calls[1]?.input).toMatch(/failed \(Timeout after \d\.\d s\)/);
    expect(stderr).toContain('`setsid sleep 1000 & sleep 1000` timed out (');
  });

  test('run at the same time with --check-parallel, and are told in their order', async () => {
    const project = repo();
    // Each waits for the other: one after the other they would never end.
    const waits = (own: string, other: string) =>
      `touch ${own}; until [ -e ${other} ]; do :; done; echo ${own}; false`;
    const agent = await fakeAgent('claude', writesFile('a', '1', 'x'));
    const args = [
      'x',
      '--check',
      waits('one', 'two'),
      '--check',
      waits('two', 'one'),
      '--check-parallel',
      '--max-iterations',
      '1',
    ];
    const { result: told } = await loop(project, agent.bin, ...args);
    expect(told.iterations[0].checkResults.map((each: { output: string }) => each.output)).toEqual([
      'one\n',
      'two\n',
    ]);
  });

  test('that are flaky pass when they are run again, and the flake is told', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('a', '1', COMPLETE));
    const flaky = 'if [ -e tried ]; then exit 0; else touch tried; exit 1; fi';
    const {
      code,
      result: told,
      stderr,
    } = await loop(project, agent.bin, 'x', '--check', flaky, '--check-retries', '2');
    expect(code).toBe(0);
    expect(told.iterations[0].checkResults[0]).toMatchObject({ passed: true, flaked: 1 });
    expect(stderr).toContain('flaky');
  });

  test('red before the first iteration are said with --baseline', { tags: 'P-baseline' }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('a', '1', COMPLETE));
    const { code, stderr } = await loop(
      project,
      agent.bin,
      'x',
      '--check',
      'test -e a',
      '--check',
      'sh -c no-such-tool',
      '--baseline',
      '--max-iterations',
      '1',
    );
    expect(code).toBe(1);
    expect(agent.calls[0]?.input).toContain('- `test -e a` (failed before you began)');
    expect(stderr.replace(/\s+/g, ' ')).toContain(
      '`sh -c no-such-tool` fails before the first iteration: exit code 127: there is no such command.',
    );
  });

  test('red before need not pass with --baseline-ungated; one that broke since still must', async () => {
    const project = repo({ good: '' });
    const args = ['x', '--check', 'false', '--check', 'test -e good', '--baseline', '--baseline-ungated'];
    const honest = await fakeAgent('claude', writesFile('a', '1', COMPLETE));
    expect((await loop(project, honest.bin, ...args)).code).toBe(0);
    expect(honest.calls[0]?.input).toContain('- `false` (failed before you began; it need not pass)');
    const breaks = await fakeAgent('claude', async turn => {
      await turn.shell('rm good');
      await writesFile('a', '2', COMPLETE)(turn);
    });
    expect((await loop(project, breaks.bin, ...args, '--max-iterations', '1')).code).toBe(1);
  });
});

describe('protected paths', () => {
  test('are put back before the checks run, and the agent hears it', {
    tags: ['promise', 'P-protect'],
  }, async () => {
    const project = repo({ 'test/a.test.sh': 'test -e feature\n', 'app.txt': 'x\n' });
    const cheats: Handler = async turn => {
      await turn.write('test/a.test.sh', 'true\n');
      await writesFile('other', '1', COMPLETE)(turn);
    };
    const agent = await fakeAgent('claude', cheats, writesFile('feature', '1', COMPLETE));
    const { code, result: told } = await loop(
      project,
      agent.bin,
      'x',
      '--check',
      'sh test/a.test.sh',
      '--protect',
      'test/**',
    );
    expect([code, told.iterations.length]).toEqual([0, 2]);
    expect(told.iterations[0]).toMatchObject({
      allChecksPassed: false,
      violations: [expect.stringContaining('test/a.test.sh')],
    });
    expect(agent.calls[1]?.input).toMatch(
      /You changed something that is not yours to change: test\/a\.test\.sh.*It has been undone\./,
    );
    expect(project.read('test/a.test.sh')).toBe('test -e feature\n');
  });

  test('are restored, too, when a signal ends the run before the checks', async () => {
    const project = repo({ 'test/a.test.sh': 'test -e feature\n' });
    let run: ReturnType<typeof startRalph> | undefined;
    const agent = await fakeAgent('claude', async turn => {
      await turn.write('test/a.test.sh', 'true\n');
      run?.process.kill('SIGINT');
      await run?.until('shutting down');
      await writesFile('other', '1', COMPLETE)(turn);
    });
    const args = ['loop', 'x', '--agent', 'claude', '--check', 'sh test/a.test.sh', '--protect', 'test/**'];
    run = startRalph(args, { cwd: project.dir, path: [agent.bin] });
    expect((await run.finished).code).toBe(130);
    expect(project.read('test/a.test.sh')).toBe('test -e feature\n');
  });
});

describe('limits', () => {
  test('the same failure without a change is said, then ends the run as stuck', {
    tags: ['promise', 'P-stuck'],
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks('thinking'));
    const { code, result: told } = await loop(
      project,
      agent.bin,
      'x',
      '--check',
      'date +%N; false',
      '--stuck-after',
      '2',
    );
    expect([code, told.stopReason, told.iterations.length]).toEqual([1, 'stuck', 3]);
    expect(agent.calls[1]?.input).not.toContain('What you are doing does not work');
    expect(agent.calls[2]?.input).toContain(
      'The same failure has now come back 2 times and no file changed. What you are doing does not work',
    );
  });

  test('an agent that says it is blocked ends the run with its reason', {
    tags: ['promise', 'P-blocked'],
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks('I need help. <blocked>no database password</blocked>'));
    const { code, result: told } = await loop(project, agent.bin, 'x', '--check', 'false');
    expect([code, told.stopReason, told.detail]).toEqual([1, 'blocked', 'no database password']);
  });

  test('the budget ends the run', async () => {
    const project = repo();
    const agent = await fakeAgent(
      'claude',
      writesFile('a', '1', 'x', { total_cost_usd: 3 }),
      writesFile('a', '2', 'x', { total_cost_usd: 3 }),
    );
    const { code, result: told } = await loop(project, agent.bin, 'x', '--check', 'false', '--max-cost', '5');
    expect([code, told.stopReason, told.totalCost, told.iterations.length]).toEqual([
      1,
      'budget_exhausted',
      6,
      2,
    ]);
  });

  test('the default is 25 iterations', async () => {
    const project = repo();
    const agent = await fakeAgent('claude');
    const { stdout } = await ralph(
      ['loop', 'x', '--check', 'true', '--agent', 'claude', '--dry-run', '--json'],
      { cwd: project.dir, path: [agent.bin] },
    );
    expect(JSON.parse(stdout)).toMatchObject({
      settings: { maximumIterations: 25, permissions: 'skip', checkTimeout: 600, completionTag: 'COMPLETE' },
    });
  });
});

describe('bad input', () => {
  test.each<[string, string[], RegExp]>([
    [
      'no check',
      ['x'],
      /--check: at least one is needed: a loop without a check would have to believe the agent/,
    ],
    ['no task', ['--check', 'true'], /task: there is none/],
    [
      'a task that --worktree took',
      ['--check', 'true', '--worktree', 'Fix it'],
      /put it first, or write --worktree=NAME/,
    ],
    [
      'a file instead of a task',
      ['empty.md', '--check', 'true'],
      /the task: empty\.md is a file \(--spec empty\.md takes what is in it\)/,
    ],
    [
      'a spec that is not there',
      ['--spec', 'nope.md', '--check', 'true'],
      /spec file nope\.md: it cannot be read: it does not exist/,
    ],
    ['an empty spec', ['--spec', 'empty.md', '--check', 'true'], /spec file empty\.md: it is empty/],
    ['an empty task on stdin', ['-', '--check', 'true'], /stdin: it is empty/],
    [
      'a list of tasks that is not there',
      ['--tasks', 'nope.md', '--check', 'true'],
      /--tasks nope\.md: it cannot be read: it does not exist/,
    ],
    [
      'a spec of 10 MB',
      ['--spec', 'huge.md', '--check', 'true'],
      /spec file huge\.md: it has 10\.0 million characters, more than any model reads/,
    ],
    ['an empty check', ['x', '--check', ' '], /--check\[0\]: must be text that is not empty/],
    [
      'a glob that protects nothing',
      ['x', '--check', 'true', '--protect', '!a'],
      /exceptions with ! are not supported/,
    ],
  ])('%s', async (_, args, message) => {
    const project = repo({ 'empty.md': '\n', 'huge.md': 'x'.repeat(10_000_000) });
    const { code, stderr } = await ralph(['loop', ...args, '--agent', 'cat'], { cwd: project.dir });
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test('checks in settings that cannot be read are not asked for again', async () => {
    const project = repo();
    project.write('.ralph/settings.json', '{ "checks": ["npm test"], }');
    const { code, stderr } = await ralph(['loop', 'x', '--agent', 'cat'], { cwd: project.dir });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ralph: \.ralph\/settings\.json: is not valid JSON: /);
  });

  test('outside a repository', async () => {
    const project = folder();
    const { code, stderr } = await ralph(['loop', 'x', '--check', 'true', '--agent', 'cat'], {
      cwd: project.dir,
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/repository/);
  });

  test('a repository without a commit works', async () => {
    const project = folder();
    project.git('init', '--quiet');
    const agent = await fakeAgent('claude', writesFile('a', '1', 'x'), writesFile('b', '1', COMPLETE));
    const { code } = await loop(project, agent.bin, 'x', '--check', 'true');
    expect(code).toBe(0);
    expect(agent.calls[1]?.input).toContain('+++ b/a');
  });
});

describe('YAML', () => {
  test('sets what flags do not, under the names of seed 004', { tags: ['promise', 'P-yaml'] }, async () => {
    const project = repo({
      'ralph.yaml':
        'ralph_loop:\n  max_iterations: 7\n  max_cost: null\n  max_time: 600\n  completion_tag: "FERTIG"\n  agent: claude\n  checks:\n    - "true"\n',
    });
    project.settings({ maximumIterations: 3, maxTime: 5 });
    const agent = await fakeAgent('claude');
    const { stdout } = await ralph(
      ['loop', 'x', '-c', 'ralph.yaml', '--max-time', '60', '--dry-run', '--json'],
      { cwd: project.dir, path: [agent.bin] },
    );
    expect(JSON.parse(stdout).settings).toMatchObject({
      maximumIterations: 7,
      maxTime: 60,
      completionTag: 'FERTIG',
      agent: 'claude',
      checks: ['true'],
    });
  });

  test('that is wrong is told with its lines, all at once', async () => {
    const project = repo({
      'ralph.yaml': 'ralph_loop:\n  max_iterations: 101\n  max_iteration: 5\n  completion_tag: 7\nother: 1\n',
    });
    const { code, stderr } = await ralph(
      ['loop', 'x', '-c', 'ralph.yaml', '--check', 'true', '--agent', 'cat'],
      { cwd: project.dir },
    );
    expect(code).toBe(2);
    const said = stderr.split('\n').filter(line => line.startsWith('  - '));
    expect(said).toEqual([
      '  - ralph.yaml:2: max_iterations: must be a whole number from 1 to 100, not 101',
      '  - ralph.yaml:3: unknown setting max_iteration (did you mean max_iterations?)',
      '  - ralph.yaml:4: completion_tag: must be text that is not empty, not 7',
      '  - ralph.yaml:5: unknown setting other',
    ]);
  });

  test('that cannot be parsed names the line', async () => {
    const project = repo({ 'ralph.yaml': 'ralph_loop:\n  checks: [a\n  b: }\n' });
    const { code, stderr } = await ralph(['loop', 'x', '-c', 'ralph.yaml', '--agent', 'cat'], {
      cwd: project.dir,
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/ralph\.yaml:\d/);
  });
});

describe('in CI', () => {
  test('a JUnit file and a step summary are written', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writesFile('a', '1', 'x'));
    const args = [
      'loop',
      'x',
      '--check',
      'true',
      '--check',
      'echo "<&>"; exit 3',
      '--max-iterations',
      '1',
      '--agent',
      'claude',
      '--junit',
      'out.xml',
      '--quiet',
    ];
    const { code, stdout } = await ralph(args, {
      cwd: project.dir,
      path: [agent.bin],
      env: { GITHUB_STEP_SUMMARY: project.path('summary.md') },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Stopped: /);
    expect(project.read('out.xml')).toContain('<testsuite name="ralph" tests="2" failures="1"');
    expect(project.read('out.xml')).toContain('<failure message="exit code 3">&lt;&amp;&gt;\n</failure>');
    expect(project.read('summary.md')).toContain(
      '### Ralph\n\nStopped: the maximum number of iterations was reached.',
    );
  });
});

test('a plain command that says the promise without doing anything is not believed either', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', says(COMPLETE));
  const { code } = await ralph(
    ['loop', 'x', '--check', 'true', '--agent', 'worker', '--max-iterations', '2'],
    { cwd: project.dir, path: [agent.bin] },
  );
  expect(code).toBe(1);
});

describe('a worktree', () => {
  const committing: Handler = async turn => {
    await turn.write('feature.txt', 'made\n');
    await turn.shell('git add -A && git commit -qm feature');
    await writesFile('note.txt', 'more', COMPLETE)(turn);
  };

  test('holds the work on its own branch; the project is untouched, dirty as it was', {
    tags: ['promise', 'P-worktree'],
  }, async () => {
    const project = repo({ 'a.txt': 'a\n' });
    project.write('a.txt', 'dirty\n');
    const agent = await fakeAgent('claude', committing);
    const {
      code,
      result: told,
      stderr,
    } = await loop(project, agent.bin, 'x', '--check', 'test -e feature.txt', '--worktree', 'one');
    expect(code).toBe(0);
    expect(told).toMatchObject({
      branch: 'ralph/one',
      worktreePath: expect.stringMatching(/\.ralph\/worktrees\/one$/),
    });
    expect(agent.calls[0]?.cwd).toMatch(/\.ralph\/worktrees\/one$/);
    expect(project.git('status', '--porcelain')).toBe(' M a.txt\n?? .ralph/\n');
    expect(project.git('log', '--format=%s', 'ralph/one')).toBe('feature\nstart\n');
    expect(stderr).toContain('\nTake it over: `ralph land`\n');
    const status = await ralph(['status'], { cwd: project.dir });
    expect(status.stdout).toContain('ralph/one  1 commit to merge, changes not committed');
  });

  test('is continued by a second run of the same name, and never removed while it holds work', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', committing, writesFile('second.txt', 'x', COMPLETE));
    await loop(project, agent.bin, 'x', '--check', 'true', '--worktree', 'one');
    const { code } = await loop(
      project,
      agent.bin,
      'x',
      '--check',
      'test -e feature.txt',
      '--worktree',
      'one',
    );
    expect(code).toBe(0);
    const refused = await ralph(['cancel', '--remove', 'one'], { cwd: project.dir });
    expect(refused.code).toBe(2);
    expect(project.read('.ralph/worktrees/one/second.txt')).toBe('x');
  });

  test('that cannot be made is an error, never the live tree', async () => {
    const project = repo();
    project.write('.ralph/worktrees/one/mine.txt', 'mine');
    const agent = await fakeAgent('claude', committing);
    const { code } = await ralph(['loop', 'x', '--check', 'true', '--worktree', 'one', '--agent', 'claude'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect([code, agent.calls.length, project.read('.ralph/worktrees/one/mine.txt')]).toEqual([2, 0, 'mine']);
  });

  test('goes away when it is merged and clean', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      await turn.shell('touch f && git add f && git commit -qm f');
      await speaks(COMPLETE)(turn);
    });
    await loop(project, agent.bin, 'x', '--check', 'true', '--worktree', 'one');
    project.git('merge', '--quiet', 'ralph/one');
    const { code } = await ralph(['cancel', '--remove', 'one'], { cwd: project.dir });
    expect([code, project.git('branch', '--list', 'ralph/*')]).toEqual([0, '']);
  });
});

describe('ralph cancel', () => {
  test('ends a run from elsewhere, keeps its work, and that is its stop reason', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('worker', async turn => {
      await turn.write('work', 'kept');
      await turn.print('working\n');
    });
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    await run.until('working');
    const cancelled = await ralph(['cancel'], { cwd: project.dir });
    expect(cancelled.code).toBe(0);
    const { code, stdout } = await run.finished;
    expect([code, project.read('work')]).toEqual([1, 'kept']);
    expect(stdout).toContain('Stop reason: cancelled');
  });

  test('of a run that has ended says so', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', says('<response>DONE</response>'));
    await ralph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    const { code, stdout } = await ralph(['cancel'], { cwd: project.dir });
    expect([code, stdout]).toEqual([1, expect.stringContaining('is not running')]);
  });
});

test('skipping permissions is said loudly, and that Claude Code refuses it to root', {
  tags: ['promise', 'P-permissions'],
}, async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writesFile('a', '1', COMPLETE));
  const { stderr } = await loop(project, agent.bin, 'x', '--check', 'true');
  const said = stderr.replace(/\s+/g, ' ');
  expect(said).toContain('The agent may do everything without asking, and there is no sandbox around it.');
  expect(said.includes('set IS_SANDBOX=1 if this machine is a sandbox')).toBe(process.getuid?.() === 0);
});
