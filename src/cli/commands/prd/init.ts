/** `ralph prd init`: the files of a new list, from the templates. */
import { relative } from 'node:path';
import { systemClock } from '../../../platform/clock.ts';
import { ignoreActive, initFolder } from '../../../store/prd-folder.ts';
import { type CliCommand, Problems } from '../../command.ts';
import { declarePlace, placeOf } from './place.ts';

export const init: CliCommand = {
  declare(command) {
    declarePlace(command)
      .option('--name <feature>', 'the feature to build; the branch is named after it')
      .addHelpText('after', '\nExamples:\n  ralph prd init\n  ralph prd init --name "Saved searches"\n');
  },
  async run(given) {
    const { call, paths } = placeOf(given);
    const { name } = call.options;
    if (typeof name === 'string' && name.trim() === '')
      throw new Problems([{ where: '--name', what: 'must not be empty' }]);
    const problems = initFolder(paths, {
      name: typeof name === 'string' ? name.trim() : undefined,
      now: systemClock.now(),
    });
    if (problems.length > 0) throw new Problems(problems);
    const ignored = ignoreActive(paths);
    if (call.output.json) {
      call.output.answer(`${JSON.stringify({ folder: paths.folder, tasks: paths.tasks })}\n`);
      return 0;
    }
    const folder = relative(paths.root, paths.folder) || '.';
    call.output.answer(`Created ${folder}/: prd.md, tasks.json, progress.txt, prompt.md.
${ignored ? '.ralph-active was added to .gitignore.\n' : ''}
Next:
  1. ralph prd plan     plan it with an agent, or write prd.md and tasks.json
  2. ralph prd status   check the list
  3. ralph prd run      build it, story by story
`);
    return 0;
  },
};
