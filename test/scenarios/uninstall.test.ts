/** `ralph uninstall`: what Ralph has put on a machine goes, and nothing of the user's does. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { statePaths } from '../../src/store/state.ts';
import { speaks } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const DONE = '<promise>COMPLETE</promise>';
const writes: Handler = async turn => {
  await turn.write('made.txt', 'made\n');
  return speaks(DONE)(turn);
};

interface Machine {
  readonly home: string;
  readonly project: Repo;
  run(...args: readonly string[]): ReturnType<typeof ralph>;
  /** What Claude Code would say to the hook. */
  hook(event: string, input?: Readonly<Record<string, string>>): ReturnType<typeof ralph>;
}

async function machine(): Promise<Machine> {
  const home = folder().dir;
  const project = repo({ 'a.txt': 'a\n' });
  const agent = await fakeAgent('claude', writes, writes);
  const env = { HOME: home, XDG_STATE_HOME: join(home, '.local/state') };
  const run = (...args: readonly string[]) => ralph(args, { cwd: project.dir, path: [agent.bin], env });
  const hook = (event: string, input = {}) =>
    ralph(['hook', 'claude', event], {
      cwd: project.dir,
      env: { ...env, CLAUDE_PROJECT_DIR: project.dir },
      input: JSON.stringify({ session_id: 's1', prompt_id: 'p1', cwd: project.dir, ...input }),
    });
  return { home, project, run, hook };
}

/** Every file below, apart from empty folders. */
function filesIn(top: string): readonly string[] {
  const all = readdirSync(top, { recursive: true, withFileTypes: true });
  return all.filter(entry => !entry.isDirectory()).map(entry => join(entry.parentPath, entry.name));
}

const LOOP = ['loop', 'Make it', '--agent', 'claude', '--check', 'test -e made.txt', '--quiet'];

describe('--all', () => {
  test('leaves nothing in the home, and nothing in a project but what is the user’s', {
    tags: ['promise', 'P-uninstall'],
  }, async () => {
    const { home, project, run } = await machine();
    expect((await run(...LOOP)).code).toBe(0);
    expect(filesIn(home).length).toBeGreaterThan(0);
    const shown = await run('uninstall', '--all', '--dry-run');
    expect(shown.stdout).toContain('1 run');
    expect(shown.stdout).toContain(join(home, '.local/state/ralph'));
    expect(existsSync(project.path('.ralph/runs'))).toBe(true);
    const done = await run('uninstall', '--all');
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toContain('npm uninstall -g');
    expect(filesIn(home)).toEqual([]);
    expect(existsSync(project.path('.ralph'))).toBe(false);
    expect(project.read('made.txt')).toBe('made\n');
  });

  test('settings stay, and are named', async () => {
    const { project, run } = await machine();
    project.settings({ guardrails: [{ command: 'true' }] });
    expect((await run(...LOOP)).code).toBe(0);
    const { stdout } = await run('uninstall', '--all');
    expect(existsSync(project.path('.ralph/settings.json'))).toBe(true);
    expect(existsSync(project.path('.ralph/runs'))).toBe(false);
    expect(stdout).toContain('your settings are in it');
  });

  test('work that is nowhere else stays with all that is needed to take it over', async () => {
    const { home, project, run } = await machine();
    expect((await run(...LOOP, '--worktree=w')).code).toBe(0);
    const kept = await run('uninstall', '--all');
    expect(kept.code).toBe(1);
    expect(kept.stdout).toContain('.ralph/worktrees/w');
    expect(existsSync(project.path('.ralph/worktrees/w/made.txt'))).toBe(true);
    const landed = await run('land');
    expect(landed.code, landed.stderr).toBe(0);
    expect((await run('uninstall', '--all')).code).toBe(0);
    expect(filesIn(home)).toEqual([]);
    expect(project.read('made.txt')).toBe('made\n');
  });

  test('loops in sessions go with what they have left, also where nothing else of Ralph ever was; not while one lives', async () => {
    const { home, project, run, hook } = await machine();
    const before = filesIn(project.dir).filter(path => !path.includes('.git/'));
    const excluded = project.read('.git/info/exclude');
    await hook('UserPromptExpansion', {
      command_name: 'ralph:ralph-loop',
      command_args: 'Make it --completion-promise DONE',
    });
    expect((await run('status', '--all')).stdout).toContain('Make it');
    await hook('Stop');
    expect((await run('status')).stdout).toContain('paused');
    const refused = await run('uninstall', '--all');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('still running')]);
    expect((await run('session', 'cancel')).code).toBe(0);
    expect((await run('session', 'start', '--session', 'next', 'More')).code).toBe(0);
    expect(project.read('.git/info/exclude')).not.toBe(excluded);
    const done = await run('uninstall', '--all');
    expect(done.code, done.stderr).toBe(0);
    expect(filesIn(home)).toEqual([]);
    expect(filesIn(project.dir).filter(path => !path.includes('.git/'))).toEqual(before);
    expect([existsSync(project.path('.claude')), project.read('.git/info/exclude')]).toEqual([
      false,
      excluded,
    ]);
  });

  test('what is the user’s is named, with what removes it: a story list, a file of a loop that a stranger started', async () => {
    const { project, run } = await machine();
    expect((await run('prd', 'init')).code).toBe(0);
    project.write('.claude/ralph-loop.x.local.md', 'theirs');
    expect((await run(...LOOP)).code).toBe(0);
    const { stdout } = await run('uninstall', '--all');
    expect(stdout).toContain(`${project.path('ralph')}: your story lists; rm -r `);
    expect(stdout).toContain(project.path('.claude/ralph-loop.x.local.md'));
    expect(stdout).toContain('.ralph-active');
    expect(existsSync(project.path('ralph/tasks.json'))).toBe(true);
  });

  test('--dry-run says what would go and what would stay, as it is then', async () => {
    const { project, run } = await machine();
    project.settings({});
    expect((await run(...LOOP, '--worktree=w')).code).toBe(0);
    // What is compiled meanwhile makes the state folder larger.
    const uninstall = async (...args: readonly string[]) =>
      JSON.parse((await run('uninstall', '--all', '--json', ...args)).stdout.replace(/, [\d.]+ [KM]B/g, ''));
    const first = await uninstall('--dry-run');
    expect(first.left.join('\n')).toContain('not committed');
    expect(await uninstall()).toEqual(first);
    expect((await run('discard')).code).toBe(0);
    const { left, chosen } = await uninstall('--dry-run');
    expect(left.join('\n')).toContain('your settings are in it');
    expect(existsSync(project.path('.ralph/runs'))).toBe(true);
    expect(await uninstall()).toEqual({ removed: chosen, chosen, left });
  });

  test('what it did not put there stays: a folder of the user’s, a worktree that git does not know any more', async () => {
    const { project, run } = await machine();
    expect((await run(...LOOP)).code).toBe(0);
    const theirs = [
      '.ralph/worktrees/mine/notes.txt',
      '.ralph/worktrees/w.incomplete-1/work.txt',
      '.ralph/context/notes.md',
      '.ralph/prompt_review.md',
    ];
    for (const path of theirs) project.write(path, 'mine\n');
    const { stdout } = await run('uninstall', '--all');
    expect(theirs.filter(path => !existsSync(project.path(path)))).toEqual([]);
    expect(existsSync(project.path('.ralph/runs'))).toBe(false);
    expect(stdout).toContain(`${project.path('.ralph/worktrees/mine')}: it is no worktree that git knows`);
    expect(stdout).toContain(
      `${project.path('.ralph/worktrees/w.incomplete-1')}: it is no worktree that git knows`,
    );
  });

  test('a version of the user’s own file stays below refs/ralph, with the command that removes it', async () => {
    const { project, run } = await machine();
    project.write('made.txt', 'mine\n');
    expect((await run(...LOOP)).code).toBe(0);
    const refs = () => project.git('for-each-ref', 'refs/ralph').trim();
    const before = refs();
    expect(before).not.toBe('');
    const { stdout } = await run('uninstall', '--all');
    expect(refs()).toBe(before);
    expect(stdout).toContain('below refs/ralph');
  });
});

