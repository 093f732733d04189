/** Ralph's plugin in Claude Code: installed by its own marketplace commands. */
import { join } from 'node:path';
import { objectAt, objectsAt, parseObject, wordAt } from '../../domain/text/json.ts';
import { type HostPlugin, isSwitchedOn, marketplaceSteps, PLUGIN_ID, SHARED_FOLDER } from '../plugin.ts';

export const claudePlugin: HostPlugin = {
  name: 'claude',
  title: 'Claude Code',
  folder: SHARED_FOLDER,
  installed(place) {
    const home = place.env.CLAUDE_CONFIG_DIR || join(place.home, '.claude');
    if (!isSwitchedOn(place, join(home, 'settings.json'))) return undefined;
    const known = parseObject(place.read(join(home, 'plugins', 'installed_plugins.json')) ?? '');
    const [entry] = objectsAt(objectAt(known, 'plugins'), PLUGIN_ID);
    return wordAt(entry, 'version') ?? 'unknown';
  },
  ...marketplaceSteps('claude', { add: 'install', remove: 'uninstall' }),
  cautions({ env }) {
    const cap = env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
    if (cap === '0') return [];
    const text = `Claude Code ends a loop after ${cap || '8'} stops in a row without a tool call. Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment to remove this limit.`;
    return [{ text }];
  },
};
