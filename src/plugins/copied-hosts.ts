/** The hosts into whose folders Ralph puts files of its own: nothing else there is touched. */
import { join } from 'node:path';
import type { HostPlugin, Place, Step } from './host-plugin.ts';
import { manifest } from './marketplace-hosts.ts';

/** The hook program and its gate are the same for every host. */
const PROGRAM = ['ralph-hook.cjs', 'ralph-hook-main.cjs', 'ralph-guard.cjs'];
const GATE = 'gate.sh';

export const gemini: HostPlugin = {
  title: 'Gemini CLI',
  command: 'gemini',
  folder: 'gemini',
  installed: place => versionIn(place, join(extension(place), 'gemini-extension.json')),
  install: place => [
    ...copies(place, 'gemini', extension(place)),
    ...[...PROGRAM, GATE].flatMap(name =>
      copy(place, join('plugins/claude/bin', name), join(extension(place), 'bin', name)),
    ),
  ],
  remove: place => [{ kind: 'remove', path: extension(place) }],
  cautions: ({ env }) =>
    env.RALPH_CLEAR_CONTEXT === '1'
      ? []
      : [{ text: 'RALPH_CLEAR_CONTEXT=1 in the environment starts every iteration with a cleared context.' }],
};

export const opencode: HostPlugin = {
  title: 'OpenCode',
  command: 'opencode',
  folder: 'opencode',
  // The plugin has no manifest; the same text is the same version.
  installed(place) {
    const there = place.read(join(config(place), 'plugin/ralph.js'));
    if (there === undefined) return undefined;
    return there === place.read(join(place.root, 'plugins/opencode/ralph.js'))
      ? manifest(place).version
      : 'another version';
  },
  install: place => [
    ...copies(place, 'opencode', join(config(place), 'plugin')),
    ...PROGRAM.flatMap(name =>
      copy(place, join('plugins/claude/bin', name), join(config(place), 'ralph', name)),
    ),
  ],
  remove: place => [
    { kind: 'remove', path: join(config(place), 'plugin/ralph.js') },
    { kind: 'remove', path: join(config(place), 'ralph') },
  ],
  cautions(place) {
    if (place.read(join(config(place), 'package-lock.json')) !== undefined) return [];
    return [
      {
        text: 'The first time that OpenCode finds a plugin, it installs its own package @opencode-ai/plugin beside it; without a network it hangs there.',
      },
    ];
  },
};

function config({ env, home }: Place): string {
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
}

function extension({ env, home }: Place): string {
  return join(env.GEMINI_CLI_HOME || home, '.gemini/extensions/ralph');
}

function versionIn(place: Place, path: string): string | undefined {
  const found = /"version"\s*:\s*"([^"]*)"/.exec(place.read(path) ?? '');
  return found?.[1];
}

function copies(place: Place, folder: string, to: string): readonly Step[] {
  return place.files(folder).flatMap(name => copy(place, join('plugins', folder, name), join(to, name)));
}

/** Nothing when it is there already. */
function copy(place: Place, from: string, to: string): readonly Step[] {
  const content = place.read(join(place.root, from)) ?? '';
  return place.read(to) === content ? [] : [{ kind: 'write', path: to, content }];
}
