import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { folder, gitEnv, type Repo, repo, scriptedAgent } from '../rig/repo.ts';

const agentOf = (script: string) => scriptedAgent(`${script}\necho "<response>DONE</response>"`);

async function run(work: Repo, script: string, check: string, settings: object = {}) {
  const scm = { command: 'git', tasks: ['commit'] };
  work.settings({ scm, guardrails: [{ command: check }], ...settings });
  const args = ['run', '-p', 'Do it', '-m', '1', '--agent', agentOf(script), '--json'];
  const { code, stdout, stderr } = await ralph(args, { cwd: work.dir });
  return { code, stderr: stderr.replace(/\s+/g, ' '), result: JSON.parse(stdout) };
}

/** The exit code of a check in a clone of a commit, as somebody else would have it. */
function inClone(work: Repo, commit: string, check: string): number {
  const place = folder('ralph-clone-');
  place.git('clone', '--quiet', work.dir, 'clone');
  const cwd = place.path('clone');
  try {
    execFileSync('git', ['checkout', '--quiet', commit], { cwd, env: gitEnv() });
    execFileSync('/bin/sh', ['-c', check], { cwd, env: gitEnv(), stdio: 'ignore' });
    return 0;
  } catch {
    return 1;
  }
}

const commits = (work: Repo) => work.git('log', '--format=%s').trim().split('\n').length;

interface Omission {
  prepare?(work: Repo): void;
  readonly agent: string;
  readonly check: string;
  readonly said: RegExp;
  /** It is known only when there is a commit. */
  readonly isCommitted?: true;
}

const omissions: Readonly<Record<string, Omission>> = {
  'a file that the user had changed': {
    prepare: work => work.write('a', 'mine\n'),
    agent: 'echo made > made',
    check: 'test -e made && grep -q mine a',
    said: /without a \(you had changed it before the run\)/,
  },
  'a file that git does not know, and is the user’s': {
    prepare: work => work.write('notes', 'mine\n'),
    agent: 'echo made > made',
    check: 'test -e made && test -e notes',
    said: /without notes \(you had changed it before the run\)/,
  },
  'a file that both have changed': {
    prepare: work => work.write('a', 'mine\n'),
    agent: 'echo agent > a',
    check: 'grep -q agent a',
    said: /without a \(you had changed it before the run; see commitDirty\)/,
  },
  'a new file that looks like a secret': {
    agent: 'echo k=1 > prod.env',
    check: 'test -e prod.env',
    said: /without prod.env \(it looks like a secret/,
  },
  'a file above 100 MB': {
    agent: 'echo made > made; truncate -s 101M big',
    check: 'test -e big',
    said: /without big \(it is too large/,
  },
  'a repository inside': {
    agent: 'echo made > made; mkdir in; git init -q in; echo x > in/x',
    check: 'test -e in/x',
    said: /without in \(a repository inside\)/,
  },
  'a submodule that has moved': {
    prepare(work) {
      const other = repo({ x: 'x\n' });
      work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.dir, 'sub');
      work.git('commit', '--quiet', '--message', 'sub');
    },
    agent: 'echo made > made; cd sub; echo y > y; git add y; git commit -q -m y',
    check: 'test -e sub/y',
    said: /without sub \(a submodule that has moved\)/,
  },
  'a file that a filter changes': {
    prepare(work) {
      work.write('.gitattributes', '*.secret filter=crypt\n');
      work.git('add', '.gitattributes');
      work.git('commit', '--quiet', '--message', 'attributes');
      work.git('config', 'filter.crypt.clean', 'tr a-z n-za-m');
    },
    agent: 'echo abc > x.secret',
    check: 'grep -q abc x.secret',
    said: /without x.secret \(the commit has it/,
    isCommitted: true,
  },
  'a file that a hook changes in the commit alone': {
    prepare: work =>
      work.write(
        '.git/hooks/pre-commit',
        '#!/bin/sh\ngit update-index --add --cacheinfo 100644,$(echo hook | git hash-object -w --stdin),made\n',
      ),
    agent: 'chmod +x .git/hooks/pre-commit; echo made > made',
    check: 'grep -q made made',
    said: /without made \(the commit has it/,
    isCommitted: true,
  },
};

test.for(Object.entries(omissions))(
  'a check that needs %s does not pass for what is committed',
  async ([, { prepare, agent, check, said, isCommitted }]) => {
    const work = repo({ a: 'a\n' });
    prepare?.(work);
    const before = commits(work);
    const { code, stderr, result } = await run(work, agent, check);
    expect(code, stderr).toBe(1);
    expect(result).toMatchObject({ success: false, stopReason: 'max_iterations' });
    expect(result.detail).toMatch(said);
    expect(commits(work) - before).toBe(isCommitted ? 1 : 0);
    expect(inClone(work, 'main', check)).toBe(1);
  },
);

test('what a check does not need is left out, and the rest is proven with what git ignores', {
  tags: 'promise',
}, async () => {
  const work = repo({ a: 'a\n', '.gitignore': 'deps\n' });
  work.write('a', 'mine\n');
  work.write('notes', 'mine\n');
  work.script('deps/tool', 'test -e made');
  const check = 'deps/tool';
  const { code, stderr, result } = await run(work, 'echo made > made; echo k > .env', check);
  expect(code, stderr).toBe(0);
  expect(result.proof).toMatchObject({ level: 'place', commit: work.git('rev-parse', 'HEAD').trim() });
  expect(stderr).toContain('Not committed: .env (it looks like a secret');
  expect(inClone(work, result.proof.commit, 'test -e made')).toBe(0);
  expect(work.read('deps/tool')).toContain('made');
});

test('a clean proof is one of the commit', { tags: ['promise', 'P-proof-clean'] }, async () => {
  const clean = { proof: 'clean' };
  const work = repo({ a: 'a\n' });
  work.write('a', 'mine\n');
  const needs = 'test -e made && grep -q mine a';
  const red = await run(work, 'echo made > made', needs, clean);
  expect([red.code, commits(work)]).toEqual([1, 1]);
  expect(red.result.detail).toMatch(/without a \(you had changed it before the run\)/);
  const green = await run(work, 'echo more > more', 'test -e more', clean);
  expect(green.code, green.stderr).toBe(0);
  expect(green.result.proof.level).toBe('clean');
  expect(inClone(work, green.result.proof.commit, 'test -e more')).toBe(0);
});
