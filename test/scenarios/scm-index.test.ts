import { chmodSync, existsSync, watch, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ralph, startRalph } from '../rig/ralph.ts';
import { type Repo, repo, scriptedAgent } from '../rig/repo.ts';

const DONE = 'echo "<response>DONE</response>"';

const agentOf = (script: string) => scriptedAgent(`${script}\n${DONE}`);

function run(work: Repo, script: string, settings: object = {}) {
  work.settings({ scm: { command: 'git', tasks: ['commit'] }, ...settings });
  return ralph(['run', '-p', 'Do it', '-m', '1', '--agent', agentOf(script)], { cwd: work.dir });
}

function hook(work: Repo, script: string): void {
  writeFileSync(work.path('.git/hooks/pre-commit'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** Every entry of the index but those of these paths: flags, mode, object, stage, and what git knows of the file. */
function entries(work: Repo, ...except: readonly string[]): readonly string[] {
  const all = work.git('ls-files', '-v', '--stage', '--debug').split(/\n(?! )/);
  return all.filter(entry => !except.includes(/\t(.*)/.exec(entry)?.[1] ?? ''));
}

/** A repository in which every kind of entry is staged. What the agent works on is a file `work`. */
function planted(): Repo {
  const names = ['work', 'twice', 'back', 'away', 'mode', 'assumed', 'skipped', 'quiet', 'in/deep'];
  const work = repo(Object.fromEntries(names.map(name => [name, `${name}\n`])));
  const stage = (name: string, text: string) => {
    work.write(name, text);
    work.git('add', name);
  };
  stage('twice', 'staged\n');
  work.write('twice', 'edited since\n');
  stage('back', 'staged only\n');
  work.write('back', 'back\n');
  stage('new', 'new\n');
  stage('gone', 'only in the index\n');
  work.git('rm', '--cached', '--quiet', 'away');
  chmodSync(work.path('mode'), 0o755);
  work.git('add', 'mode');
  work.write('intended', 'later\n');
  work.git('add', '--intent-to-add', 'intended');
  work.git('update-index', '--assume-unchanged', 'assumed');
  work.git('update-index', '--skip-worktree', 'skipped');
  return work;
}

describe('what the user has staged stays as it is', () => {
  type Kind = readonly [script: string, also?: (work: Repo) => void, committed?: readonly string[]];
  const kinds: Readonly<Record<string, Kind>> = {
    'after a plain commit': ['echo more > work; echo made > made'],
    'when the agent stages a file and edits it again': [
      'echo once > work; echo made > made; git add work made; echo twice > work; echo again > made',
    ],
    'when a hook reformats, and adds every file that git knows': [
      'echo more > work; echo made > made',
      work => hook(work, 'echo formatted > work; git add --update'),
      ['twice', 'mode'],
    ],
    'when files of the user are committed, too': [
      'echo more > work; echo made > made; echo mine >> quiet',
      work => {
        work.write('quiet', 'staged\n');
        work.git('add', 'quiet');
        work.write('quiet', 'edited\n');
      },
      ['quiet'],
    ],
    'in an index of another kind': [
      'echo once > work; git add work; echo more > work; echo made > made',
      work => {
        work.git('config', 'core.untrackedCache', 'true');
        work.git('update-index', '--index-version', '4', '--split-index', '--untracked-cache');
      },
    ],
  };
  test.for(Object.entries(kinds))('%s', async ([, [script, also, more = []]]) => {
    const work = planted();
    also?.(work);
    const committed = ['work', 'made', ...more].sort();
    const before = entries(work, ...committed);
    const versions = more.map(name => work.git('rev-parse', `:${name}`).trim());
    const { code, stdout } = await run(work, script, { commitDirty: more.includes('quiet') });
    expect(code, stdout).toBe(0);
    expect(work.git('show', '--format=', '--name-only', 'HEAD').trim().split('\n').sort()).toEqual(committed);
    expect(entries(work, ...committed)).toEqual(before);
    expect(work.git('diff', '--cached', '--name-only', 'HEAD', '--', ...committed)).toBe('');
    const reachable = work.git('rev-list', '--objects', '--all').split(/\s/);
    for (const version of versions) expect(reachable).toContain(version);
  });

  test('and so do conflicts that the agent leaves', async () => {
    const work = planted();
    const before = entries(work, 'work', 'quiet');
    const oid = work.git('rev-parse', 'HEAD:quiet').trim();
    const stages = [1, 2, 3].map(stage => `100644 ${oid} ${stage}\tquiet`);
    const conflict = `printf '0 ${'0'.repeat(40)}\\tquiet\\n${stages.join('\\n')}\\n' | git update-index --index-info`;
    const { code, stdout } = await run(work, `${conflict}; echo more > work; git add work; echo most > work`);
    expect(code, stdout).toBe(0);
    expect(work.git('ls-files', '--unmerged').trim().split('\n')).toEqual(stages);
    expect(entries(work, 'work', 'quiet')).toEqual(before);
  });

  test('and a version that a committed one takes the place of is kept, and said', {
    tags: 'promise',
  }, async () => {
    const work = repo({ a: 'a\n', b: 'b\n' });
    for (const name of ['a', 'folder', 'b']) {
      work.write(name, `staged ${name}\n`);
      work.git('add', name);
    }
    for (const name of ['a', 'b']) work.write(name, `${name}\n`);
    const before = entries(work, 'a', 'folder', 'folder/file');
    const { code, stdout } = await run(
      work,
      'echo agent > a; rm folder; mkdir folder; echo x > folder/file',
      {
        commitDirty: true,
      },
    );
    expect(code).toBe(0);
    expect(work.git('status', '--porcelain', '--', 'a', 'folder')).toBe('');
    expect(entries(work, 'a', 'folder', 'folder/file')).toEqual(before);
    const ref =
      /refs\/ralph\/kept\/\S+?\/_staged\/[0-9a-f]{12}/.exec(stdout.replace(/\n\s*/g, ''))?.[0] ?? '';
    expect(work.git('show', `${ref}:a`)).toBe('staged a\n');
    expect(work.git('show', `${ref}:folder`)).toBe('staged folder\n');
    expect(work.git('show', '--format=', '--name-only', ref)).toBe('a\nfolder\n');
    work.git('restore', '--staged', `--source=${ref}`, '--', 'a');
    expect(work.git('show', ':a')).toBe('staged a\n');
  });

  test('when Ralph is killed between the commit of a hook and the index', async () => {
    const work = planted();
    hook(work, 'echo formatted > work; git add work');
    // It runs when the branch has moved and before the index follows.
    const late = '#!/bin/sh\ntest -e .git/late || { touch .git/late; sleep 1000; }\n';
    writeFileSync(work.path('.git/hooks/post-commit'), late, { mode: 0o755 });
    const before = entries(work, 'work');
    work.settings({ scm: { command: 'git', tasks: ['commit'] } });
    const options = { cwd: work.dir };
    const agent = agentOf('echo more > work');
    const killed = startRalph(['run', '-p', 'Do it', '-m', '1', '--agent', agent], options);
    const watched = watch(work.path('.git'), () => {
      if (existsSync(work.path('.git/late'))) killed.process.kill('SIGKILL');
    });
    await killed.finished;
    watched.close();
    expect(work.git('show', 'HEAD:work')).toBe('formatted\n');
    expect(work.git('show', ':work')).toBe('work\n');
    const again = await ralph(['resume'], options);
    expect(again.code, again.stderr).toBe(0);
    expect(work.git('show', ':work')).toBe('formatted\n');
    expect(entries(work, 'work')).toEqual(before);
    expect(work.git('log', '--oneline').trim().split('\n')).toHaveLength(2);
  });
});

test('a run that would commit is refused where conflicts are not resolved, and others are not', async () => {
  const work = repo({ a: 'a\n', b: 'b\n' });
  work.write('a', 'mine\n');
  work.git('stash', '--quiet');
  work.write('a', 'theirs\n');
  work.git('commit', '--quiet', '--all', '--message', 'theirs');
  expect(() => work.git('stash', 'pop', '--quiet')).toThrow();
  const before = entries(work);
  const { code, stderr } = await run(work, 'echo b > made');
  expect(code).toBe(2);
  expect(stderr.replace(/\s+/g, ' ')).toMatch(/conflicts that are not resolved: a.*git add/);
  expect([existsSync(work.path('made')), entries(work)]).toEqual([false, before]);
  expect((await run(work, 'echo b > made', { scm: {} })).code).toBe(0);
  expect(entries(work)).toEqual(before);
});
