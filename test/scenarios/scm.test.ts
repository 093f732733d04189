import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, watch, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, gitEnv, type Repo, repo, scriptedAgent } from '../rig/repo.ts';

const DONE = 'echo "<response>DONE</response>"';

const agentOf = (script: string) => scriptedAgent(`${script}\n${DONE}`);

function run(work: Repo, script: string, settings: object = {}) {
  work.settings({ scm: { command: 'git', tasks: ['commit'] }, ...settings });
  return ralph(['run', '-p', 'Do it', '-m', '2', '--agent', agentOf(script)], { cwd: work.dir });
}

const committed = (work: Repo) =>
  work.git('show', '--name-only', '--format=', 'HEAD').trim().split('\n').sort();

/** Ralph's folder is no work of the user's. */
const status = (work: Repo) =>
  work
    .git('status', '--porcelain')
    .split('\n')
    .filter(line => line !== '' && !line.includes('.ralph'));

describe('a commit of Ralph', () => {
  test('leaves alone what the user had changed, staged or not', {
    tags: ['promise', 'P-commit'],
  }, async () => {
    const work = repo({ a: 'a\n', b: 'b\n', c: 'c\n' });
    work.write('a', 'edited\n');
    work.write('b', 'staged\n');
    work.git('add', 'b');
    work.write('mine', 'mine\n');
    const { code } = await run(work, 'echo more > c; echo new > new');
    expect(code).toBe(0);
    expect(committed(work)).toEqual(['c', 'new']);
    expect(status(work)).toEqual([' M a', 'M  b', '?? mine']);
  });

  test('names a file that both have changed, and takes it only when told to', async () => {
    const work = repo({ a: 'a\n' });
    work.write('a', 'mine\n');
    const { stdout } = await run(work, 'echo agent >> a; echo new > new');
    expect(stdout).toContain('Not committed: a (you had changed it before the run');
    expect(committed(work)).toEqual(['new']);
    await run(work, 'echo again >> a', { commitDirty: true });
    expect(committed(work)).toEqual(['a']);
  });

  test('never adds what looks like a secret, and keeps what is tracked', async () => {
    const work = repo({ '.env.local': 'a\n' });
    const secrets = [
      ...['.env', '.ENV', '.env.prod', '.env-prod', 'prod.env', '.docker.env', 'id_rsa', 'key.PEM'],
      ...['secrets.yaml', 'client_secret.json', 'service-account-1.json', 'credentials', '.git-credentials'],
    ];
    const ordinary = ['.env.example', 'prod.env.sample', 'environment.ts', 'secretary.md', 'monkey.txt'];
    const write = [...secrets, ...ordinary].map(name => `echo k > ${name}`).join('; ');
    await run(work, `${write}; echo b > .env.local`);
    expect(committed(work)).toEqual([...ordinary, '.env.local'].sort());
  });

  test('does not make a link of a repository inside', async () => {
    const work = repo();
    await run(
      work,
      'mkdir in; git init -q in; echo x > in/x; git -C in -c user.name=a -c user.email=a add .; echo y > y',
    );
    expect(committed(work)).toEqual(['y']);
  });

  test('is of what was checked, whatever the index says', { tags: 'promise' }, async () => {
    const work = repo({ a: 'a\n' });
    await run(
      work,
      'git update-index --assume-unchanged a; echo b > a; echo "*" > .git/info/exclude; echo n > n',
    );
    expect(committed(work)).toEqual(['a', 'n']);
    expect(status(work)).toEqual([]);
  });

  test('takes a deletion, a mode, a link and a name with a line break', async () => {
    const work = repo({ a: 'a\n', b: 'b\n' });
    await run(work, 'rm a; chmod +x b; ln -s b link; printf x > "two\nlines"');
    expect(work.git('ls-tree', '-r', '--name-only', '-z', 'HEAD').split('\0').filter(Boolean)).toEqual([
      'b',
      'link',
      'two\nlines',
    ]);
    expect(status(work)).toEqual([]);
  });

  test('runs the hooks of the user, and says when one changed it', { tags: 'promise' }, async () => {
    const work = repo({ a: 'a\n' });
    work.script('.git/hooks/pre-commit', 'echo hook > by-hook; git add by-hook');
    work.git('remote', 'add', 'origin', '/nowhere');
    work.git('config', 'push.default', 'current');
    const tasks = ['commit', 'push'];
    const { stdout, code } = await run(work, 'echo b > a', { scm: { command: 'git', tasks } });
    expect(committed(work)).toEqual(['a', 'by-hook']);
    expect(stdout).toContain('a hook changed what was checked');
    expect(stdout).toContain('push failed: fatal: ');
    expect(code).toBe(1);
  });

  test('says of a push that the remote refuses what the remote said', async () => {
    const [work, remote] = [repo({ a: 'a\n' }), folder()];
    remote.git('init', '--quiet', '--bare', '--initial-branch', 'main');
    work.git('remote', 'add', 'origin', remote.dir);
    work.git('push', '--quiet', '--set-upstream', 'origin', 'main');
    remote.script('hooks/pre-receive', 'echo "Only by pull request" >&2; exit 1');
    const { stdout } = await run(work, 'echo b > a', { scm: { command: 'git', tasks: ['commit', 'push'] } });
    expect(stdout).toContain('push failed: Only by pull request; ! [remote rejected] main -> main');
  });

  test.runIf(spawnSync('git', ['lfs', 'version']).status === 0)(
    'leaves large files where the user has them: in LFS of the repository',
    async () => {
      const work = repo({ '.gitattributes': '*.bin filter=lfs\n' });
      work.git('config', 'filter.lfs.clean', 'git-lfs clean -- %f');
      work.git('config', 'filter.lfs.process', 'git-lfs filter-process');
      const { code, stdout } = await run(work, 'echo large > a.bin');
      expect([code, stdout.includes('changed what was checked')]).toEqual([0, false]);
      const [, id = ''] = /oid sha256:(\w+)/.exec(work.git('show', 'HEAD:a.bin')) ?? [];
      const stored = `.git/lfs/objects/${id.slice(0, 2)}/${id.slice(2, 4)}/${id}`;
      expect([work.read('a.bin'), work.read(stored)]).toEqual(['large\n', 'large\n']);
      expect(work.git('status', '--porcelain', 'a.bin')).toBe('');
    },
  );

  test('runs the filters of the user', async () => {
    const work = repo({ '.gitattributes': '*.secret filter=crypt\n' });
    work.git('config', 'filter.crypt.clean', 'tr a-z n-za-m');
    const { code, stdout } = await run(work, 'echo abc > x.secret');
    expect(work.git('show', 'HEAD:x.secret')).toBe('nop\n');
    expect([code, stdout.includes('a hook changed')]).toEqual([0, false]);
  });

  test('is made first in a repository without one', async () => {
    const work = folder();
    work.git('init', '-q');
    work.write('mine', 'x');
    await run(work, 'echo a > a');
    expect(work.git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('a\n');
  });

  test('stays below the top where the project is a folder in a repository', async () => {
    const work = repo({ 'packages/a/x': 'x\n', other: 'o\n' });
    work.write('packages/a/.ralph/settings.json', '{"scm":{"command":"git","tasks":["commit"]}}');
    const agent = agentOf('echo y > y');
    await ralph(['run', '-p', 'Do it', '-m', '1', '--agent', agent], { cwd: work.path('packages/a') });
    expect(committed(work)).toEqual(['packages/a/y']);
  });
});

describe('source control that fails', () => {
  test('ends the run with a reason of its own, and is tried again when the run is resumed', {
    tags: ['promise', 'P-scm-failed'],
  }, async () => {
    const work = repo({ a: 'a\n' });
    work.script('.git/hooks/pre-commit', 'test -e allowed || { echo "fatal: no"; exit 1; }');
    work.write('.gitignore', 'allowed\n');
    work.git('add', '.gitignore');
    work.git('commit', '-q', '--no-verify', '-m', 'ignore');
    work.settings({ scm: { command: 'git', tasks: ['commit'] } });
    const agent = agentOf('echo b > a');
    const home = folder('ralph-home-');
    const options = { cwd: work.dir, env: { HOME: home.dir } };
    // In the last iteration that it may have: to try again needs no other one.
    const first = await ralph(['run', '-p', 'Do it', '-m', '1', '--agent', agent, '--json'], options);
    const result = JSON.parse(first.stdout);
    expect(first.code).toBe(1);
    expect(result).toMatchObject({
      stopReason: 'scm_failed',
      scm: [{ task: 'commit', outcome: 'failed', detail: 'fatal: no' }],
    });
    work.write('allowed', '');
    const second = await ralph(['resume', result.runId], options);
    expect(second.code).toBe(0);
    expect(committed(work)).toEqual(['a']);
  });

  test.each([
    ['SIGHUP', 'echo "<response>DONE</response>"', 0],
    ['SIGKILL', 'true', 1],
  ] as const)(
    'or that %s ends in the last iteration is finished when the run is resumed',
    async (signal, says, code) => {
      const work = repo({ a: 'a\n', '.gitignore': 'allowed\n' });
      const hook = work.path('.git/hooks/pre-commit');
      writeFileSync(hook, '#!/bin/sh\ntest -e allowed || { touch allowed; sleep 1000; }\n', { mode: 0o755 });
      work.settings({ scm: { command: 'git', tasks: ['commit'] }, guardrails: [{ command: 'true' }] });
      const place = folder('ralph-agent-');
      writeFileSync(place.path('agent'), `#!/bin/sh\necho b > a\n${says}\n`, { mode: 0o755 });
      const options = { cwd: work.dir };
      const run = startRalph(['run', '-p', 'Do it', '-m', '1', '--agent', place.path('agent')], options);
      const watched = watch(work.dir, () => existsSync(work.path('allowed')) && run.process.kill(signal));
      await run.finished;
      watched.close();
      const again = await ralph(['resume'], options);
      expect([again.code, again.stderr]).toEqual([code, '']);
      expect(committed(work)).toEqual(['a']);
    },
  );

  test('is not done on another branch than the run began on', async () => {
    const work = repo({ a: 'a\n' });
    const { code, stdout } = await run(work, 'git checkout -q -b other 2>/dev/null; echo b > a');
    expect(code).toBe(1);
    expect(stdout).toMatch(/the run began on main,\s+and\s+now it is on other/);
    expect(work.git('log', '--oneline', '--all').trim().split('\n')).toHaveLength(1);
  });
});

describe('a run that would commit is refused', () => {
  const states: Readonly<Record<string, readonly [(work: Repo) => void, RegExp]>> = {
    'in a merge': [
      work => void attempt(work, 'merge', 'other'),
      /a merge is not finished.*git merge --abort/s,
    ],
    'in a rebase': [work => void attempt(work, 'rebase', 'other'), /a rebase is not finished/],
    'in a cherry-pick': [work => void attempt(work, 'cherry-pick', 'other'), /a cherry-pick is not finished/],
    'in a revert': [work => void attempt(work, 'revert', 'HEAD^'), /a revert is not finished/],
    'in a bisect': [work => void work.git('bisect', 'start'), /a bisect is not finished.*git bisect reset/s],
  };
  test.for(Object.entries(states))('%s', async ([, [make, words]]) => {
    const work = repo({ a: 'a\n' });
    work.git('checkout', '-q', '-b', 'other');
    work.write('a', 'other\n');
    work.git('commit', '-qam', 'other');
    work.git('checkout', '-q', 'main');
    for (const text of ['main\n', 'more\n']) {
      work.write('a', text);
      work.git('commit', '-qam', text.trim());
    }
    make(work);
    const { code, stderr } = await run(work, 'echo b > b');
    expect(code).toBe(2);
    expect(stderr.replace(/\s+/g, ' ')).toMatch(words);
    expect(existsSync(work.path('b'))).toBe(false);
  });

  test('when it is resumed on another branch', async () => {
    const work = repo({ a: 'a\n' });
    const home = folder('ralph-home-');
    const options = { cwd: work.dir, env: { HOME: home.dir } };
    work.settings({ scm: { command: 'git', tasks: ['commit'] } });
    const agent = agentOf('date +%N > a');
    const first = await ralph(
      ['run', '-p', 'Do it', '-c', 'NEVER', '-m', '1', '--agent', agent, '--json'],
      options,
    );
    work.git('checkout', '-q', '-b', 'other');
    const { runId } = JSON.parse(first.stdout);
    const second = await ralph(['resume', runId, '--max-iterations', '2'], options);
    expect(second.code).toBe(2);
    expect(second.stderr.replace(/\s+/g, ' ')).toContain('git switch main');
  });
});

function attempt(work: Repo, ...args: string[]): void {
  try {
    execFileSync('git', args, { cwd: work.dir, env: gitEnv(), stdio: 'ignore' });
  } catch {
    // that is the point
  }
}

describe('a branch that Ralph has made', () => {
  const hasSandbox = process.env.RALPH_REQUIRE_SANDBOX === 'srt';
  const walls = [['without a sandbox'], ...(hasSandbox ? [['in a sandbox', '--sandbox=srt']] : [])];

  async function pushing(script: string, tasks: readonly string[], flags: readonly string[]) {
    const remote = folder('ralph-remote-');
    remote.git('init', '--quiet', '--bare', '--initial-branch', 'main');
    const work = repo();
    work.git('remote', 'add', 'origin', remote.dir);
    work.git('push', '--quiet', '--set-upstream', 'origin', 'main');
    work.settings({ scm: { command: 'git', tasks } });
    const agent = ['--agent', agentOf(`${script}; echo "<promise>COMPLETE</promise>"`)];
    const args = ['loop', 'Do it', '--check', 'test -e made', '--worktree=new', ...agent, ...flags];
    const { code, stderr } = await ralph(args, { cwd: work.dir });
    expect(remote.git('rev-parse', 'main')).toBe(work.git('rev-parse', 'main'));
    return { code, stderr, remote };
  }

  test.each(walls)('is pushed by its name from a worktree: %s', async (_, ...flags) => {
    const { code, stderr, remote } = await pushing('echo x > made', ['commit', 'push'], flags);
    expect(code, stderr).toBe(0);
    expect(remote.git('show', 'ralph/new:made')).toBe('x\n');
  });

  test.each(walls)('is not taken for one that the agent has made: %s', async (_, ...flags) => {
    const script = 'echo x > made; git checkout -q -b ralph/other; git add made; git commit -q -m mine';
    const { code, remote } = await pushing(script, ['push'], flags);
    expect(code).toBe(1);
    expect(remote.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\n');
  });
});

describe('a hook that refuses a commit', () => {
  /** Writes down what it is told; does what the hook asks for when it hears of it. */
  function listener(note: string) {
    const place = folder('ralph-agent-');
    const script = `#!/bin/sh
told="$*$(cat)"
case "$told" in
  *"commit message"*) echo asked >> ${place.path('asked')}; echo "<response>Count it</response>"; exit;;
  *"needs a note"*) ${note};;
  *) echo b > a;;
esac
printf %s "$told" > ${place.path('told')}
${DONE}
`;
    writeFileSync(place.path('agent'), script, { mode: 0o755 });
    return place;
  }

  function refusing(): Repo {
    const work = repo({ a: 'a\n' });
    const hook = '#!/bin/sh\ntest -e note || { echo "first line"; echo "it needs a note"; exit 1; }\n';
    writeFileSync(work.path('.git/hooks/pre-commit'), hook, { mode: 0o755 });
    work.settings({ scm: { command: 'git', tasks: ['commit'] }, guardrails: [{ command: 'true' }] });
    return work;
  }

  test('is heard by the agent, which puts it right, and no second message is asked for', {
    tags: 'promise',
  }, async () => {
    const work = refusing();
    const place = listener('echo n > note');
    const args = ['run', '-p', 'Do it', '-m', '4', '--agent', place.path('agent'), '--json'];
    const { code, stdout, stderr } = await ralph(args, { cwd: work.dir });
    expect(code, stderr).toBe(0);
    expect(place.read('told')).toMatch(/"git commit" failed[\s\S]*first line\nit needs a note/);
    expect(place.read('asked')).toBe('asked\n');
    expect(JSON.parse(stdout).iterations).toHaveLength(2);
    expect([committed(work), work.git('log', '-1', '--format=%s')]).toEqual([['a', 'note'], 'Count it\n']);
  });

  test('ends the run where the agent changes nothing', async () => {
    const work = refusing();
    const place = listener('true');
    const args = ['run', '-p', 'Do it', '-m', '3', '--agent', place.path('agent'), '--json'];
    const { code, stdout } = await ralph(args, { cwd: work.dir });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      stopReason: 'scm_failed',
      detail: 'commit: it needs a note',
      scm: [{ refused: 'first line\nit needs a note' }],
    });
    expect(place.read('asked')).toBe('asked\n');
  });
});
