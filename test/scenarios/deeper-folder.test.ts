import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { folder, gitEnv, type Repo, repo, scriptedAgent } from '../rig/repo.ts';

const COMMIT = { scm: { command: 'git', tasks: ['commit'] } };

const agentOf = (script: string) => scriptedAgent(`${script}\necho '<promise>COMPLETE</promise>'`);

async function loop(cwd: string, script: string, ...words: readonly string[]) {
  const args = ['loop', 'Do it', '--max-iterations', '1', '--json', '--agent', agentOf(script), ...words];
  const { stdout } = await ralph(args, { cwd });
  return JSON.parse(stdout);
}

const committed = (work: Repo) =>
  work.git('show', '--name-only', '--format=', 'HEAD').trim().split('\n').sort();

const NOTES = 'packages/x/.ralph/notes';

describe('a folder that is called as Ralph’s own, deeper in the project', () => {
  test('is work like any other: proven, committed and in the diff', { tags: 'promise' }, async () => {
    const work = repo({ [NOTES]: 'a\n', 'packages/x/.ralph/old': 'old\n' });
    work.settings(COMMIT);
    const script = 'cd packages/x/.ralph && echo b > notes && echo new > new && rm old';
    const check = `grep -q b ${NOTES}`;
    const result = await loop(work.dir, script, '--check', check);
    expect(result).toMatchObject({ stopReason: 'all_checks_passed', proof: { level: expect.any(String) } });
    expect(committed(work)).toEqual(['new', 'notes', 'old'].map(name => `packages/x/.ralph/${name}`));
    const diff = work.read(`.ralph/runs/${result.runId}/iterations/0001/changes.diff`);
    expect(diff).toContain('-a\n+b\n');
    const clone = folder();
    execFileSync('git', ['clone', '-q', work.dir, clone.path('c')], { env: gitEnv() });
    execFileSync('sh', ['-c', check], { cwd: clone.path('c') });
  });

  test('hides nothing from a clean proof, and is in the commit that was proven', async () => {
    const work = repo();
    work.settings(COMMIT);
    const script = 'mkdir -p lib/.ralph && echo 42 > lib/.ralph/answer';
    const result = await loop(work.dir, script, '--check', 'grep 42 lib/.ralph/answer', '--proof', 'clean');
    expect(result).toMatchObject({ stopReason: 'all_checks_passed' });
    expect(committed(work)).toEqual(['lib/.ralph/answer']);
  });

  test('is hidden by no rule that the agent adds', async () => {
    const work = repo();
    const script = 'mkdir -p lib/.ralph && echo "*" > lib/.ralph/.gitignore && echo 42 > lib/.ralph/answer';
    const result = await loop(work.dir, script, '--check', 'grep 42 lib/.ralph/answer', '--strict');
    expect(result).toMatchObject({ success: false });
    expect(result.proof.checkInputsChanged).toEqual(['lib/ (a new rule hides it from git)']);
  });

  test('is protected by a glob that names it, and by --only', async () => {
    const work = repo({ [NOTES]: 'a\n', src: 'a\n' });
    const script = `echo b > ${NOTES}; echo b > src; mkdir -p d/.ralph; echo b > d/.ralph/x`;
    await loop(work.dir, script, '--check', 'true', '--only', 'src');
    expect([work.read(NOTES), work.read('src'), work.git('status', '--porcelain', 'd')]).toEqual([
      'a\n',
      'b\n',
      '',
    ]);
  });

  test('is landed from a worktree', async () => {
    const work = repo({ [NOTES]: 'a\n' });
    await loop(work.dir, `echo b > ${NOTES}`, '--check', 'true', '--worktree=w');
    const { code, stderr } = await ralph(['land'], { cwd: work.dir });
    expect(code, stderr).toBe(0);
    expect(work.read(NOTES)).toBe('b\n');
  });

  test('is not that of a project in a subfolder, wherever the command is given', async () => {
    const work = repo({ 'p/.ralph/settings.json': JSON.stringify(COMMIT), 'p/a': 'a\n', [NOTES]: 'a\n' });
    const script = `echo '{}' > .ralph/settings.json; echo b > a; echo b > ../${NOTES}; mkdir -p in/.ralph; echo b > in/.ralph/x`;
    const result = await loop(work.path('p'), script, '--check', 'true');
    expect(result).toMatchObject({ stopReason: 'all_checks_passed' });
    expect(committed(work)).toEqual(['p/a', 'p/in/.ralph/x', NOTES]);
    const bundle = folder().path('bundle');
    const made = await ralph(['report', '--bundle', bundle], { cwd: work.path('p') });
    expect(made.code, made.stderr).toBe(0);
    for (const cwd of [work.dir, work.path('p')]) {
      const { code, stdout } = await ralph(['verify', bundle], { cwd });
      expect(code, stdout).toBe(0);
    }
  });
});
