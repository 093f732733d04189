/** How Ralph's plugin gets into each host, and what several hosts have in common there. */
import { join } from 'node:path';
import { type Json, objectAt, objectsAt, parseObject, wordAt } from '../domain/text/json.ts';

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
  /** Where something that is not of Ralph has its name. */
  theirs?(place: Place): string | undefined;
  /** What may still keep the loop from running, a sentence each; `stops` says that it surely does. */
  cautions(place: Place): readonly { readonly text: string; readonly stops?: boolean }[];
}

/** The plugin in Claude Code's format, by the name that marketplaces have for it, and its folder. */
const PLUGIN_ID = 'ralph@ralph';
const MARKETPLACE = 'ralph';
/** Where such a host says whether it is on. */
const SWITCHES = 'enabledPlugins';
const SHARED_FOLDER = 'claude';

/** The hook program and its gate are the same for every host. */
const PROGRAM = ['ralph-hook.cjs', 'ralph-hook-main.cjs', 'ralph-hook-more.cjs', 'ralph-guard.cjs'] as const;
const GATE = 'gate.sh';

/** The version of the plugins in this package. */
export function ownVersion(place: Place): string {
  return versionAt(place, join(place.root, 'plugins', SHARED_FOLDER, '.claude-plugin/plugin.json')) ?? '';
}

