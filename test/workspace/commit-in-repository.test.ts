import { readdirSync, truncateSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ourselves } from '../../src/platform/process-table.ts';
import { deliver } from '../../src/workspace/commit-in-repository.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { repo, stateEnv } from '../rig/repo.ts';

test('objects whose copying a kill cut off are copied again', { tags: 'promise' }, async () => {
  const project = repo();
  project.write('work.txt', 'work\n');
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
  expect(project.git('ls-tree', '--name-only', snapshot.tree)).toContain('work.txt');
  const rest = readdirSync(folder).filter(name => !name.startsWith('pack-'));
  expect(rest, 'what a process is still copying stays').toEqual([another]);
});
