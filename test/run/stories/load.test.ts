/** A list that a run could not start from is refused as a whole, with everything that is wrong with it. */
import { expect, test } from 'vitest';
import type { Story } from '../../../src/domain/stories/story.ts';
import { loadStories } from '../../../src/run/stories/load.ts';
import { prdPaths } from '../../../src/store/prd-paths.ts';
import { isList } from '../../../src/store/tasks-file.ts';
import { STATES, story, storyList } from '../../domain/stories/stories.ts';
import { folder } from '../../rig/repo.ts';
import { POLICY } from './world.ts';

function problems(files: Readonly<Record<string, string>>, policy = POLICY): readonly string[] {
  const place = folder();
  for (const [name, text] of Object.entries(files)) place.write(`ralph/${name}`, text);
  const list = loadStories(prdPaths(place.dir), policy);
  return isList(list) ? [] : list.map(({ where, what }) => `${where}: ${what}`);
}

const tasks = (...stories: readonly Story[]) => JSON.stringify(storyList(...stories));
const files = (list: string) => ({ 'prd.md': '# Demo\n', 'tasks.json': list });

test.each<[string, Parameters<typeof problems>, readonly string[]]>([
  ['a good list', [files(tasks(story('US-001'), story('US-002', STATES.approved)))], []],
  ['nothing at all', [{}], ['ralph/prd.md: there is none', 'ralph/tasks.json: there is none']],
  ['no description', [{ 'tasks.json': tasks(story('US-001')) }], ['ralph/prd.md: there is none']],
  ['no stories', [files(tasks())], ['ralph/tasks.json: there are no stories in it']],
  ['no JSON', [files('{')], [expect.stringContaining('ralph/tasks.json: is not valid JSON')]],
  [
    'a story that passes without a review',
    [files(tasks(story('US-001', { passes: true })))],
    [expect.stringContaining("passes=true but reviewStatus is 'null'")],
  ],
  [
    'the same, where there are no reviews',
    [files(tasks(story('US-001', { passes: true }))), { ...POLICY, skipReview: true }],
    [],
  ],
  // The user may lower the cap between two runs.
  ['more reviews than the cap', [files(tasks(story('US-001', { ...STATES.rejected, reviewCount: 9 })))], []],
])('%s', (_, given, wrong) => {
  expect(problems(...given)).toEqual(wrong);
});
