/** Ralph's extension in Gemini CLI: files in a folder of its own. */
import { join } from 'node:path';
import {
  copyFolder,
  copyProgram,
  GATE,
  type HostPlugin,
  type Place,
  PROGRAM,
  switchSteps,
  versionAt,
} from '../plugin.ts';

const FOLDER = 'gemini';

export const geminiPlugin: HostPlugin = {
  name: 'gemini',
  title: 'Gemini CLI',
  folder: FOLDER,
  installed: place => versionAt(place, join(extension(place), 'gemini-extension.json')),
  install: place => [
    ...copyFolder(place, FOLDER, extension(place)),
    ...copyProgram(place, [...PROGRAM, GATE], join(extension(place), 'bin')),
  ],
  isThere: place =>
    ['gemini-extension.json', `bin/${GATE}`].some(
      name => place.read(join(extension(place), name)) !== undefined,
    ),
  remove: place => [
    { kind: 'remove', path: extension(place) },
    ...switchSteps(place, join(extension(place), '../extension-enablement.json'), 'ralph'),
  ],
  cautions({ env }) {
    if (env.RALPH_CLEAR_CONTEXT === '1') return [];
    const text =
      'Set RALPH_CLEAR_CONTEXT=1 in the environment to start every iteration with a cleared context.';
    return [{ text }];
  },
};

function extension({ env, home }: Place): string {
  return join(env.GEMINI_CLI_HOME || home, '.gemini/extensions/ralph');
}
