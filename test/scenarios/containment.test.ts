/** What a run says of its containment, and that it works for root, for an ordinary user and in a run inside a run. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { ledgerOf, only } from '../rig/ledger.ts';
import { BIN, ralph, testEnv } from '../rig/ralph.ts';
import { folder, repo, repoAt } from '../rig/repo.ts';

const DONE = says('<response>DONE</response>');

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const project = repo();
  const agent = await fakeAgent('worker', DONE);
  const { code } = await ralph(['run', '-p', 'go', '--agent', 'worker', ...args], {
    cwd: project.dir,
    path: [agent.bin],
    env,
  });
  const entries = ledgerOf(project);
  const notices = only(entries, 'notice').map(({ text }) => text);
  return { code, contained: only(entries, 'run-started')[0]?.contained, notices };
}

describe('the ledger says what a run is contained in', () => {
  test('a PID namespace', { tags: 'promise' }, async () => {
    expect(await run([])).toMatchObject({ code: 0, contained: 'pid' });
  });

  test('nothing, when it is off, which needs no warning', async () => {
    const { contained, notices } = await run(['--containment', 'off']);
    expect([contained, notices.filter(text => text.includes('contained'))]).toEqual(['none', []]);
  });
});

test('a project in memory is worked on in a worktree and proven clean', async () => {
  const memory = mkdtempSync('/dev/shm/ralph-');
  onTestFinished(() => rmSync(memory, { recursive: true, force: true }));
  const project = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const { dir } = repoAt(join(memory, 'project'));
  cpSync(project.dir, dir, { recursive: true });
  const agent = await fakeAgent('worker', async turn => {
    await turn.shell('echo done > work');
    await turn.print('<promise>COMPLETE</promise>');
    turn.exit();
  });
  const flags = ['--worktree', 'a', '--proof', 'clean', '--check', 'test -e work', '--max-iterations', '1'];
  const loop = (env = {}) =>
    ralph(['loop', 'Work', '--agent', 'worker', ...flags], { cwd: dir, path: [agent.bin], env });
  const refused = await loop({ TMPDIR: memory });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`TMPDIR: it is ${memory}: of that folder a contained clean proof has one`);
  const { code, stdout, stderr } = await loop();
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain('in a clean checkout · contained');
});

/** By its whole path, which leads through a folder that a wall may have covered. */
const seesItself = async (dir: string, env = {}, ...flags: readonly string[]) => {
  const { dir: from } = repo();
  cpSync(from, dir, { recursive: true });
  const agent = await fakeAgent('worker', async turn => {
    await turn.shell('echo done > work');
    await turn.print('<promise>COMPLETE</promise>');
    turn.exit();
  });
  const check = `test -e '${dir}/README.md'`;
  const args = ['loop', 'Work', '--agent', 'worker', '--check', check, '--max-iterations', '1', ...flags];
  const { code, stdout, stderr } = await ralph(args, { cwd: dir, path: [agent.bin], env });
  return { code, said: stdout + stderr, turns: agent.calls.length };
};

