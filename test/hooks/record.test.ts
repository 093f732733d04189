/** One truth: state file, ledger, `ralph status` and `ralph session status` agree after every hook. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { openProjects } from '../../src/dashboard/projects.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { parseState } from '../../src/store/session-file.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';

async function hook(project: Repo, event: string, more: object = {}, given: Record<string, string> = {}) {
  const input = JSON.stringify({ session_id: 's1', prompt_id: 'p1', cwd: project.dir, ...more });
  const env = { CLAUDE_PROJECT_DIR: project.dir, ...given };
  const { stdout } = await ralph(['hook', 'claude', event], { cwd: project.dir, env, input });
  return stdout === '' ? {} : JSON.parse(stdout);
}

const start = (project: Repo, args: string) =>
  hook(project, 'UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args: args });
const stop = (project: Repo, said: string) => hook(project, 'Stop', { last_assistant_message: said });
const tool = (project: Repo) =>
  hook(project, 'PreToolUse', { tool_name: 'Glob', tool_input: { pattern: '*' } });

async function status(project: Repo) {
  const { stdout } = await ralph(['status', '--json'], { cwd: project.dir });
  return JSON.parse(stdout).runs.at(-1);
}

async function agree(project: Repo, iteration: number) {
  expect(parseState(project.read(STATE))).toMatchObject({ active: true, iteration });
  expect(await status(project)).toMatchObject({ state: 'running', iteration, command: 'session' });
  expect((await ralph(['session', 'status'], { cwd: project.dir })).stdout).toContain(
    `iteration ${iteration}`,
  );
}

test('a loop from its start to its promise', async () => {
  const project = repo();
  await start(project, 'Fix it --completion-promise DONE --check true --max-iterations 9');
  await agree(project, 1);
  await tool(project);
  await stop(project, 'not yet');
  await agree(project, 2);
  await tool(project);
  await tool(project);
  await stop(project, 'not yet');
  await agree(project, 3);
  await stop(project, DONE);
  expect(await status(project)).toMatchObject({
    state: 'done',
    iteration: 3,
    stopReason: 'promise_accepted',
  });
  const { stdout } = await ralph(['report', '--format', 'json'], { cwd: project.dir });
  const { view } = JSON.parse(stdout);
  expect(view.iterations.map(({ toolCalls }: { toolCalls: number }) => toolCalls)).toEqual([1, 2, 0]);
  expect(view.seconds.agent).toBeGreaterThan(0);
  const events = (await ralph(['log', '--json'], { cwd: project.dir })).stdout.trimEnd().split('\n');
  const { result } = JSON.parse(events.at(-1) ?? '');
  expect(result.iterations).toMatchObject([
    { iteration: 1, toolCalls: 1, completionTagFound: false },
    { iteration: 2, toolCalls: 2, completionTagFound: false },
    { iteration: 3, toolCalls: 0, completionTagFound: true, checkResults: [{ name: 'true', passed: true }] },
  ]);
  expect(result.iterations[0].duration).toBeGreaterThan(0);
  expect(result.proof.level).toBe('place');
});

test('a loop that is cancelled says so, at once and for good', { tags: 'promise' }, async () => {
  const project = repo();
  await start(project, 'Fix it --completion-promise DONE');
  await stop(project, 'not yet');
  await ralph(['session', 'cancel'], { cwd: project.dir });
  expect(await status(project)).toMatchObject({ state: 'stopped', stopReason: 'cancelled', iteration: 1 });
  const { stdout } = await ralph(['explain'], { cwd: project.dir });
  expect(stdout).toContain('cancelled');
});

/** As if its last hook had been a while ago. */
function age(project: Repo) {
  const { session } = projectPaths(project.dir).state();
  const folder = session('ralph-loop.local.md');
  for (const name of readdirSync(folder)) utimesSync(`${folder}/${name}`, 1, 1);
}

test.each(['ralph status', 'ralph session status', 'the next command', 'the next stop'])(
  'a loop whose file was deleted is cancelled, says %s, and does not come back with its file',
  async looker => {
    const project = repo();
    await start(project, 'Fix it --completion-promise DONE');
    await stop(project, 'not yet');
    const text = project.read(STATE);
    rmSync(project.path(STATE));
    // One that has just begun may have no file yet.
    expect(await status(project)).toMatchObject({ state: 'running' });
    age(project);
    if (looker === 'ralph session status')
      expect((await ralph(['session', 'status'], { cwd: project.dir })).stdout).toContain(
        'No in-session loop',
      );
    if (looker === 'the next command')
      await hook(project, 'UserPromptExpansion', { command_name: 'ralph:help', command_args: '' });
    if (looker === 'the next stop') await stop(project, 'x');
    expect(await status(project)).toMatchObject({ state: 'stopped', stopReason: 'cancelled', iteration: 1 });
    project.write(STATE, text);
    expect((await stop(project, 'x')).systemMessage).toContain('Nothing in it is obeyed');
  },
);

test('a loop that takes the place of another ends that one', async () => {
  const project = repo();
  await start(project, 'one');
  await start(project, 'two');
  const { stdout } = await ralph(['status', '--json'], { cwd: project.dir });
  const runs = JSON.parse(stdout).runs.map(({ state, stopReason }: Record<string, string>) => [
    state,
    stopReason,
  ]);
  expect(runs.sort()).toEqual([
    ['running', null],
    ['stopped', 'cancelled'],
  ]);
});

