/** What Ralph knows of installing its plugin in one host, and what several hosts have in common there. */
import { join } from 'node:path';
import { type Json, objectAt, parseObject, wordAt } from '../domain/text/json.ts';

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
  /** Whether anything of it is there, switched off or half of it included; else it is what is `installed`. */
  isThere?(place: Place): boolean;
  remove(place: Place): readonly Step[];
  /** What may still keep the loop from running, a sentence each; `stops` says that it surely does. */
  cautions(place: Place): readonly { readonly text: string; readonly stops?: boolean }[];
}

/** The plugin in Claude Code's format, by the name that marketplaces have for it, and its folder. */
export const PLUGIN_ID = 'ralph@ralph';
export const MARKETPLACE = 'ralph';
/** Where such a host says whether it is on. */
export const SWITCHES = 'enabledPlugins';
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

interface Marketplaces {
  readonly host: string;
  /** The host's words for it. */
  readonly add: string;
  readonly remove: string;
  /** What it knows of ours: the plugin, whether it is switched on or not, and where it comes from. */
  knows(place: Place): { readonly plugin: boolean; readonly marketplace: boolean };
  /** What the host's own commands leave behind. */
  leavings(place: Place): readonly Step[];
}

/** For hosts that have marketplaces. */
export function marketplaceSteps({
  host,
  add,
  remove,
  knows,
  leavings,
}: Marketplaces): Pick<HostPlugin, 'install' | 'isThere' | 'remove'> {
  return {
    install: ({ root }) => [
      runStep(host, 'plugin', 'marketplace', 'add', root),
      runStep(host, 'plugin', add, PLUGIN_ID),
    ],
    isThere(place) {
      const { plugin, marketplace } = knows(place);
      return plugin || marketplace || leavings(place).some(({ kind }) => kind === 'edit');
    },
    remove(place) {
      const { plugin, marketplace } = knows(place);
      return [
        ...(plugin ? [runStep(host, 'plugin', remove, PLUGIN_ID)] : []),
        ...(marketplace ? [runStep(host, 'plugin', 'marketplace', 'remove', MARKETPLACE)] : []),
        ...leavings(place),
      ];
    },
  };
}

export function hasKey(value: Json | undefined, key: string): boolean {
  return value !== undefined && Object.hasOwn(value, key);
}

/** A host that has taken the plugin out may still say whether it is on: by its name, in a field of one of its files or in the file itself. */
export function switchSteps(place: Place, path: string, name: string, field?: string): readonly Step[] {
  if (!hasKey(switchesIn(place.read(path) ?? '', field), name)) return [];
  const edit = (content: string) => withoutSwitch(content, name, field);
  return [{ kind: 'edit', path, what: 'that ralph is on or off is taken out', edit }];
}

function switchesIn(content: string, field: string | undefined): Json | undefined {
  const file = parseObject(content);
  return field === undefined ? file : objectAt(file, field);
}

function withoutSwitch(content: string, name: string, field: string | undefined): string {
  const { [name]: is, ...others } = switchesIn(content, field) ?? {};
  if (is === undefined) return content;
  const now = field === undefined ? others : { ...parseObject(content), [field]: others };
  return `${JSON.stringify(now, null, 2)}\n`;
}

/** Whether a settings file in Claude Code's format has the plugin switched on. */
export function isSwitchedOn(place: Place, settings: string): boolean {
  return objectAt(parseObject(place.read(settings) ?? ''), SWITCHES)?.[PLUGIN_ID] === true;
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
