/** Ralph's extension in Gemini CLI: files in a folder of its own. */
import { join } from 'node:path';
import { parseObject, wordAt } from '../../domain/json.ts';
import { copyFolder, copyProgram, GATE, type HostPlugin, type Place, PROGRAM } from '../plugin.ts';

const FOLDER = 'gemini';

export const geminiPlugin: HostPlugin = {
  name: 'gemini',
  title: 'Gemini CLI',
  folder: FOLDER,
  installed(place) {
    const manifest = place.read(join(extension(place), 'gemini-extension.json'));
    return wordAt(parseObject(manifest ?? ''), 'version');
  },
  install: place => [
    ...copyFolder(place, FOLDER, extension(place)),
    ...copyProgram(place, [...PROGRAM, GATE], join(extension(place), 'bin')),
  ],
  remove: place => [{ kind: 'remove', path: extension(place) }],
  cautions({ env }) {
    if (env.RALPH_CLEAR_CONTEXT === '1') return [];
    return [
      {
        text: 'Set RALPH_CLEAR_CONTEXT=1 in the environment to start every iteration with a cleared context.',
      },
    ];
  },
};

function extension({ env, home }: Place): string {
  return join(env.GEMINI_CLI_HOME || home, '.gemini/extensions/ralph');
}
