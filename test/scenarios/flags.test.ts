/** The flags that people type, the help that they read, and what their shell completes. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';

async function planned(args: readonly string[], input?: string) {
  const agent = await fakeAgent('claude', says(''));
  const world = { cwd: repo().dir, path: [agent.bin], ...(input !== undefined && { input }) };
  const ended = await ralph([...args, '--agent', 'claude', '--dry-run', '--json'], world);
  return { ...ended, plan: ended.code === 0 ? JSON.parse(ended.stdout) : undefined };
}

describe('a flag is accepted', () => {
  test.each([
    [['run', '-p', 'x', '--max-iterations', '3'], { maximumIterations: 3 }],
    [['loop', 'x', '--check', 'true', '--maximum-iterations', '3'], { maximumIterations: 3 }],
    [
      ['run', '-p', 'x', '--max-time', '1h30m', '--max-tokens', '2M'],
      { maxTime: 5400, maxTokens: 2_000_000 },
    ],
    [['loop', 'x', '--check', 'true', '--max-tokens', '500k'], { maxTokens: 500_000 }],
    [['run', '-p', 'x', '-m', '7', '--model', 'opus'], { maximumIterations: 7, model: 'opus' }],
  ])('%j', async (args, settings) => {
    expect((await planned(args)).plan?.settings).toMatchObject(settings);
  });

  test.each([
    ['run -f -', ['run', '-f', '-']],
    ['loop -', ['loop', '-', '--check', 'true']],
  ])('`ralph %s` reads its task from stdin', async (_, args) => {
    expect((await planned(args, 'From a pipe\n')).plan?.prompt).toContain('From a pipe');
  });
});

test('a prompt that a shell pipes in needs no flag', async () => {
  const agent = await fakeAgent('claude', says(''));
  const project = repo();
  const command = `echo 'From a pipe' | '${process.execPath}' '${BIN}' run --agent claude --dry-run --json`;
  const env = testEnv({ path: [agent.bin] });
  const stdout = execFileSync('sh', ['-c', command], { cwd: project.dir, env, encoding: 'utf8' });
  expect(JSON.parse(stdout).prompt).toBe('From a pipe\n');
});

test('what came on stdin is still there when the run is resumed', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', says('not yet'));
  const world = { cwd: project.dir, path: [agent.bin], input: 'From a pipe <response>\n' };
  await ralph(['run', '-f', '-', '--agent', 'worker', '-m', '1'], world);
  await ralph(['resume', '--max-iterations', '2'], { ...world, input: '' });
  expect(agent.calls[1]?.input).toContain('From a pipe');
});

test.each([
  [['run', '--mutate'], '--mutate is a flag of `ralph loop`, `ralph prd run`'],
  [['status', '--follow'], '--follow is a flag of `ralph fleet logs`, `ralph log`'],
  [
    ['prd', 'run', '-m', '5'],
    '--model: must be the name of a model, not "5" (did you mean --max-iterations 5?)',
  ],
  [['loop', 'x', '--model', '25', '--check', 'true'], '(did you mean --max-iterations 25?)'],
  [
    ['loop', 'x', '--fallback', 'cat:3', '--agent', 'cat', '--check', 'true'],
    '(did you mean --max-iterations 3?)',
  ],
  [['run', '-p', 'x', '-m', 'opus'], '(-m is the number of iterations here; for a model: --model opus)'],
  [['run', '--max-iteration', '3'], 'Did you mean --max-iterations?'],
  [['run', '-f', '-'], 'stdin: the prompt is empty'],
])('%j is refused, with what was meant', async (args, words) => {
  const { code, stderr } = await ralph(args, { cwd: repo().dir });
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
});

describe('help', () => {
  test.each([[[]], [['run']], [['loop']], [['prd', 'run']]])(
    'of %j fits a screen, in groups, and `--help all` has the rest',
    async args => {
      const { dir } = folder();
      const [short, all] = await Promise.all(
        [['--help'], ['--help', 'all']].map(flags => ralph([...args, ...flags], { cwd: dir })),
      );
      expect([short?.code, all?.code]).toEqual([0, 0]);
      expect(short?.stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
      expect(all?.stdout.length).toBeGreaterThan(short?.stdout.length ?? 0);
      const groups = [...(short?.stdout.matchAll(/^(Task|Checks|Agent|Limits|Options):$/gm) ?? [])].map(
        ([, name]) => name,
      );
      expect(groups.length === 0 || groups.join()).toBe(
        args.length === 0 || 'Task,Checks,Agent,Limits,Options',
      );
      expect(short?.stdout).toContain(`${['ralph', ...args].join(' ')} --help all`);
    },
  );
});

test('bash completes values and the ids of runs', async () => {
  const { dir, write } = folder();
  const { id } = writeRun(dir, { iterations: 1, ends: 'stuck' });
  const world = { cwd: dir };
  write('completion.bash', (await ralph(['completion', 'bash'], world)).stdout);
  const complete = (...words: string[]) => {
    const script = `ralph() { '${process.execPath}' '${BIN}' "$@"; }; . ./completion.bash; COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _ralph; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = testEnv({});
    return execFileSync('bash', ['-c', script], { cwd: dir, env, encoding: 'utf8' }).trim().split('\n');
  };
  expect(complete('ralph', 'loop', '--agent', 'cod')).toEqual(['codex']);
  expect(complete('ralph', 'loop', '--proof', '')).toEqual(['place', 'clean', 'sealed']);
  expect(complete('ralph', 'report', '--format', 's')).toEqual(['sarif']);
  expect(complete('ralph', 'explain', id.slice(0, 6))).toEqual([id]);
});

test.each([
  ['agents.fast.model', 5, { agents: { fast: { command: 'cat', model: 5 } } }],
  ['agent.model', '7', { agent: { command: 'cat', model: '7' } }],
  ['model', 12, { model: 12 }],
])('%s in the settings is no number of iterations: %j', async (where, value, settings) => {
  const project = repo();
  project.settings(settings);
  const { code, stderr } = await ralph(['run', '-p', 'x'], { cwd: project.dir });
  const fix = `(did you mean "maximumIterations": ${value}?)`;
  const words = `${where}: must be the name of a model, not ${JSON.stringify(value)} ${fix}`;
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
});
