/** Ralph's plugin in Qwen Code: installed as an extension, from its folder. */
import { join } from 'node:path';
import { type HostPlugin, runStep, SHARED_FOLDER, versionAt } from '../plugin.ts';

export const qwenPlugin: HostPlugin = {
  name: 'qwen',
  title: 'Qwen Code',
  folder: SHARED_FOLDER,
  installed: place => versionAt(place, join(place.home, '.qwen/extensions/ralph/qwen-extension.json')),
  // By its folder: from a marketplace it would unpack the plugin beside it, into Ralph's own folder.
  install: place => [
    runStep('qwen', 'extensions', 'install', join(place.root, 'plugins', SHARED_FOLDER), '--consent'),
  ],
  remove: () => [runStep('qwen', 'extensions', 'uninstall', 'ralph')],
  cautions({ env }) {
    const cap = Number(env.QWEN_CODE_STOP_HOOK_BLOCK_CAP);
    if (cap > 8) return [];
    const text =
      'Qwen Code ends a loop after 8 refused stops of one prompt. Set QWEN_CODE_STOP_HOOK_BLOCK_CAP=100 in the environment, the most it allows.';
    return [{ text }];
  },
};