test.each(['its ledger', 'the folder of its run', 'all of .ralph'])(
  'a loop that lost %s in the project holds nobody up, keeps its count and its ledger, and ends by its promise',
  async what => {
    const project = repo();
    await start(project, 'Fix it --completion-promise DONE --min-tool-calls 0');
    await stop(project, 'not yet');
    const { id } = await status(project);
    const gone: Record<string, string> = {
      'its ledger': `.ralph/runs/${id}/events.jsonl`,
      'the folder of its run': `.ralph/runs/${id}`,
    };
    rmSync(project.path(gone[what] ?? '.ralph'), { recursive: true });
    expect(await stop(project, 'not yet')).toMatchObject({ decision: 'block' });
    expect(parseState(project.read(STATE))).toMatchObject({ active: true, iteration: 3 });
    expect(await status(project)).toMatchObject({
      state: 'running',
      iteration: 3,
      ledger: { kind: 'intact' },
    });
    expect((await stop(project, DONE)).systemMessage).toContain('after 3 iteration(s). PROMISE_ACCEPTED');
    const ended = { state: 'done', stopReason: 'promise_accepted', ledger: { kind: 'intact' } };
    expect(await status(project)).toMatchObject(ended);
    const { events, mirror } = runPaths(projectPaths(project.dir), id);
    expect(readFileSync(mirror.events, 'utf8')).toBe(readFileSync(events, 'utf8'));
  },
);

test('an agent that is blocked ends the loop with its reason', async () => {
  const project = repo();
  await start(project, 'Fix it --completion-promise DONE');
  const answer = await stop(project, 'I cannot.\n<blocked>The API key is missing</blocked>');
  expect(answer).toEqual({ systemMessage: expect.stringContaining('blocked: The API key is missing') });
  expect(await status(project)).toMatchObject({ state: 'stopped', stopReason: 'blocked' });
});

/** A host that can be closed. */
async function host() {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const close = async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
  return { env: { CLAUDE_PID: String(child.pid) }, close };
}

test('a loop whose host was closed is closed for every reader, nothing of it is lost, and it continues where its session is opened', async () => {
  const project = repo();
  const first = await host();
  const loop = { command_name: 'ralph:ralph-loop', command_args: 'Fix it --completion-promise DONE' };
  await hook(project, 'UserPromptExpansion', loop, first.env);
  await hook(project, 'Stop', { last_assistant_message: 'not yet' }, first.env);
  const before = [project.read(STATE), (await ralph(['log', '--json'], { cwd: project.dir })).stdout];
  await first.close();
  const shown = async (...words: readonly string[]) => (await ralph(words, { cwd: project.dir })).stdout;
  expect(await status(project)).toMatchObject({ state: 'closed', iteration: 2, stopReason: null });
  for (const words of [['status'], ['session', 'status'], ['explain'], ['show']]) {
    const text = (await shown(...words)).replace(/\s+/g, ' ');
    expect(text, words.join()).toContain('`ralph continue-here`');
    expect(text, words.join()).not.toMatch(/crashed|cut off|ralph resume/i);
  }
  const { sessions } = JSON.parse(await shown('session', 'status', '--json'));
  expect(sessions).toMatchObject([{ standing: 'closed', state: { iteration: 2, active: true } }]);
  const [listed] = (await openProjects([project.dir], process.env).list())[0]?.runs ?? [];
  expect(listed).toMatchObject({ state: 'closed', now: 'closed' });
  expect(JSON.parse(await shown('report', '--format', 'json'))).toMatchObject({ state: 'closed' });
  await shown('prune', '--keep', '0');
  expect([project.read(STATE), await shown('log', '--json')]).toEqual(before);
  const second = await host();
  await hook(project, 'SessionStart', { source: 'resume' }, second.env);
  await agree(project, 2);
  const woken = await hook(project, 'UserPromptExpansion', { ...loop, command_args: '' }, second.env);
  expect(woken.systemMessage).toContain('resumed at iteration 2');
});

test('the process that a loop lives in is the host, not a shell that ends with the hook', async () => {
  const project = repo();
  const input = { session_id: 's1', cwd: project.dir, command_name: 'ralph:ralph-loop', command_args: 'x' };
  project.write('input.json', JSON.stringify(input));
  const { testEnv, BIN } = await import('../rig/ralph.ts');
  const { execFileSync } = await import('node:child_process');
  const env = { ...testEnv({}), CLAUDE_PROJECT_DIR: project.dir };
  // As a host does it: a shell in a shell, both gone a moment later.
  const line = `sh -c '"$NODE" "$BIN" hook claude UserPromptExpansion < input.json; true'; true`;
  execFileSync('bash', ['-c', line], { cwd: project.dir, env: { ...env, NODE: process.execPath, BIN } });
  expect(await status(project)).toMatchObject({ state: 'running' });
});

test('the state file stays out of `git add --all`, and what else is excluded stays as it was', async () => {
  const project = repo();
  project.write('.git/info/exclude', '# mine\nsecret.txt');
  await start(project, 'x');
  await start(project, 'x');
  project.git('add', '--all');
  expect(project.git('status', '--porcelain')).not.toContain('.claude');
  expect(project.read('.git/info/exclude')).toBe('# mine\nsecret.txt\n**/.claude/ralph-loop*.local.md\n');
});

test('in a worktree the same, by the list that all of them share; a .git that leads elsewhere is left alone', async () => {
  const project = repo();
  project.git('worktree', 'add', '--quiet', 'tree');
  const tree = { ...project, dir: project.path('tree') };
  await start(tree, 'x');
  expect(project.read('.git/info/exclude')).toContain('ralph-loop');
  const trap = repo();
  trap.write('elsewhere/info/exclude', '');
  trap.write('elsewhere/HEAD', '');
  trap.write('sub/.git', 'gitdir: ../elsewhere\n');
  await start({ ...trap, dir: trap.path('sub') }, 'x');
  expect(trap.read('elsewhere/info/exclude')).toBe('');
});
