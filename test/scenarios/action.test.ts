/** The GitHub Action, run by a stand-in for GitHub's runner: nothing an agent prints or writes is obeyed, and outputs always come. */
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { init, result, text } from '../rig/claude-stream.ts';
import { type FakeTurn, fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { isThere } from '../rig/processes.ts';
import { ralph, testEnv } from '../rig/ralph.ts';
import { releaseRepo } from '../rig/release.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { COMMANDS, type Given, obeyedIn, startAction } from '../rig/runner.ts';

const COMPLETE = '<promise>COMPLETE</promise>';
const OUTPUTS = ['result', 'run-id', 'stop-reason', 'cost', 'report', 'bundle'];

const speaks =
  (...words: readonly string[]): Handler =>
  async turn => {
    await turn.line(init);
    for (const each of words) await turn.line(text(each));
    await turn.write('a', '1');
    await turn.line(result());
    turn.exit();
  };

interface Set {
  readonly project: Repo;
  readonly bin: string;
  readonly inputs?: Given['inputs'];
  readonly env?: Readonly<Record<string, string>>;
  readonly action?: string;
}

function start({ project, bin, inputs = {}, env = {}, action }: Set) {
  const temp = folder('ralph-temp-').dir;
  const given = { task: 'x', checks: 'test -e a', agent: 'claude', ...inputs };
  const step = startAction({
    ...(action && { action }),
    cwd: project.dir,
    temp,
    env: testEnv({
      path: [bin],
      env: { GITHUB_TOKEN: 'ghs_jobs_own_token', ACTIONS_RUNTIME_TOKEN: 'rt', ...env },
    }),
    inputs: given,
  });
  return { temp, step };
}

/** Every command, in both forms, behind all that may stand before one. */
const ATTACKS = COMMANDS.flatMap(name =>
  ['', ' ', '\t', '\u00a0', '\u0085', '\r', 'text ', '\u001b[31m', '\ufeff', '\u200b'].flatMap(before => [
    `${before}::${name} name=x::y`,
    `${before}##[${name} name=x]y`,
    `${before}::${name.toUpperCase()}::y`,
  ]),
);

test('an agent that prints every command there is: none is obeyed', async () => {
  expect(
    new Set(obeyedIn(ATTACKS.filter(line => !/stop-commands/i.test(line)).join('\n'))).size,
  ).toBeGreaterThan(20);
  const project = repo();
  const pieces = ['\n:', ':add-mask::x\n#', '#[error]y\n##', '[group]z\n'];
  const agent = await fakeAgent('claude', async turn => {
    await turn.printError(ATTACKS.join('\n'));
    await speaks(ATTACKS.join('\n'), ...pieces, COMPLETE)(turn);
  });
  const inputs = { checks: `printf '${'::set-env name=a::b'}\\n##[error]x\\n'; test -e a` };
  const { code, log, obeyed, files } = await start({ project, bin: agent.bin, inputs }).step.finished;
  expect([code, obeyed]).toEqual([0, ['stop-commands']]);
  expect(log).toContain('add-mask');
  // Neither where Ralph prints by itself, in a step of the user's own.
  const own = await ralph(['log'], { cwd: project.dir, env: { GITHUB_ACTIONS: 'true' } });
  expect(obeyedIn(own.stdout + own.stderr)).toEqual([]);
  expect(files.GITHUB_ENV).toBe('');
});

test('inputs are data, the agent has none of the job’s files and tokens, and the result is handed on', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', speaks(COMPLETE));
  const inputs = {
    task: `--it's "$(touch pwned)" hard`,
    checks: 'true\n  test -e a\n',
    'max-iterations': '3',
    'mutate-min': '50',
    args: '--strict\n--check-timeout=99',
    'keep-env': 'KEPT_BY_NAME\nACTIONS_CACHE_URL',
  };
  const env = { KEPT_BY_NAME: '1', ACTIONS_CACHE_URL: 'kept', ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'secret' };
  const { code, outputs, files } = await start({ project, bin: agent.bin, inputs, env }).step.finished;
  expect(code).toBe(0);
  const [called] = agent.calls;
  expect(called?.input).toMatch(/^--it's "\$\(touch pwned\)" hard\n/);
  const named = Object.keys(called?.env ?? {}).filter(name =>
    /^(GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY|TOKEN)|ACTIONS_.*|INPUT_.*|RALPH_ACTION_.*|KEPT_.*)$/.test(
      name,
    ),
  );
  expect(named.sort()).toEqual(['ACTIONS_CACHE_URL', 'KEPT_BY_NAME']);
  expect(Object.keys(outputs)).toEqual(OUTPUTS);
  expect(outputs).toMatchObject({
    'stop-reason': 'all_checks_passed',
    'run-id': JSON.parse(outputs.result ?? '').runId,
  });
  expect(files.GITHUB_STEP_SUMMARY).toContain('test -e a');
  expect(readFileSync(outputs.report ?? '', 'utf8')).toContain('<html');
  const { claims } = JSON.parse(
    (await ralph(['verify', outputs.bundle ?? '', '--json'], { cwd: project.dir })).stdout,
  );
  const states = claims.map(({ claim, state }: Record<string, string>) => [claim, state]);
  expect(Object.fromEntries(states)).toMatchObject({ envelope: 'holds', content: 'holds', result: 'holds' });
  expect(() => project.read('pwned')).toThrow();
});

