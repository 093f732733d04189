/** Ralph's plugin in OpenCode: a file where OpenCode looks for plugins, and the hook program beside it. */
import { join } from 'node:path';
import { copyFolder, copyProgram, type HostPlugin, ownVersion, type Place, PROGRAM } from '../plugin.ts';

const FOLDER = 'opencode';

export const opencodePlugin: HostPlugin = {
  name: 'opencode',
  title: 'OpenCode',
  folder: FOLDER,
  // The plugin has no manifest; the same text is the same version.
  installed(place) {
    const there = place.read(join(config(place), 'plugin/ralph.js'));
    if (there === undefined) return undefined;
    const ours = place.read(join(place.root, 'plugins', FOLDER, 'ralph.js'));
    return there === ours ? ownVersion(place) : 'another version';
  },
  install: place => [
    ...copyFolder(place, FOLDER, join(config(place), 'plugin')),
    ...copyProgram(place, PROGRAM, join(config(place), 'ralph')),
  ],
  isThere: place =>
    ['plugin/ralph.js', 'ralph/ralph-hook.cjs'].some(
      name => place.read(join(config(place), name)) !== undefined,
    ),
  remove: place => [
    { kind: 'remove', path: join(config(place), 'plugin/ralph.js') },
    { kind: 'remove', path: join(config(place), 'ralph') },
  ],
  cautions(place) {
    if (place.read(join(config(place), 'package-lock.json')) !== undefined) return [];
    const text =
      'The first time that OpenCode finds a plugin, it installs its own package @opencode-ai/plugin beside it; without a network it hangs there.';
    return [{ text }];
  },
};

function config({ env, home }: Place): string {
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
}
