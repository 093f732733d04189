import { chmodSync, readdirSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ourselves } from '../../src/platform/process-table.ts';
import { deliver } from '../../src/workspace/commit-in-repository.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { folder, repo, stateEnv } from '../rig/repo.ts';

test('objects whose copying a kill cut off are copied again', { tags: 'promise' }, async () => {
  const project = repo();
  // More than are copied one by one.
  for (let at = 0; at < 150; at++) project.write(`work-${at}.txt`, `work ${at}\n`);
  const own = await openOwnGit({ cwd: project.dir, env: stateEnv() });
  if ('what' in own) throw new Error(own.what);
  const [snapshot, before] = [await own.snapshot(), await own.treeOf((await own.head()).commit)];
  if ('what' in snapshot || typeof before !== 'string') throw new Error('no tree');
  expect(await deliver(own, snapshot.tree, before)).toBeUndefined();
  const folder = project.path('.git/objects/pack');
  for (const name of readdirSync(folder)) truncateSync(`${folder}/${name}`, 10);
  expect(() => project.git('ls-tree', snapshot.tree)).toThrow();
  const { pid, started } = ourselves();
  const [left, another] = [`tmp_ralph_${pid}_${started}0`, `tmp_ralph_${process.ppid}_`];
  for (const name of [left, another]) project.write(`.git/objects/pack/${name}`, 'half');
  expect(await deliver(own, snapshot.tree, before)).toBeUndefined();
  expect(project.git('ls-tree', '--name-only', snapshot.tree)).toContain('work-1.txt');
  const rest = readdirSync(folder).filter(name => !name.startsWith('pack-'));
  expect(rest, 'what a process is still copying stays').toEqual([another]);
});

test('a few objects are copied as git itself leaves them, and make no pack', async () => {
  const project = repo();
  project.write('work.txt', 'work\n');
  const own = await openOwnGit({ cwd: project.dir, env: stateEnv() });
  if ('what' in own) throw new Error(own.what);
  const [snapshot, before] = [await own.snapshot(), await own.treeOf((await own.head()).commit)];
  if ('what' in snapshot || typeof before !== 'string') throw new Error('no tree');
  const object = project.path(`.git/objects/${snapshot.tree.slice(0, 2)}/${snapshot.tree.slice(2)}`);
  expect(await deliver(own, snapshot.tree, before)).toBeUndefined();
  project.git('fsck', '--strict');
  chmodSync(object, 0o644);
  truncateSync(object, 3);
  expect(await deliver(own, snapshot.tree, before)).toBeUndefined();
  expect(project.git('ls-tree', '--name-only', snapshot.tree)).toContain('work.txt');
  expect(readdirSync(project.path('.git/objects/pack'))).toEqual([]);
});

test('no object goes through a link that leads elsewhere', async () => {
  const [project, outside] = [repo(), folder()];
  project.write('work.txt', 'work\n');
  const own = await openOwnGit({ cwd: project.dir, env: stateEnv() });
  if ('what' in own) throw new Error(own.what);
  const [snapshot, before] = [await own.snapshot(), await own.treeOf((await own.head()).commit)];
  if ('what' in snapshot || typeof before !== 'string') throw new Error('no tree');
  const place = project.path(`.git/objects/${snapshot.tree.slice(0, 2)}`);
  rmSync(place, { recursive: true, force: true });
  symlinkSync(outside.dir, place);
  expect(await deliver(own, snapshot.tree, before)).toBeUndefined();
  expect(readdirSync(outside.dir)).toEqual([]);
});
