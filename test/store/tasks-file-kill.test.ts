/** What a kill leaves of a list that is being written is not among the files that an agent commits. */
import { mkdirSync, readdirSync, renameSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeTasks } from '../../src/store/tasks-file.ts';
import { story, storyList } from '../domain/stories/stories.ts';
import { folder } from '../rig/repo.ts';

test('it is written aside, and only then put in its place', async () => {
  const { dir } = folder();
  const [place, aside] = [join(dir, 'worktree'), join(dir, 'aside')];
  for (const each of [place, aside]) mkdirSync(each);
  const seen: (string | null)[] = [];
  const watching = watch(place, (_, name) => seen.push(name));
  writeTasks(join(place, 'tasks.json'), storyList(story('US-001')), aside);
  // What comes behind it has been told when this is.
  writeFileSync(join(dir, 'last'), '');
  renameSync(join(dir, 'last'), join(place, 'last'));
  await expect.poll(() => seen).toContain('last');
  watching.close();
  expect(new Set(seen)).toEqual(new Set(['tasks.json', 'last']));
  expect(readdirSync(aside)).toEqual([]);
});
