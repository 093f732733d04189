/** The way back to an earlier tree: only what the run changed, and the same when it was cut off anywhere. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keepAside, moveBack, planWayBack, statWords } from '../../src/workspace/go-back.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { type Repo, repo, stateEnv } from '../rig/repo.ts';

const env = stateEnv();
const LONG = `${'as it was\n'.repeat(100)}`;

/** The tree of the best iteration has `a`, `b` and `best`; the worse one after it changed, deleted and added. */
async function worse() {
  const work = repo({ a: LONG, b: 'b\n', mine: 'committed\n', '.gitignore': 'cache\n' });
  work.write('mine', 'not committed\n');
  const own = await openOwnGit({ cwd: work.dir, env });
  if ('what' in own) throw new Error(own.what);
  await own.begin();
  work.write('best', 'best\n');
  const best = await own.snapshot();
  if ('what' in best) throw new Error(best.what);
  work.write('a', 'worse\n');
  rmSync(work.path('b'));
  rmSync(work.path('best'));
  work.write('worse/new', 'new\n');
  const way = await planWayBack(own, best.tree, undefined);
  if ('what' in way) throw new Error(way.what);
  return { work, own, way, best };
}

const lookAt = (work: Repo) =>
  ['a', 'b', 'best', 'worse/new', 'mine'].map(name =>
    existsSync(work.path(name)) ? readFileSync(work.path(name), 'utf8') : null,
  );

const BACK = [LONG, 'b\n', 'best\n', null, 'not committed\n'];

test('everything that was changed since is as it was then', async () => {
  const { work, own, way } = await worse();
  expect(await moveBack(own, way)).toHaveLength(4);
  expect(lookAt(work)).toEqual(BACK);
  expect(await statWords(own, way.tree, way.aside)).toBe(
    'a (+1 -100), b (+0 -1), best (+0 -1), worse/new (+1 -0)',
  );
});

test.each<[string, (work: Repo) => void]>([
  ['after one file', work => work.write('b', 'b\n')],
  ['between two', work => rmSync(work.path('a'))],
  ['before the first byte of a file', work => work.write('a', '')],
  ['in the middle of a file', work => work.write('a', LONG.slice(0, 500))],
  ['when a new file was gone', work => rmSync(work.path('worse'), { recursive: true })],
  [
    'when all was done',
    work => {
      for (const [at, name] of ['a', 'b', 'best'].entries()) work.write(name, BACK[at] ?? '');
    },
  ],
])('cut off %s, it is finished', async (_, cutOff) => {
  const { work, own, way } = await worse();
  cutOff(work);
  expect(await moveBack(own, way)).toHaveLength(4);
  expect(lookAt(work)).toEqual(BACK);
});

test('what the user has written while it was cut off stays', async () => {
  const { work, own, way } = await worse();
  work.write('a', 'by the user\n');
  work.write('mine', 'changed again\n');
  work.write('other', 'new of the user\n');
  await moveBack(own, way);
  expect(lookAt(work)).toEqual(['by the user\n', 'b\n', 'best\n', null, 'changed again\n']);
  expect(work.read('other')).toBe('new of the user\n');
});

test('where a file that git ignores is in the way, nothing is moved', async () => {
  const { work, own, best } = await worse();
  const cache = { mode: '100644', oid: await own.writeBlob(Buffer.from('of the run\n')) };
  const to = await own.treeWith(best.tree, [{ bytes: 'cache', after: cache }]);
  work.write('cache', 'hidden\n');
  const before = lookAt(work);
  const way = typeof to === 'string' ? await planWayBack(own, to, undefined) : to;
  if ('what' in way) throw new Error(way.what);
  expect(await moveBack(own, way)).toMatchObject({ what: 'cache is hidden from git and in the way' });
  expect([lookAt(work), work.read('cache')]).toEqual([before, 'hidden\n']);
});

test('a folder of the run stays out of it, and what is put aside is kept under a name', async () => {
  const { work, own, best, way } = await worse();
  const apart = await planWayBack(own, best.tree, path => path.startsWith('worse/'));
  if ('what' in apart) throw new Error(apart.what);
  await moveBack(own, apart);
  expect(work.read('worse/new')).toBe('new\n');
  const commit = await keepAside(own, 'refs/ralph/aside/r1/3', way.aside);
  expect((await own.objects.run(['rev-parse', 'refs/ralph/aside/r1/3'])).stdout.trim()).toBe(commit);
});
