/** `ralph pr`: a proven run becomes one draft pull request; what is not proven, or would need force, is refused. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ask, serve } from '../dashboard/serve.ts';
import { agentOf, loopEnded } from '../rig/ended-run.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { createForge, type Fake, TOKEN } from '../rig/forge.ts';
import { serveGit } from '../rig/git-server.ts';
import { ledgerOf, only, recordOf, runsOf } from '../rig/ledger.ts';
import { BIN, ralph, testEnv } from '../rig/ralph.ts';
import { filesIn, folder, type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, works } from '../rig/stories.ts';

const FILES = { 'README.md': '# test\n', 'a.txt': '1\n', '.gitignore': '.ralph/\n' };

async function pr(work: Repo, forge: Fake, ...args: readonly string[]) {
  const ended = await ralph(['pr', '--json', ...args], { cwd: work.dir, env: forge.env });
  return { ...ended, result: ended.stdout.startsWith('{') ? JSON.parse(ended.stdout) : undefined };
}

async function proven(script?: string, args?: readonly string[]) {
  const work = repo(FILES);
  const forge = await createForge(work);
  await loopEnded(work, { ...(script !== undefined && { script }), ...(args && { args }) });
  return { work, forge };
}

describe('a proven run', () => {
  test('is pushed and gets one draft with its proof', { tags: ['promise', 'P-pr'] }, async () => {
    const { work, forge } = await proven();
    const { code, result, stderr } = await pr(work, forge);
    expect([code, stderr]).toMatchObject([0, expect.stringContaining('Opened a pull request')]);
    const [id = ''] = runsOf(work);
    const ref = `refs/ralph/proofs/${id}`;
    expect(result).toMatchObject({
      ...{ runId: id, outcome: 'opened', number: 1, state: 'open', draft: true, proof: ref },
      ...{ branch: 'ralph/login', base: 'main', commit: forge.tip('ralph/login') },
    });
    const [pull] = forge.state.pulls;
    expect(pull).toMatchObject({ title: 'Make it new', draft: true, base: 'main', head: 'ralph/login' });
    expect(pull?.body).toContain('`test -f new.txt` passed');
    expect(pull?.body.split('<details>')[0]?.split('\n').length).toBeLessThan(30);
    // Whoever pastes the two commands of the body verifies it in another clone.
    const clone = folder('ralph-clone-');
    clone.git('clone', '--quiet', '--branch', 'ralph/login', forge.bare.dir, '.');
    const [, commands = ''] = /```sh\n([\s\S]*?)```/.exec(pull?.body ?? '') ?? [];
    const { dir, script } = folder('ralph-bin-');
    script('ralph', `exec "${process.execPath}" "${BIN}" "$@"`);
    const verified = execFileSync('sh', ['-e', '-c', commands], {
      ...{ cwd: clone.dir, encoding: 'utf8', env: testEnv({ path: [dir] }) },
    });
    expect(verified).toContain('Everything that the bundle claims holds.');
    // The same again changes nothing.
    const before = forge.writes().length;
    const again = await pr(work, forge);
    expect([again.code, again.result.outcome, forge.writes().length]).toEqual([0, 'unchanged', before]);
    expect(forge.state.pulls).toHaveLength(1);
  });

  test('is on the ledger before and after each act, and the token is nowhere', {
    tags: 'P-token',
  }, async () => {
    const { work, forge } = await proven();
    await pr(work, forge);
    const events = ledgerOf(work);
    expect(only(events, 'forge-started').map(({ act }) => act)).toEqual(['push', 'proof', 'open']);
    expect(only(events, 'forge').map(({ act, outcome }) => [act, outcome])).toEqual([
      ['push', 'done'],
      ['proof', 'done'],
      ['open', 'done'],
    ]);
    expect(new Set(forge.state.authorizations)).toEqual(new Set([`Bearer ${TOKEN}`]));
    const [id = ''] = runsOf(work);
    const kept = [recordOf(work, id).folder, work.path('.ralph'), work.path('.git')].flatMap(filesIn);
    expect(kept.filter(file => readFileSync(file).includes(TOKEN))).toEqual([]);
    expect(kept.length).toBeGreaterThan(20);
  });

  test('is seen by status, explain, log, report and dashboard', async () => {
    const { work, forge } = await proven();
    const { result } = await pr(work, forge);
    for (const command of ['status', 'explain', 'report']) {
      const { stdout } = await ralph([command], { cwd: work.dir });
      expect(stdout, command).toContain(result.address);
      if (command === 'explain')
        expect(stdout).toMatch(/Stay with its pull request: `ralph pr --follow`\.\n(?!.*ralph land)/s);
    }
    const { stdout } = await ralph(['log', '--only', 'scm'], { cwd: work.dir });
    for (const act of ['Pushed the branch', 'Pushed the proof', 'Opened a pull request'])
      expect(stdout).toContain(act);
    const { port } = await serve([work.dir]);
    const page = await ask(port, `/api/0/${result.runId}`);
    expect(JSON.parse(page.body).view.forge).toMatchObject({ number: 1, address: result.address });
  });

  test('in the own files of the user is pushed as a branch of its own', async () => {
    const { work, forge } = await proven(undefined, []);
    const { code, result } = await pr(work, forge);
    const [id = ''] = runsOf(work);
    expect([code, result?.branch, work.git('status', '--porcelain')]).toEqual([
      0,
      `ralph/${id}`,
      '?? new.txt\n',
    ]);
    const again = await pr(work, forge);
    expect([again.code, again.result.commit]).toEqual([0, result.commit]);
  });

  test('goes to the remote and the base that are named', async () => {
    const work = repo(FILES);
    const forge = await createForge(work);
    work.git('remote', 'rename', 'origin', 'upstream');
    forge.bare.git('branch', 'develop', 'main');
    await loopEnded(work);
    const { code, stderr } = await pr(work, forge, '--remote', 'upstream', '--base', 'develop');
    expect(code, stderr).toBe(0);
    expect(forge.state.pulls).toMatchObject([
      { base: 'develop', body: expect.stringContaining('git fetch upstream refs/ralph/proofs/') },
    ]);
  });

  test('keeps words that somebody has put into the body', async () => {
    const { work, forge } = await proven();
    await pr(work, forge);
    const [pull] = forge.state.pulls;
    if (pull) pull.body = 'mine';
    expect((await pr(work, forge)).code).toBe(0);
    expect(pull?.body).toBe('mine');
  });
});

test('`--pr` follows a run that is proven, and neither its agent nor its checks get the token', {
  tags: 'P-token',
}, async () => {
  const work = repo(FILES);
  const forge = await createForge(work);
  const seen = folder('ralph-seen-');
  const agent = agentOf(`cat > /dev/null; echo new > new.txt; env > ${seen.path('agent')}`);
  const check = `env > ${seen.path('check')}; test -f new.txt`;
  const args = [
    'loop',
    'Make it new',
    '--json',
    '--pr',
    '--agent',
    agent,
    '--check',
    check,
    '--worktree',
    'login',
  ];
  const { code, stdout, stderr } = await ralph(args, {
    cwd: work.dir,
    env: { ...forge.env, GITHUB_TOKEN: TOKEN },
  });
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ success: true, pullRequest: { outcome: 'opened', number: 1 } });
  for (const who of ['agent', 'check']) expect(seen.read(who)).not.toContain(TOKEN);
  const [pull] = forge.state.pulls;
  expect(pull?.body).not.toContain(TOKEN);
});

test.each([
  ['the environment', { GH_TOKEN: TOKEN }],
  ['gh', { GH_TOKEN: '' }],
])('in a sandbox nothing gives an agent or a check the token that comes from %s', async (_, given) => {
  const work = repo(FILES);
  const forge = await createForge(work);
  const home = folder('ralph-home-');
  home.write('.config/gh/hosts.yml', `github.com: ${TOKEN}\n`);
  const tools = folder('ralph-tools-');
  tools.script('gh', '#!/bin/sh\nexec sed "s/.* //" "$HOME/.config/gh/hosts.yml"\n');
  const all = '{ env; cat /proc/[0-9]*/environ ~/.config/gh/*; gh auth token; } 2>/dev/null';
  const args = [
    'loop',
    'Make it new',
    '--pr',
    '--worktree',
    'login',
    '--sandbox',
    'srt',
    '--max-iterations',
    '1',
  ];
  const agent = agentOf(`cat > /dev/null; ${all} > seen.txt`);
  const { code, stdout, stderr } = await ralph(
    [
      ...args,
      '--agent',
      agent,
      '--check',
      `${all} | grep -q HOME= && ! ${all} | grep -q ${TOKEN.slice(4, 20)}`,
    ],
    { cwd: work.dir, path: [tools.dir], env: { ...forge.env, ...given, HOME: home.dir } },
  );
  expect([code, forge.state.pulls.length], stdout + stderr).toEqual([0, 1]);
  const [pull] = forge.state.pulls;
  const seen = forge.bare.git('show', `${pull?.head}:seen.txt`);
  expect([seen.includes('HOME='), seen.includes(TOKEN), seen.includes(TOKEN.slice(4))]).toEqual([
    true,
    false,
    false,
  ]);
});

test('`--pr` on `ralph run`', async () => {
  const work = repo(FILES);
  const forge = await createForge(work);
  const agent = agentOf('cat > /dev/null; echo new > new.txt');
  const args = ['run', '-p', 'Make it new', '--json', '--pr', '--agent', agent, '--check', 'test -f new.txt'];
  const { code, stdout, stderr } = await ralph(args, { cwd: work.dir, env: forge.env });
  expect(code, stderr).toBe(0);
  const [id = ''] = runsOf(work);
  expect(JSON.parse(stdout)).toMatchObject({ pullRequest: { outcome: 'opened', branch: `ralph/${id}` } });
  expect(forge.has(`ralph/${id}`, 'new.txt')).toBe(true);
});

test('`--pr` on `ralph prd run`: each criterion with what shows it', async () => {
  const project = prdRepo();
  const forge = await createForge(project);
  const builds = works(project, handIn(), { also: () => project.write('new.txt', 'new\n') });
  const agent = await fakeAgent('claude', builds, works(project, approve()));
  const args = ['prd', 'run', '--json', '--pr', '--agent', 'claude', '--check', 'test -f new.txt'];
  const env = { ...forge.env, IS_SANDBOX: '1' };
  const { code, stdout, stderr } = await ralph(args, { cwd: project.dir, path: [agent.bin], env });
  expect(code, stdout + stderr).toBe(0);
  const { pullRequest } = JSON.parse(stdout);
  expect(pullRequest).toMatchObject({ outcome: 'opened', number: 1 });
  expect(forge.has(pullRequest.branch, 'new.txt')).toBe(true);
  expect(forge.state.pulls[0]?.body).toContain('no program looked; approved in review by `claude`');
});

test('`--pr` where there is no remote says so, and the run is done all the same', async () => {
  const work = repo(FILES);
  const agent = agentOf('cat > /dev/null; echo new > new.txt');
  const args = [
    'loop',
    'Make it new',
    '--pr',
    '--agent',
    agent,
    '--check',
    'test -f new.txt',
    '--worktree',
    'login',
  ];
  const { code, stdout } = await ralph(args, { cwd: work.dir });
  expect([code, stdout]).toMatchObject([
    2,
    expect.stringMatching(/No pull request: --remote: there is no remote origin.*\nTry again: `ralph pr /),
  ]);
});

describe('refused is', () => {
  test('a run that is not proven', { tags: ['promise', 'P-pr'] }, async () => {
    const work = repo(FILES);
    const forge = await createForge(work);
    const args = [
      'loop',
      'x',
      '--check',
      'false',
      '--max-iterations',
      '1',
      '--agent',
      'true',
      '--worktree',
      'w',
    ];
    await ralph(args, { cwd: work.dir });
    const { code, stderr } = await pr(work, forge);
    expect([code, stderr]).toMatchObject([2, expect.stringContaining('it is not proven: max_iterations')]);
    expect(forge.state.requests).toEqual([]);
  });

  test('a branch that holds other work, and it stays', { tags: 'promise' }, async () => {
    const { work, forge } = await proven();
    work.git('commit', '--quiet', '--allow-empty', '--message', 'other');
    work.git('push', '--quiet', 'origin', 'HEAD:refs/heads/ralph/login');
    const before = forge.tip('ralph/login');
    const { code, stderr } = await pr(work, forge);
    expect([code, stderr]).toMatchObject([2, expect.stringContaining('with other work on it')]);
    expect([forge.tip('ralph/login'), forge.state.pulls]).toEqual([before, []]);
  });

  test('work whose worktree and branch are gone, with where it may still be', async () => {
    const { work, forge } = await proven();
    expect((await pr(work, forge)).code).toBe(0);
    work.git('worktree', 'remove', '.ralph/worktrees/login');
    work.git('branch', '--quiet', '-D', 'ralph/login');
    const { code, stderr } = await pr(work, forge);
    expect([code, stderr]).toMatchObject([2, expect.stringContaining('its branch are gone')]);
    const [, back = ''] = /`(git fetch [^`]*)`/.exec(stderr.replace(/\s+/g, ' ')) ?? [];
    work.git(...back.split(' ').slice(1));
    expect((await pr(work, forge)).result?.outcome).toBe('unchanged');
  });

  test('work that was changed since and does not pass any more', async () => {
    const { work, forge } = await proven();
    work.git('-C', '.ralph/worktrees/login', 'rm', '--quiet', '--force', '--ignore-unmatch', 'new.txt');
    work.write('.ralph/worktrees/login/late.txt', 'late\n');
    work.git('-C', '.ralph/worktrees/login', 'clean', '--quiet', '--force', 'new.txt');
    const { code, result } = await pr(work, forge);
    expect([code, result.outcome, forge.tip('ralph/login')]).toEqual([1, 'red', undefined]);
  });

  test.each([
    [['--base', '--upload-pack=x'], 'is no name of a branch'],
    [['--base', 'a..b'], 'is no name of a branch'],
    [['--remote', '--force'], 'is no name of a remote'],
    [['--remote', 'nowhere'], 'there is no remote nowhere'],
    [['--base', 'nowhere'], 'the remote has no such branch (another one: --base BRANCH; this one: `git push'],
    [['--repo', '../../x'], 'is no repository'],
    [['--repo', 'a/b/c'], 'is no repository'],
    [['--ready'], 'needs --follow'],
    [['--ci-rounds', 'x'], 'must be a whole number'],
    [['--merge-method', 'force'], 'must be one of merge, squash, rebase'],
  ])('%j', async (args, words) => {
    const { work, forge } = await shared();
    const { code, stderr } = await pr(work, forge, ...args);
    expect([code, stderr]).toMatchObject([2, expect.stringContaining(words)]);
    expect(forge.writes()).toEqual([]);
  });
});

function shared() {
  return proven();
}

describe('a forge that', () => {
  test.each([
    ['limits, says so and is waited for', { status: 429, headers: { 'retry-after': '1' } }],
    ['has no answer for a moment', { status: 502 }],
    ['hangs up', { close: true }],
  ])('%s', async (_, fault) => {
    const { work, forge } = await proven();
    forge.state.faults.set(1, fault).set(4, fault);
    const { code, stderr } = await pr(work, forge);
    expect([code, forge.state.pulls.length]).toEqual([0, 1]);
    expect(stderr).toMatch(/The forge at 127.*: .*\. (Retrying in 1 s|Ralph tries until it answers)\./);
  });

  test('has opened it and does not say so is asked before a second one is opened', async () => {
    const { work, forge } = await proven();
    forge.state.arrives = (count, what) => {
      if (what.startsWith('POST /repos/octo/demo/pulls') && !forge.state.faults.has(-1))
        forge.state.faults.set(count, { close: true, after: true }).set(-1, {});
    };
    const { code, result } = await pr(work, forge);
    expect([code, result.number, forge.state.pulls.length]).toEqual([0, 1, 1]);
  });

  test('does not know the token is told in one sentence', async () => {
    const { work, forge } = await proven();
    forge.state.faults.set(1, { status: 401 });
    const { code, stderr } = await pr(work, forge);
    expect([code, stderr]).toMatchObject([2, expect.stringContaining('the token is not valid')]);
  });

  test('has no drafts gets one that is none', async () => {
    const { work, forge } = await proven();
    forge.state.hasDrafts = false;
    const { code, result, stderr } = await pr(work, forge);
    expect([code, result, forge.state.pulls.length], stderr).toMatchObject([0, { draft: false }, 1]);
    expect(stderr).toContain('Opened a pull request');
  });

  test('does not take the branch says what to look at, and opens nothing', async () => {
    const { work, forge } = await proven();
    forge.bare.script('hooks/pre-receive', 'echo GH006: Protected branch >&2\nexit 1');
    const { code, stderr } = await pr(work, forge);
    expect([code, stderr, forge.state.pulls]).toEqual([
      2,
      expect.stringMatching(/GH006: Protected branch.*look at what the repository allows/s),
      [],
    ]);
  });
});

test('a remote that lets nobody in says what to look at', async () => {
  const work = repo(FILES);
  const forge = await createForge(work);
  work.git('remote', 'add', 'closed', await serveGit(forge.bare));
  await loopEnded(work);
  const { code, stderr } = await pr(work, forge, '--remote', 'closed');
  expect([code, stderr.replace(/\s+/g, ' ')]).toEqual([
    2,
    expect.stringContaining('`git remote get-url closed`'),
  ]);
});

describe('a remote whose address is not the one on record', () => {
  async function moved(change: (work: Repo, other: string) => void) {
    const { work, forge } = await proven();
    const other = folder('ralph-elsewhere-');
    other.git('init', '--quiet', '--bare', '--initial-branch', 'main');
    work.git('push', '--quiet', other.dir, 'main');
    change(work, other.dir);
    const pr = (...args: readonly string[]) => ralph(['pr', ...args], { cwd: work.dir, env: forge.env });
    return { work, forge, other, pr, branches: (at: Repo) => at.git('branch', '--list', 'ralph/*').trim() };
  }

  test.each([
    ['its address', (work: Repo, other: string) => void work.git('remote', 'set-url', 'origin', other)],
    [
      'where it is pushed to',
      (work: Repo, other: string) => void work.git('remote', 'set-url', '--push', 'origin', other),
    ],
  ])('%s: nothing is pushed anywhere until the user says so', async (_, change) => {
    const { work, forge, other, pr, branches } = await moved(change);
    const refused = await pr();
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--remote-changed')]);
    expect(refused.stderr).toContain(forge.bare.dir);
    expect(refused.stderr).toContain(other.dir);
    expect([branches(forge.bare), branches(other), forge.state.pulls]).toEqual(['', '', []]);
    const accepted = await pr('--remote-changed');
    expect([accepted.code, branches(other)], accepted.stderr).toEqual([0, 'ralph/login']);
    expect(branches(forge.bare)).toBe('');
    expect((await pr()).code).toBe(2);
    const [, back = ''] =
      /`(git remote set-url [^`]*)` goes back/.exec(refused.stderr.replace(/\s+/g, ' ')) ?? [];
    work.git(...back.split(' ').slice(1));
    expect([(await pr()).code, branches(forge.bare)]).toEqual([0, 'ralph/login']);
  });

  test('it has another name now: said as it is, with what brings it back', async () => {
    const { work, pr } = await moved(work => void work.git('remote', 'rename', 'origin', 'upstream'));
    const { code, stderr } = await pr();
    const words = stderr.replace(/\s+/g, ' ');
    expect([code, words]).toEqual([2, expect.stringContaining('there is no remote origin any more')]);
    expect(words).toContain('--remote NAME');
    const [, back = ''] = /`(git remote [^`]*)` goes back/.exec(words) ?? [];
    work.git(...back.split(' ').slice(1));
    expect((await pr()).code).toBe(0);
  });

  test('a password in an address is not shown', async () => {
    const { pr } = await moved(
      work =>
        void work.git('remote', 'set-url', 'origin', 'https://me:hunter2secret@example.org/octo/demo.git'),
    );
    const { code, stderr } = await pr();
    expect([code, stderr.includes('hunter2secret'), stderr.includes('example.org')]).toEqual([
      2,
      false,
      true,
    ]);
  });

  test('one that is as it was again is pushed to', async () => {
    const { pr } = await moved((work, other) => {
      const before = work.git('remote', 'get-url', 'origin').trim();
      work.git('remote', 'set-url', 'origin', other);
      work.git('remote', 'set-url', 'origin', before);
    });
    expect((await pr()).code).toBe(0);
  });
});

test('what the forge refuses is said once', async () => {
  const { work, forge } = await proven();
  forge.state.arrives = (count, what) => {
    if (/^POST .*\/pulls$/.test(what)) forge.state.faults.set(count, { status: 403, message: 'not for you' });
  };
  const { code, stdout, stderr } = await ralph(['pr'], { cwd: work.dir, env: forge.env });
  expect([code, (stdout + stderr).split('not for you').length - 1]).toEqual([2, 1]);
});
