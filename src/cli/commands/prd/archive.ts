/** `ralph prd archive`: moves a list to the archive and starts a new one. */
import { relative } from 'node:path';
import type { StoryList } from '../../../domain/stories/story.ts';
import { systemClock } from '../../../platform/clock.ts';
import { archiveSummary } from '../../../report/stories.ts';
import { liveLoop } from '../../../run/stories/open.ts';
import { projectPaths } from '../../../store/paths.ts';
import { archiveFolder, day, startedOn } from '../../../store/prd-folder.ts';
import type { PrdPaths } from '../../../store/prd-paths.ts';
import { isList, loadTasks } from '../../../store/tasks-file.ts';
import { commitPaths } from '../../../workspace/commit-paths.ts';
import { answer, type CliCommand, Problems } from '../../command.ts';
import { declarePlace, factsOf, placeOf } from './place.ts';

export const archive: CliCommand = {
  declare: command =>
    declarePlace(command)
      .option('--label <label>', 'the name of the archive; default: that of the branch')
      .option('--force', 'archive also an unfinished or invalid list'),
  help: '\nExamples:\n  ralph prd archive\n  ralph prd archive --label "first try" --force\n',
  async run(given) {
    const { call, paths } = placeOf(given);
    const { options, env, output, cwd } = call;
    const list = listOf(paths, options.force === true);
    const now = systemClock.now();
    const label = typeof options.label === 'string' ? options.label : list.branchName.replace(/^ralph\//, '');
    const days = { from: startedOn(paths) ?? 'unknown', to: day(now) };
    const summary = archiveSummary(list, { ...days, ...(await factsOf(call, paths, list)) });
    const named = { name: undefined, now };
    const { folder, touched } = archiveFolder(paths, label || list.project, summary, named);
    const where = relative(cwd, folder);
    const commit = await commitPaths({ cwd, env }, touched, `chore: archive ${where}`);
    const said = commit.why === '' ? '.' : `: ${commit.why.replace(/\.?$/, '.')}`;
    const committed = `and ${commit.done ? '' : 'not '}committed${said}`;
    answer(
      output,
      { folder: where, committed: commit.done },
      () => `${where}/ holds prd.md, tasks.json, progress.txt and summary.md, ${committed}
${paths.name}/ is new. Next: ralph prd plan`,
    );
    return 0;
  },
};

/** Throws when something may be lost, or there is nothing to archive. */
function listOf(paths: PrdPaths, force: boolean): StoryList {
  const busy = liveLoop(paths, projectPaths(paths.root));
  if (busy) throw new Problems([busy]);
  const tasks = `${paths.name}/tasks.json`;
  const list = loadTasks(paths.tasks, tasks);
  const fix = '--force archives it all the same';
  if (!isList(list)) {
    if (force) return { project: paths.name, branchName: '', description: '', userStories: [] };
    throw new Problems(list.map(problem => ({ fix, ...problem })));
  }
  const open = list.userStories.filter(story => !story.passes);
  if (open.length > 0 && !force)
    throw new Problems(open.map(({ id }) => ({ where: tasks, what: `story ${id} is not done`, fix })));
  return list;
}