test.each([
  ['written into', `for file in *; do echo 'NODE_OPTIONS=--require=/tmp/evil' >> "$file"; done`],
  ['replaced', 'rm github_env github_path; ln -s /dev/null github_env; mkdir github_path'],
  ['removed with all around them', 'cd / && rm -r "$OLDPWD"/..'],
])('the files of the runner, %s by an agent, hold what is ours when the step is over', async (_, attack) => {
  const project = repo();
  let temp = '';
  const agent = await fakeAgent('claude', async (turn: FakeTurn) => {
    await turn.shell(`cd '${join(temp, '_runner_file_commands')}' && ${attack}`);
    await speaks(COMPLETE)(turn);
  });
  const started = start({ project, bin: agent.bin });
  temp = started.temp;
  const { code, files, outputs } = await started.step.finished;
  expect([code, files.GITHUB_ENV, files.GITHUB_PATH, files.GITHUB_STATE]).toEqual([0, '', '', '']);
  expect(Object.keys(outputs)).toEqual(OUTPUTS);
  expect(files.GITHUB_STEP_SUMMARY).not.toContain('evil');
});

test('a cancelled job: nothing is left, and the outputs are written', async () => {
  const project = repo();
  const { open: working, opened: isWorking } = createGate();
  let helper = 0;
  const agent = await fakeAgent('claude', async turn => {
    await turn.ignore('SIGTERM');
    helper = await turn.background('sleep 1000', { detached: true });
    await turn.line(init);
    working();
  });
  const { step } = start({ project, bin: agent.bin });
  await isWorking;
  step.process.kill('SIGTERM');
  const { code, outputs, obeyed } = await step.finished;
  expect([code, outputs['stop-reason'], obeyed]).toEqual([130, 'interrupted', ['stop-commands']]);
  expect(Object.keys(outputs)).toEqual(OUTPUTS);
  expect(outputs['run-id']).not.toBe('');
  expect([helper, agent.calls[0]?.pid ?? 0].map(pid => isThere(pid))).toEqual([false, false]);
});

test.each([
  ['bad input', { checks: 'true', 'max-iterations': 'many' }, 'invalid_config', 2],
  ['no agent', { agent: 'no-such-agent' }, 'invalid_config', 2],
])('%s: the outputs are written', async (_, inputs, reason, status) => {
  const agent = await fakeAgent('claude', speaks('x'));
  const { code, outputs } = await start({ project: repo(), bin: agent.bin, inputs }).step.finished;
  expect([code, outputs['stop-reason'], Object.keys(outputs)]).toEqual([status, reason, OUTPUTS]);
});

test('from the tag of a release it runs with nothing installed', async () => {
  const released = releaseRepo();
  expect(released.release()).toMatchObject({ code: 0 });
  const tag = folder('ralph-tag-').dir;
  released.git('worktree', 'add', '--quiet', '--detach', join(tag, 'v0'), 'release');
  const agent = await fakeAgent('claude', speaks(COMPLETE));
  const started = start({ project: repo(), bin: agent.bin, action: join(tag, 'v0') });
  const { code, outputs, log } = await started.step.finished;
  expect([code, outputs['stop-reason']], log).toEqual([0, 'all_checks_passed']);
  expect([outputs.report, outputs.bundle]).not.toContain('');
});

test('from the source instead of a release it says what to do', async () => {
  const source = folder('ralph-source-');
  for (const name of ['action.yml', 'scripts'])
    symlinkSync(join(import.meta.dirname, '../..', name), source.path(name));
  source.write('.keep', '');
  const { code, log } = await startAction({
    action: source.dir,
    cwd: source.dir,
    temp: folder('ralph-temp-').dir,
    env: { ...testEnv({}), NODE_OPTIONS: '--preserve-symlinks --preserve-symlinks-main' },
    inputs: { checks: 'true' },
  }).finished;
  expect([code, log]).toEqual([2, expect.stringContaining('::error::This is the source of Ralph')]);
});