const removed = (dir: string) => {
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

describe('a folder that the walls cover', () => {
  test('may have the project in it, where those of clean proofs are', async () => {
    const rooms = `/var/tmp/ralph-rooms-${process.getuid?.()}`;
    mkdirSync(rooms, { recursive: true, mode: 0o700 });
    const { code, said } = await seesItself(removed(mkdtempSync(join(rooms, 'project-'))));
    expect(code, said).toBe(0);
  });

  test('may have the state of Ralph in it, where that is in memory', async () => {
    const HOME = removed(mkdtempSync('/dev/shm/ralph-'));
    const { code, said } = await seesItself(folder().dir, { HOME }, '--worktree', 'a');
    expect(code, said).toBe(0);
  });

  test('and is that of Ralph itself: a project in it is refused before a turn', async () => {
    const { dir: HOME } = folder();
    const { code, said, turns } = await seesItself(join(HOME, '.local/state/ralph/project'), { HOME });
    expect([code, turns]).toEqual([2, 0]);
    expect(said).toContain(`the project is inside Ralph's state folder, which agents and checks see empty`);
  });
});

test('an agent that moves the state folder has it put back, and that is a violation', async () => {
  const project = repo();
  const home = folder();
  const agent = await fakeAgent('worker', async turn => {
    await turn.shell('mv "$HOME/.local" "$HOME/moved"; mkdir -p "$HOME/.local/state/ralph"');
    await turn.print('<response>DONE</response>');
    turn.exit();
  });
  const args = ['run', '-p', 'go', '--agent', 'worker', '-m', '1'];
  await ralph(args, { cwd: project.dir, path: [agent.bin], env: { HOME: home.dir } });
  const state = home.path('.local/state/ralph');
  const what = `${state}, where Ralph keeps its own records`;
  expect(only(ledgerOf(project), 'violation').map(({ violation }) => violation)).toEqual([
    { what, restored: true },
  ]);
  expect(existsSync(join(state, 'projects'))).toBe(true);
});

test('a run inside a run is contained too', async () => {
  const project = repo();
  project.write('inner/.ralph/settings.json', '{}');
  const inner = `cd inner && '${process.execPath}' '${BIN}' run -p go --agent worker -m 1`;
  const agent = await fakeAgent(
    'worker',
    async turn => {
      void turn.shell(inner).then(async () => {
        await turn.print('<response>DONE</response>');
        turn.exit();
      });
    },
    DONE,
  );
  const args = ['run', '-p', 'go', '--agent', 'worker', '-m', '1'];
  const { code } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
  expect([code, agent.calls.length]).toEqual([0, 2]);
  const { dir } = project;
  const [started] = only(
    ledgerOf({ ...project, dir: `${dir}/inner`, path: name => `${dir}/inner/${name}` }),
    'run-started',
  );
  expect(started?.contained).toBe('pid');
});

const NOBODY = 65_534;

test.skipIf(process.getuid?.() !== 0)('an ordinary user is contained as well as root', () => {
  const home = folder();
  const project = folder();
  chmodSync(home.dir, 0o755);
  mkdirSync(home.path('.local/state/ralph'), { recursive: true });
  const script = `#!/bin/sh
cat >/dev/null
env -i setsid sh -c 'touch ready; exec sleep 1000' <&- >&- 2>&- &
until [ -e ready ]; do :; done
touch "$HOME/.local/state/ralph/forged"; umount "$HOME/.local/state/ralph"
echo "parent $PPID, user $(id -u)" >seen; ls -A "$HOME/.local/state/ralph" >>seen
echo '<response>DONE</response>'
`;
  project.script('agent', script);
  for (const path of [
    home.dir,
    home.path('.local'),
    home.path('.local/state'),
    home.path('.local/state/ralph'),
    project.dir,
  ])
    chownSync(path, NOBODY, NOBODY);
  const { status, stdout } = spawnSync(
    process.execPath,
    [BIN, 'run', '-p', 'go', '--agent', './agent', '-m', '1'],
    {
      cwd: project.dir,
      encoding: 'utf8',
      env: {
        ...testEnv({}),
        HOME: home.dir,
        XDG_STATE_HOME: home.path('.local/state'),
        RALPH_CACHE_DIR: home.path('cache'),
      },
      uid: NOBODY,
      gid: NOBODY,
    },
  );
  expect([status, stdout]).toEqual([
    0,
    expect.stringContaining('The agent left 1 process(es) behind: ended.'),
  ]);
  expect(project.read('seen')).toBe(`parent 1, user ${NOBODY}\nforged\n`);
  expect(() => home.read('.local/state/ralph/forged')).toThrow();
});

test.each([['pause'], ['continue'], ['tell', 'hello'], ['cancel'], ['resume'], ['dashboard']])(
  '`ralph %s` from inside a run is refused',
  async (...args) => {
    const { dir } = repo();
    const env = { RALPH_OWNER_0123456789ab: '1' };
    const { code, stderr } = await ralph(args, { cwd: dir, env });
    expect(code).toBe(2);
    expect(stderr).toContain('only the user may steer runs');
  },
);

test('reading is not steering', async () => {
  const { code } = await ralph(['status'], { cwd: repo().dir, env: { RALPH_OWNER_0123456789ab: '1' } });
  expect(code).toBe(0);
});
