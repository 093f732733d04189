/** What Ralph knows of installing its plugin in one host, and what several hosts have in common there. */
import { join } from 'node:path';
import { objectAt, parseObject, wordAt } from '../domain/text/json.ts';

/** One thing that changes, as it is shown to the user before it is done. */
export type Step =
  /** The host's own command; it keeps its files in order better than we could. */
  | { readonly kind: 'run'; readonly argv: readonly [string, ...string[]] }
  | { readonly kind: 'write'; readonly path: string; readonly content: string }
  /** A folder or a file, and nothing beside it. */
  | { readonly kind: 'remove'; readonly path: string }
  /** A part of a file of the host's, as it is when its turn comes. */
  | {
      readonly kind: 'edit';
      readonly path: string;
      readonly what: string;
      edit(content: string): string;
    };

export interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Ralph's own folder, with `plugins` in it. */
  readonly root: string;
  /** Reads a file, undefined when there is none. */
  read(path: string): string | undefined;
  /** Every file in one of Ralph's plugin folders, by its name in there. */
  files(folder: string): readonly string[];
}

export interface HostPlugin {
  /** The host's name in `ralph plugin`, and the command by which it is started. */
  readonly name: string;
  readonly title: string;
  /** Ralph's folder for this host, in `plugins`. */
  readonly folder: string;
  /** The version that is installed and switched on, if any. */
  installed(place: Place): string | undefined;
  install(place: Place): readonly Step[];
  remove(place: Place): readonly Step[];
  /** What may still keep the loop from running, a sentence each; `stops` says that it surely does. */
  cautions(place: Place): readonly { readonly text: string; readonly stops?: boolean }[];
}

/** The plugin in Claude Code's format, by the name that marketplaces have for it, and its folder. */
export const PLUGIN_ID = 'ralph@ralph';
export const SHARED_FOLDER = 'claude';

/** The hook program and its gate are the same for every host. */
export const PROGRAM = ['ralph-hook.cjs', 'ralph-hook-main.cjs', 'ralph-hook-more.cjs', 'ralph-guard.cjs'];
export const GATE = 'gate.sh';

/** The version of the plugins in this package. */
export function ownVersion(place: Place): string {
  return versionAt(place, join(place.root, 'plugins', SHARED_FOLDER, '.claude-plugin/plugin.json')) ?? '';
}

export function runStep(...argv: readonly [string, ...string[]]): Step {
  return { kind: 'run', argv };
}

/** For hosts that have marketplaces; `add` and `remove` are their words for a plugin. */
export function marketplaceSteps(
  host: string,
  { add, remove }: { readonly add: string; readonly remove: string },
): Pick<HostPlugin, 'install' | 'remove'> {
  return {
    install: ({ root }) => [
      runStep(host, 'plugin', 'marketplace', 'add', root),
      runStep(host, 'plugin', add, PLUGIN_ID),
    ],
    remove: () => [
      runStep(host, 'plugin', remove, PLUGIN_ID),
      runStep(host, 'plugin', 'marketplace', 'remove', 'ralph'),
    ],
  };
}

/** Whether a settings file in Claude Code's format has the plugin switched on. */
export function isSwitchedOn(place: Place, settings: string): boolean {
  return objectAt(parseObject(place.read(settings) ?? ''), 'enabledPlugins')?.[PLUGIN_ID] === true;
}

/** The version in a manifest, if there is one. */
export function versionAt({ read }: Place, manifest: string): string | undefined {
  return wordAt(parseObject(read(manifest) ?? ''), 'version');
}

/** Every file of one of Ralph's plugin folders, into another folder. */
export function copyFolder(place: Place, folder: string, to: string): readonly Step[] {
  return place.files(folder).flatMap(name => copyFile(place, join(folder, name), join(to, name)));
}

/** The hook program, into another folder. */
export function copyProgram(place: Place, names: readonly string[], to: string): readonly Step[] {
  return names.flatMap(name => copyFile(place, join(SHARED_FOLDER, 'bin', name), join(to, name)));
}

/** Nothing when it is there already. */
function copyFile(place: Place, from: string, to: string): readonly Step[] {
  const content = place.read(join(place.root, 'plugins', from)) ?? '';
  return place.read(to) === content ? [] : [{ kind: 'write', path: to, content }];
}
