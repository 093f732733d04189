/** Ralph's plugin in Claude Code: installed by its own marketplace commands. */
import { join } from 'node:path';
import { objectAt, objectsAt, parseObject, wordAt } from '../../domain/text/json.ts';
import {
  type HostPlugin,
  hasKey,
  isSwitchedOn,
  MARKETPLACE,
  marketplaceSteps,
  PLUGIN_ID,
  type Place,
  SHARED_FOLDER,
  SWITCHES,
  switchSteps,
} from '../plugin.ts';

export const claudePlugin: HostPlugin = {
  name: 'claude',
  title: 'Claude Code',
  folder: SHARED_FOLDER,
  installed(place) {
    if (!isSwitchedOn(place, below(place, 'settings.json'))) return undefined;
    const [entry] = objectsAt(pluginsOf(place), PLUGIN_ID);
    return wordAt(entry, 'version') ?? 'unknown';
  },
  ...marketplaceSteps({
    host: 'claude',
    add: 'install',
    remove: 'uninstall',
    knows: place => ({
      plugin: hasKey(pluginsOf(place), PLUGIN_ID),
      marketplace: hasKey(
        parseObject(place.read(below(place, 'plugins/known_marketplaces.json')) ?? ''),
        MARKETPLACE,
      ),
    }),
    // Claude Code clears it later, when it is started.
    leavings: place => [
      { kind: 'remove', path: below(place, `plugins/cache/${MARKETPLACE}`) },
      ...switchSteps(place, below(place, 'settings.json'), PLUGIN_ID, SWITCHES),
    ],
  }),
  cautions({ env }) {
    const cap = env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
    if (cap === '0') return [];
    const text = `Claude Code ends a loop after ${cap || '8'} stops in a row without a tool call. Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment to remove this limit.`;
    return [{ text }];
  },
};

function pluginsOf(place: Place) {
  return objectAt(parseObject(place.read(below(place, 'plugins/installed_plugins.json')) ?? ''), 'plugins');
}

function below({ env, home }: Place, name: string): string {
  return join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), name);
}
