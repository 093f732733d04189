import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BIN, ralph, testEnv } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

describe('the demo', () => {
  test('fixes a really broken project, does not believe the first claim, and commits', {
    tags: ['promise', 'P-demo'],
  }, async () => {
    const { dir, path } = folder();
    mkdirSync(path('tmp'));
    const { code, stdout, stderr } = await ralph(['demo', '--pace', '0', '--json'], {
      cwd: dir,
      env: { TMPDIR: path('tmp') },
    });
    expect(code).toBe(0);
    const told = JSON.parse(stdout);
    expect(
      told.iterations.map((each: { completionTagFound: boolean; allChecksPassed: boolean }) => [
        each.completionTagFound,
        each.allChecksPassed,
      ]),
    ).toEqual([
      [true, false],
      [true, true],
    ]);
    const made = /failing tests: (.*)\n/.exec(stderr)?.[1] ?? '';
    const inDemo = (command: string, ...args: string[]) =>
      execFileSync(command, args, { cwd: made, encoding: 'utf8', env: testEnv({}) });
    expect(inDemo('git', 'log', '--format=%s')).toBe(
      'Count quantities and round discounts to whole cents\nA cart with two bugs\n',
    );
    expect(inDemo('git', 'status', '--porcelain', '--', ':!.ralph')).toBe('');
    expect(inDemo('git', 'diff', '--stat', 'HEAD~1')).toContain(
      '1 file changed, 2 insertions(+), 2 deletions(-)',
    );
    expect(inDemo(process.execPath, '--test')).toMatch(/^(#|ℹ) pass 2$/m);
    expect(() =>
      inDemo('sh', '-c', 'git stash --quiet --include-untracked; git checkout --quiet HEAD~1 && node --test'),
    ).toThrow();
  });

  test('shows a live line at the bottom of a terminal and leaves the terminal clean', async () => {
    const { dir, path } = folder();
    mkdirSync(path('tmp'));
    const command = `stty cols 60 rows 20; '${process.execPath}' '${BIN}' demo --pace 20`;
    const child = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: dir,
      env: testEnv({ env: { TERM: 'xterm-256color', TMPDIR: path('tmp') } }),
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', chunk => {
      screen += chunk;
    });
    const code = await new Promise(resolve => child.on('close', resolve));
    expect(code).toBe(0);
    expect(screen).toMatch(/Iteration 1\/5 · /);
    expect(screen).toMatch(/Iteration 2\/5 · .*\$0\.0/);
    expect(screen.split('\n').at(-2)).toContain('init -C YOUR-PROJECT');
    // Whatever was switched off for the live line is on again at the end.
    expect(screen.lastIndexOf('\u001b[?7h')).toBeGreaterThan(screen.lastIndexOf('\u001b[?7l'));
  });
});

describe('shell completion', () => {
  test('of bash offers commands and the flags of a command', async () => {
    const { dir, write } = folder();
    const { code, stdout } = await ralph(['completion', 'bash'], { cwd: dir });
    expect(code).toBe(0);
    write('completion.bash', stdout);
    const complete = (...words: string[]) => {
      const script = `ralph() { '${process.execPath}' '${BIN}' "$@"; }; . ./completion.bash; COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _ralph; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const env = testEnv({});
      return execFileSync('bash', ['-c', script], { cwd: dir, env, encoding: 'utf8' }).trim().split('\n');
    };
    expect(complete('ralph', 'st')).toEqual(['status']);
    expect(complete('ralph', 'run', '--maximum')).toEqual(['--maximum-iterations']);
    expect(complete('ralph', 'log', '--fol')).toEqual(['--follow']);
  });

  test.each(['zsh', 'fish'])('of %s asks Ralph what may come next', async shell => {
    const { dir } = folder();
    const { code, stdout } = await ralph(['completion', shell], { cwd: dir });
    expect([code, stdout]).toEqual([0, expect.stringContaining('ralph completion words -- ')]);
  });

  test.each([
    [[''], ['demo\twatch a loop', 'completion\tprint', '--version\t']],
    [
      ['-C', '/', 'prd', ''],
      ['archive\tmove a finished list', '--help\thelp'],
    ],
    [
      ['prd', 'run', '--'],
      ['-n\tStop after', '--max-iterations\tStop after', '--review-cap\t'],
    ],
    [['run', '--permissions', ''], ['skip\nhost\n']],
  ])('after %j offers each word with what it means', async (typed, offered) => {
    const { code, stdout } = await ralph(['completion', 'words', '--', ...typed], { cwd: folder().dir });
    expect([code, stdout]).toEqual([0, expect.any(String)]);
    for (const each of offered) expect(stdout).toContain(each);
  });

  test.each([
    ['run', '--prompt-file', ''],
    ['nothing', ''],
  ])('after %s %s leaves it to the shell', async (...typed) => {
    const { code, stdout } = await ralph(['completion', 'words', '--', ...typed], { cwd: folder().dir });
    expect([code, stdout]).toEqual([1, '']);
  });

  test('of another shell is refused', async () => {
    const { dir } = folder();
    const { code, stderr } = await ralph(['completion', 'tcsh'], { cwd: dir });
    expect([code, stderr]).toEqual([
      2,
      'ralph: tcsh: there is no completion for this shell (bash, zsh or fish)\n',
    ]);
  });
});

describe('help', () => {
  test.each([
    ['--help'],
    ['-h'],
    ['help'],
    ['run', '--help'],
    ['help', 'run'],
    ['log', '-h'],
    ['--version'],
    ['-v'],
  ])('%s answers outside a repository with exit code 0', async (...args) => {
    const { dir } = folder();
    const { code, stdout, stderr } = await ralph(args, { cwd: dir });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.length).toBeGreaterThan(4);
  });

  test('of every command has examples', async () => {
    const { dir } = folder();
    for (const name of ['run', 'init', 'status', 'log', 'demo', 'completion']) {
      expect((await ralph([name, '--help'], { cwd: dir })).stdout).toContain('Examples:');
    }
  });
});
