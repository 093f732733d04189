/** Ralph's plugin in Copilot CLI: installed by its own marketplace commands, and run where it lies. */
import { join } from 'node:path';
import { type HostPlugin, isSwitchedOn, marketplaceSteps, ownVersion, SHARED_FOLDER } from '../plugin.ts';

export const copilotPlugin: HostPlugin = {
  name: 'copilot',
  title: 'Copilot CLI',
  folder: SHARED_FOLDER,
  // Nothing is copied, so the version is always ours.
  installed(place) {
    const home = place.env.COPILOT_HOME || join(place.home, '.copilot');
    return isSwitchedOn(place, join(home, 'settings.json')) ? ownVersion(place) : undefined;
  },
  ...marketplaceSteps('copilot', { add: 'install', remove: 'uninstall' }),
  cautions: () =>
    [
      'Copilot CLI ends a loop after 8 stops in a row without a tool call, and this limit cannot be changed. Resume the loop with /ralph:ralph-loop.',
      'Copilot CLI does not show what a hook says. See it with `ralph session status` and `ralph log`.',
    ].map(text => ({ text })),
};