function runStep(...argv: readonly [string, ...string[]]): Step {
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
function marketplaceSteps({
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

function hasKey(value: Json | undefined, key: string): boolean {
  return value !== undefined && Object.hasOwn(value, key);
}

/** A host that has taken the plugin out may still say whether it is on: by its name, in a field of one of its files or in the file itself. */
function switchSteps(place: Place, path: string, name: string, field?: string): readonly Step[] {
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
function isSwitchedOn(place: Place, settings: string): boolean {
  return objectAt(parseObject(place.read(settings) ?? ''), SWITCHES)?.[PLUGIN_ID] === true;
}

/** The version in a manifest, if there is one. */
function versionAt({ read }: Place, manifest: string): string | undefined {
  return wordAt(parseObject(read(manifest) ?? ''), 'version');
}

/** Every file of one of Ralph's plugin folders, into another folder. */
function copyFolder(place: Place, folder: string, to: string): readonly Step[] {
  return place.files(folder).flatMap(name => copyFile(place, join(folder, name), join(to, name)));
}

/** The hook program, into another folder. */
function copyProgram(place: Place, names: readonly string[], to: string): readonly Step[] {
  return names.flatMap(name => copyFile(place, join(SHARED_FOLDER, 'bin', name), join(to, name)));
}

/** Nothing when it is there already. */
function copyFile(place: Place, from: string, to: string): readonly Step[] {
  const content = place.read(join(place.root, 'plugins', from)) ?? '';
  return place.read(to) === content ? [] : [{ kind: 'write', path: to, content }];
}

/** Ralph's plugin in Claude Code: installed by its own marketplace commands. */
const claude: HostPlugin = {
  name: 'claude',
  title: 'Claude Code',
  folder: SHARED_FOLDER,
  installed(place) {
    if (!isSwitchedOn(place, inClaude(place, 'settings.json'))) return undefined;
    const [entry] = objectsAt(claudePlugins(place), PLUGIN_ID);
    return wordAt(entry, 'version') ?? 'unknown';
  },
  ...marketplaceSteps({
    host: 'claude',
    add: 'install',
    remove: 'uninstall',
    knows: place => ({
      plugin: hasKey(claudePlugins(place), PLUGIN_ID),
      marketplace: hasKey(
        parseObject(place.read(inClaude(place, 'plugins/known_marketplaces.json')) ?? ''),
        MARKETPLACE,
      ),
    }),
    // Claude Code clears it later, when it is started.
    leavings: place => [
      { kind: 'remove', path: inClaude(place, `plugins/cache/${MARKETPLACE}`) },
      ...switchSteps(place, inClaude(place, 'settings.json'), PLUGIN_ID, SWITCHES),
    ],
  }),
  cautions({ env }) {
    const cap = env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
    if (cap === '0') return [];
    const text = `Claude Code ends a loop after ${cap || '8'} stops in a row without a tool call. Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment to remove this limit.`;
    return [{ text }];
  },
};

function claudePlugins(place: Place) {
  return objectAt(
    parseObject(place.read(inClaude(place, 'plugins/installed_plugins.json')) ?? ''),
    'plugins',
  );
}

function inClaude({ env, home }: Place, name: string): string {
  return join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), name);
}

/** Ralph's plugin in Codex: installed by its own marketplace commands; its hooks run when the user has trusted them. */
const codex: HostPlugin = {
  name: 'codex',
  title: 'Codex',
  folder: SHARED_FOLDER,
  installed(place) {
    const config = place.read(join(codexHome(place), 'config.toml')) ?? '';
    if (!tableOf(config, `plugins."${PLUGIN_ID}"`)?.includes('enabled = true')) return undefined;
    const version = ownVersion(place);
    const copy = join(codexHome(place), 'plugins/cache/ralph/ralph', version, '.claude-plugin/plugin.json');
    return place.read(copy) === undefined ? 'another version' : version;
  },
  ...marketplaceSteps({
    host: 'codex',
    add: 'add',
    remove: 'remove',
    knows(place) {
      const config = place.read(join(codexHome(place), 'config.toml')) ?? '';
      const hasTable = (name: string) => tableOf(config, name) !== undefined;
      return {
        plugin: hasTable(`plugins."${PLUGIN_ID}"`),
        marketplace: hasTable(`marketplaces.${MARKETPLACE}`),
      };
    },
    leavings: place => [
      { kind: 'remove', path: join(codexHome(place), `plugins/cache/${MARKETPLACE}`) },
      ...trustSteps(place),
    ],
  }),
  cautions(place) {
    const config = place.read(join(codexHome(place), 'config.toml')) ?? '';
    const isTrusted = ['user_prompt_submit', 'pre_tool_use', 'stop'].every(event =>
      tableOf(config, `hooks.state."${PLUGIN_ID}:hooks/hooks.json:${event}:0:0"`)?.includes('trusted_hash'),
    );
    if (isTrusted) return [];
    const text =
      'Codex skips hooks that you have not trusted, without a message. Start codex, type /hooks and trust those of ralph. For one run of codex exec: --dangerously-bypass-hook-trust.';
    return [{ text, stops: true }];
  },
};

/** Codex keeps what the user said of each hook, also of those that are gone. */
const TRUST = new RegExp(`^\\[hooks\\.state\\."${PLUGIN_ID}:`);

function trustSteps(place: Place): readonly Step[] {
  const path = join(codexHome(place), 'config.toml');
  if (
    !place
      .read(path)
      ?.split('\n')
      .some(line => TRUST.test(line))
  )
    return [];
  return [
    { kind: 'edit', path, what: 'what you said of the hooks of ralph is taken out', edit: withoutTrust },
  ];
}

function withoutTrust(config: string): string {
  let isOurs = false;
  const kept = config.split('\n').filter(line => {
    if (line.startsWith('[')) isOurs = TRUST.test(line);
    return !isOurs;
  });
  return kept.join('\n');
}

function codexHome({ env, home }: Place): string {
  return env.CODEX_HOME || join(home, '.codex');
}

/** The lines of a TOML table, without its sub-tables. Enough for tables that the host itself writes. */
function tableOf(config: string, name: string): string | undefined {
  const lines = config.split('\n');
  const start = lines.indexOf(`[${name}]`);
  if (start < 0) return undefined;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex(line => line.startsWith('['));
  return rest.slice(0, end < 0 ? rest.length : end).join('\n');
}

/** Ralph's plugin in Copilot CLI: installed by its own marketplace commands, and run where it lies. */
const copilot: HostPlugin = {
  name: 'copilot',
  title: 'Copilot CLI',
  folder: SHARED_FOLDER,
  // Nothing is copied, so the version is always ours.
  installed: place => (isSwitchedOn(place, copilotSettings(place)) ? ownVersion(place) : undefined),
  ...marketplaceSteps({
    host: 'copilot',
    add: 'install',
    remove: 'uninstall',
    knows(place) {
      const settings = parseObject(place.read(copilotSettings(place)) ?? '');
      const marketplace = hasKey(objectAt(settings, 'extraKnownMarketplaces'), MARKETPLACE);
      return { plugin: marketplace && copilotSwitch(place).length > 0, marketplace };
    },
    leavings: copilotSwitch,
  }),
  cautions: () =>
    [
      'Copilot CLI ends a loop after 8 stops in a row without a tool call, and this limit cannot be changed. Resume the loop with /ralph:ralph-loop.',
      'Copilot CLI does not show what a hook says. See it with `ralph session status` and `ralph log`.',
    ].map(text => ({ text })),
};

function copilotSettings({ env, home }: Place): string {
  return join(env.COPILOT_HOME || join(home, '.copilot'), 'settings.json');
}

function copilotSwitch(place: Place) {
  return switchSteps(place, copilotSettings(place), PLUGIN_ID, SWITCHES);
}

/** Ralph's plugin in Qwen Code: installed as an extension, from its folder. */
const qwen: HostPlugin = {
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

/** Ralph's extension in Gemini CLI: files in a folder of its own. */
const gemini: HostPlugin = {
  name: 'gemini',
  title: 'Gemini CLI',
  folder: 'gemini',
  installed: place => (hasGeminiProgram(place) ? geminiVersion(place) : undefined),
  // The program first: by that it is known.
  install: place => [
    ...copyProgram(place, [...PROGRAM, GATE], join(geminiExtension(place), 'bin')),
    ...copyFolder(place, 'gemini', geminiExtension(place)),
  ],
  isThere: hasGeminiProgram,
  theirs: place =>
    geminiVersion(place) === undefined || hasGeminiProgram(place) ? undefined : geminiExtension(place),
  remove: place => [
    { kind: 'remove', path: geminiExtension(place) },
    ...switchSteps(place, join(geminiExtension(place), '../extension-enablement.json'), 'ralph'),
  ],
  cautions({ env }) {
    if (env.RALPH_CLEAR_CONTEXT === '1') return [];
    const text =
      'Set RALPH_CLEAR_CONTEXT=1 in the environment to start every iteration with a cleared context.';
    return [{ text }];
  },
};

/** Others have extensions of this name, too. */
function hasGeminiProgram(place: Place): boolean {
  return [...PROGRAM, GATE].some(name => place.read(join(geminiExtension(place), 'bin', name)) !== undefined);
}

function geminiVersion(place: Place): string | undefined {
  return versionAt(place, join(geminiExtension(place), 'gemini-extension.json'));
}

function geminiExtension({ env, home }: Place): string {
  return join(env.GEMINI_CLI_HOME || home, '.gemini/extensions/ralph');
}

/** Ralph's plugin in OpenCode: a file where OpenCode looks for plugins, and the hook program beside it. */
const opencode: HostPlugin = {
  name: 'opencode',
  title: 'OpenCode',
  folder: 'opencode',
  // The plugin has no manifest; the same text is the same version.
  installed(place) {
    const there = place.read(opencodePlugin(place));
    if (!there?.includes(PROGRAM[0])) return undefined;
    const ours = place.read(join(place.root, 'plugins', 'opencode', 'ralph.js'));
    return there === ours ? ownVersion(place) : 'another version';
  },
  install: place => [
    ...copyFolder(place, 'opencode', join(opencodeConfig(place), 'plugin')),
    ...copyProgram(place, PROGRAM, join(opencodeConfig(place), 'ralph')),
  ],
  isThere: place =>
    place.read(opencodePlugin(place))?.includes(PROGRAM[0]) === true || hasOpencodeProgram(place),
  remove: place => [
    ...(opencode.theirs?.(place) === undefined
      ? [{ kind: 'remove', path: opencodePlugin(place) } as const]
      : []),
    ...(hasOpencodeProgram(place)
      ? [{ kind: 'remove', path: join(opencodeConfig(place), 'ralph') } as const]
      : []),
  ],
  theirs: place =>
    place.read(opencodePlugin(place))?.includes(PROGRAM[0]) === false ? opencodePlugin(place) : undefined,
  cautions(place) {
    if (place.read(join(opencodeConfig(place), 'package-lock.json')) !== undefined) return [];
    const text =
      'The first time that OpenCode finds a plugin, it installs its own package @opencode-ai/plugin beside it; without a network it hangs there.';
    return [{ text }];
  },
};

function hasOpencodeProgram(place: Place): boolean {
  return place.read(join(opencodeConfig(place), 'ralph', PROGRAM[0])) !== undefined;
}

function opencodePlugin(place: Place): string {
  return join(opencodeConfig(place), 'plugin/ralph.js');
}

function opencodeConfig({ env, home }: Place): string {
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
}

export const PLUGINS: readonly HostPlugin[] = [claude, codex, copilot, qwen, gemini, opencode];
