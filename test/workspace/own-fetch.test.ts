/** A fetch into Ralph's own directory brings a commit with its files, or not at all. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { gitEnv, repo } from '../rig/repo.ts';

test('what is fetched arrives as one pack, never object by object', async () => {
  const { dir, git } = repo({ 'a.txt': 'a\n', 'b/c.txt': 'c\n' });
  const own = await openOwnGit({ cwd: dir, env: gitEnv() });
  if ('what' in own) throw new Error(own.what);
  const commit = git('rev-parse', 'HEAD').trim();
  expect(await own.treeOf(commit)).toBe(git('rev-parse', 'HEAD^{tree}').trim());
  const packs = readdirSync(join(own.objects.cwd, 'objects/pack')).filter(name => name.endsWith('.pack'));
  expect(packs.length).toBeGreaterThan(0);
  const loose = execFileSync('git', ['count-objects', '-v'], {
    cwd: own.objects.cwd,
    encoding: 'utf8',
    env: { ...process.env, GIT_DIR: own.objects.cwd },
  });
  const listed = execFileSync(
    'git',
    ['verify-pack', '-v', join(own.objects.cwd, 'objects/pack', packs[0] ?? '')],
    { encoding: 'utf8' },
  );
  expect(listed, loose).toContain(commit);
});
