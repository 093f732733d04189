/** `ralph prd init`: the files of a new list, from the templates. */
import { relative } from 'node:path';
import { systemClock } from '../../../platform/clock.ts';
import { ignoreActive, initFolder } from '../../../store/prd-folder.ts';
import { answer, type CliCommand, Problems, refuse } from '../../command.ts';
import { checkWords, declarePlace, foundChecks, placeOf } from './place.ts';

export const init: CliCommand = {
  declare: command =>
    declarePlace(command).option('--name <feature>', 'the feature to build; the branch is named after it'),
  help: '\nExamples:\n  ralph prd init\n  ralph prd init --name "Saved searches"\n',
  async run(given) {
    const { call, paths } = placeOf(given);
    const { name } = call.options;
    const feature = typeof name === 'string' ? name.trim() : undefined;
    if (feature === '') refuse('--name', 'must not be empty');
    const checks = foundChecks(call, paths);
    const problems = initFolder(paths, { name: feature, now: systemClock.now(), checks });
    if (problems.length > 0) throw new Problems(problems);
    const ignored = ignoreActive(paths);
    const { folder, tasks } = paths;
    answer(
      call.output,
      { folder, tasks, checks },
      () => `Created ${relative(paths.root, folder) || '.'}/: prd.md, tasks.json, progress.txt, prompt.md.
${checkWords(checks)}${ignored ? '.ralph-active was added to .gitignore.\n' : ''}
Next:
  1. ralph prd plan     plan it with an agent, or write prd.md and tasks.json
  2. ralph prd status   check the list
  3. ralph prd run      build it, story by story`,
    );
    return 0;
  },
};
