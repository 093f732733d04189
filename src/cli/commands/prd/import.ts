/** `ralph prd import FILE`: the stories of another loop's prd.json. */
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { convertForeignList } from '../../../domain/foreign-list.ts';
import type { Problem } from '../../../domain/problem.ts';
import { readList, type StoryList } from '../../../domain/story.ts';
import { systemClock } from '../../../platform/clock.ts';
import { errorWords, readIfThere } from '../../../platform/files.ts';
import { fillFolder, ignoreActive } from '../../../store/prd-folder.ts';
import type { PrdPaths } from '../../../store/prd-paths.ts';
import { isList, writeTasks } from '../../../store/tasks-file.ts';
import { isUntouchedTemplate } from '../../../store/templates.ts';
import { answer, type CliCommand, Problems } from '../../command.ts';
import { declarePlace, placeOf } from './place.ts';

export const importList: CliCommand = {
  declare(command) {
    declarePlace(command)
      .argument('<file>', 'a prd.json with userStories')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph prd import prd.json\n\nStories that pass there are imported as built, and wait for a review.\n',
      );
  },
  async run(given) {
    const { call, paths } = placeOf(given);
    const [file = ''] = call.args;
    const list = readForeign(resolve(given.cwd, file), file);
    const problems = [...(isList(list) ? [] : list), ...inTheWay(paths)];
    if (problems.length > 0 || !isList(list)) throw new Problems(problems);
    fillFolder(paths, { name: list.project.trim() || undefined, now: systemClock.now() });
    writeTasks(paths.tasks, list);
    ignoreActive(paths);
    const waiting = list.userStories.filter(story => story.reviewStatus === 'needs_review').length;
    const { length: stories } = list.userStories;
    const tasks = relative(call.cwd, paths.tasks);
    answer(
      call.output,
      { stories, waiting },
      () => `${stories} stories are in ${tasks}; ${waiting} of them are built and wait for a review.
Next: write ${paths.name}/prd.md, then ralph prd run`,
    );
    return 0;
  },
};

function readForeign(path: string, name: string): StoryList | readonly Problem[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    return [{ where: name, what: `cannot be read: ${errorWords(error)}` }];
  }
  const list = readList(convertForeignList(value));
  return isList(list) ? list : list.map(flaw => ({ where: name, what: flaw.message }));
}

/** A list that somebody has written is not overwritten. */
function inTheWay(paths: PrdPaths): readonly Problem[] {
  const tasks = readIfThere(paths.tasks);
  if (tasks === undefined || isUntouchedTemplate(tasks)) return [];
  const where = relative(paths.root, paths.tasks);
  const what = 'is there already, and nothing is overwritten';
  return [{ where, what, fix: 'ralph prd archive --force' }];
}
