/** Ralph's plugin in Copilot CLI: installed by its own marketplace commands, and run where it lies. */
import { join } from 'node:path';
import { objectAt, parseObject } from '../../domain/text/json.ts';
import {
  type HostPlugin,
  hasKey,
  isSwitchedOn,
  MARKETPLACE,
  marketplaceSteps,
  ownVersion,
  PLUGIN_ID,
  type Place,
  SHARED_FOLDER,
  SWITCHES,
  switchSteps,
} from '../plugin.ts';

export const copilotPlugin: HostPlugin = {
  name: 'copilot',
  title: 'Copilot CLI',
  folder: SHARED_FOLDER,
  // Nothing is copied, so the version is always ours.
  installed: place => (isSwitchedOn(place, settingsOf(place)) ? ownVersion(place) : undefined),
  ...marketplaceSteps({
    host: 'copilot',
    add: 'install',
    remove: 'uninstall',
    knows(place) {
      const settings = parseObject(place.read(settingsOf(place)) ?? '');
      const marketplace = hasKey(objectAt(settings, 'extraKnownMarketplaces'), MARKETPLACE);
      return { plugin: marketplace && switchStepsOf(place).length > 0, marketplace };
    },
    leavings: switchStepsOf,
  }),
  cautions: () =>
    [
      'Copilot CLI ends a loop after 8 stops in a row without a tool call, and this limit cannot be changed. Resume the loop with /ralph:ralph-loop.',
      'Copilot CLI does not show what a hook says. See it with `ralph session status` and `ralph log`.',
    ].map(text => ({ text })),
};

function settingsOf({ env, home }: Place): string {
  return join(env.COPILOT_HOME || join(home, '.copilot'), 'settings.json');
}

function switchStepsOf(place: Place) {
  return switchSteps(place, settingsOf(place), PLUGIN_ID, SWITCHES);
}
