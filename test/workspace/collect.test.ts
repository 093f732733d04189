/** What nobody needs any more goes, and nothing else does. */
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPaths } from '../../src/store/paths.ts';
import { createRun } from '../../src/store/run-file.ts';
import { statePaths } from '../../src/store/state.ts';
import { makeCleanPlace } from '../../src/workspace/clean-checkout.ts';
import { collectGit } from '../../src/workspace/collect.ts';
import { type OwnGit, openOwnGit } from '../../src/workspace/own-git.ts';
import { type Repo, repo, stateEnv } from '../rig/repo.ts';

async function opened(work: Repo, env: Record<string, string>): Promise<OwnGit> {
  const own = await openOwnGit({ cwd: work.dir, env });
  if ('what' in own) throw new Error(own.what);
  await own.begin();
  return own;
}

/** As if nobody had been there for a day. */
function age(path: string): void {
  const then = Date.now() / 1000 - 86_400;
  utimesSync(path, then, then);
}

function record(work: Repo, env: Record<string, string>): void {
  createRun(projectPaths(work.dir, env), { command: 'loop', version: '0', config: {}, now: Date.now() });
}

describe('a git directory', () => {
  test('goes when no run of its work tree is on record, and is made again when one begins', async () => {
    const [work, env] = [repo(), stateEnv()];
    const own = await opened(work, env);
    const place = statePaths(env).git(own.top);
    expect(collectGit(env).tops).toEqual([]); // a run may be about to begin
    age(place);
    expect(collectGit(env, true)).toMatchObject({ tops: [own.top] });
    expect(existsSync(place)).toBe(true);
    const { tops, bytes } = collectGit(env);
    expect([tops, bytes > 0, existsSync(place)]).toEqual([[own.top], true, false]);
    expect(await (await opened(work, env)).snapshot()).toHaveProperty('tree');
  });

  test('stays for as long as there is a run, also where the project is gone or moved', async () => {
    const [work, env] = [repo({ 'in/a': 'a\n' }), stateEnv()];
    const own = await opened(work, env);
    record({ ...work, dir: work.path('in') }, env);
    age(statePaths(env).git(own.top));
    expect(collectGit(env).tops).toEqual([]);
    rmSync(work.dir, { recursive: true });
    expect(collectGit(env).tops).toEqual([]);
  });

  test('that somebody else put there is left alone', () => {
    const env = stateEnv();
    const place = statePaths(env).git('/nowhere');
    mkdirSync(place, { recursive: true });
    age(place);
    expect(collectGit(env).tops).toEqual([]);
    expect(existsSync(place)).toBe(true);
  });

  test('of many packs becomes one, with what no name leads to', async () => {
    const [work, env] = [repo(), stateEnv()];
    const own = await opened(work, env);
    const lonely = own.writeBlob(Buffer.from('in no tree\n'));
    for (let at = 0; at < 45; at++) {
      work.write('a', `${at}\n`);
      work.git('commit', '--quiet', '--all', '--allow-empty', '--message', `${at}`);
      work.git('add', 'a');
      work.git('commit', '--quiet', '--message', `${at}b`, '--allow-empty');
      await own.bring(work.git('rev-parse', 'HEAD').trim());
    }
    const packs = () =>
      readdirSync(join(own.objects.cwd, 'objects/pack')).filter(name => name.endsWith('.pack')).length;
    expect(packs()).toBeGreaterThan(40);
    await own.begin();
    expect(packs()).toBe(1);
    expect((await own.objects.run(['cat-file', '-p', lonely])).stdout).toBe('in no tree\n');
  });
});

test('a clean checkout of a process that is gone is removed by the next one', () => {
  const namespace = /-(\d+)-\d+-/.exec(placeName())?.[1] ?? '0';
  const dead = join(tmpdir(), `ralph-clean-${namespace}-999999999-x`);
  const foreign = join(tmpdir(), 'ralph-clean-1-999999999-x');
  for (const each of [dead, foreign]) mkdirSync(join(each, 'checkout'), { recursive: true });
  placeName();
  expect([existsSync(dead), existsSync(foreign)]).toEqual([false, true]);
  rmSync(foreign, { recursive: true });
});

function placeName(): string {
  const place = makeCleanPlace();
  if ('what' in place) throw new Error(place.what);
  place.remove();
  return place.folder;
}