test('a plugin goes from the host, and the runs stay', async () => {
  const { home, project, run } = await machine();
  mkdirSync(join(home, '.codex'));
  writeFileSync(join(home, '.codex/config.toml'), 'model = "mine"\n');
  expect((await run(...LOOP)).code).toBe(0);
  expect((await run('plugin', 'install', 'opencode')).code).toBe(0);
  const theirs = filesIn(home).filter(path => !path.includes('.local/state'));
  expect(theirs.some(path => path.includes('opencode'))).toBe(true);
  const { stdout, code } = await run('uninstall');
  expect(code, stdout).toBe(0);
  expect(filesIn(home).filter(path => !path.includes('.local/state'))).toEqual([
    join(home, '.codex/config.toml'),
  ]);
  expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toBe('model = "mine"\n');
  expect(existsSync(project.path('.ralph/runs'))).toBe(true);
  const again = await run('uninstall');
  expect(again.stdout).toContain('No plugin of Ralph is in any agent');
});

test('a plugin that its host does not give up is said to be there still, and how to remove it', async () => {
  const { home, run } = await machine();
  mkdirSync(join(home, '.codex'));
  const config = '[plugins."ralph@ralph"]\nenabled = true\n';
  writeFileSync(join(home, '.codex/config.toml'), config);
  expect((await run('plugin', 'install', 'opencode')).code).toBe(0);
  const { stdout, code } = await run('uninstall');
  const [removed = '', stays = ''] = stdout.split('Stays:');
  expect([code, removed]).toEqual([1, expect.stringContaining('The plugin in OpenCode')]);
  expect(removed).not.toContain('Codex');
  expect(stays).toContain('the plugin in Codex: codex: cannot be started (ENOENT)');
  expect(stays).toContain('`ralph plugin remove codex`');
  expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toBe(config);
});

test('--all names the work of a unit that no remote took, and leaves it', async () => {
  const { home, run } = await machine();
  const env = { HOME: home, XDG_STATE_HOME: join(home, '.local/state') };
  const place = (unit: string) => join(home, '.cache/ralph/workers/one/units', unit);
  for (const unit of ['u-1', 'u-2']) {
    mkdirSync(place(unit), { recursive: true });
    writeFileSync(join(place(unit), 'made.txt'), 'made\n');
  }
  const { left, folder: record } = statePaths(env).project(place('u-1')).run('u-1');
  mkdirSync(record, { recursive: true });
  writeFileSync(left, 'the remote refused it\n');
  const { code, stdout } = await run('uninstall', '--all');
  expect([code, stdout]).toEqual([
    1,
    expect.stringContaining('its work is nowhere else (the remote refused it)'),
  ]);
  expect([existsSync(place('u-1')), existsSync(place('u-2')), existsSync(left)]).toEqual([true, false, true]);
});
