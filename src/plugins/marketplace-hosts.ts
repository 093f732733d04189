/** The hosts that install the one plugin in Claude Code's format, by their own commands. */
import { join } from 'node:path';
import type { HostPlugin, Place, Step } from './host-plugin.ts';

const ID = 'ralph@ralph';
const FOLDER = 'claude';

export const claude: HostPlugin = {
  title: 'Claude Code',
  command: 'claude',
  folder: FOLDER,
  installed(place) {
    const home = claudeHome(place);
    if (!isOn(place, join(home, 'settings.json'))) return undefined;
    const known = parse(place.read(join(home, 'plugins', 'installed_plugins.json')));
    const [entry] = list(object(object(known).plugins)[ID]);
    return text(object(entry).version) ?? 'unknown';
  },
  install: place => [
    run('claude', 'plugin', 'marketplace', 'add', place.root),
    run('claude', 'plugin', 'install', ID),
  ],
  remove: () => [
    run('claude', 'plugin', 'uninstall', ID),
    run('claude', 'plugin', 'marketplace', 'remove', 'ralph'),
  ],
  cautions: ({ env }) =>
    env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP === '0'
      ? []
      : [
          {
            text: 'Claude Code ends a loop after 8 stops in a row without a tool call; CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment lifts that.',
          },
        ],
};

export const codex: HostPlugin = {
  title: 'Codex',
  command: 'codex',
  folder: FOLDER,
  installed(place) {
    const config = place.read(join(codexHome(place), 'config.toml')) ?? '';
    if (!tableOf(config, `plugins."${ID}"`)?.includes('enabled = true')) return undefined;
    const { version } = manifest(place);
    const copy = join(codexHome(place), 'plugins/cache/ralph/ralph', version, '.claude-plugin/plugin.json');
    return place.read(copy) === undefined ? 'another version' : version;
  },
  install: place => [
    run('codex', 'plugin', 'marketplace', 'add', place.root),
    run('codex', 'plugin', 'add', ID),
  ],
  remove: () => [
    run('codex', 'plugin', 'remove', ID),
    run('codex', 'plugin', 'marketplace', 'remove', 'ralph'),
  ],
  cautions(place) {
    const config = place.read(join(codexHome(place), 'config.toml')) ?? '';
    const isTrusted = ['user_prompt_submit', 'post_tool_use', 'stop'].every(event =>
      tableOf(config, `hooks.state."${ID}:hooks/hooks.json:${event}:0:0"`)?.includes('trusted_hash'),
    );
    if (isTrusted) return [];
    return [
      {
        text: 'Codex skips hooks that you have not trusted, without a word: start codex, type /hooks and trust those of ralph. For one run of codex exec: --dangerously-bypass-hook-trust.',
        stops: true,
      },
    ];
  },
};

export const copilot: HostPlugin = {
  title: 'Copilot CLI',
  command: 'copilot',
  folder: FOLDER,
  // It runs the plugin where it lies, so the version is always ours.
  installed: place =>
    isOn(place, join(copilotHome(place), 'settings.json')) ? manifest(place).version : undefined,
  install: place => [
    run('copilot', 'plugin', 'marketplace', 'add', place.root),
    run('copilot', 'plugin', 'install', ID),
  ],
  remove: () => [
    run('copilot', 'plugin', 'uninstall', ID),
    run('copilot', 'plugin', 'marketplace', 'remove', 'ralph'),
  ],
  cautions: () => [
    {
      text: 'Copilot CLI ends a loop after 8 stops in a row without a tool call, and nothing lifts that; /ralph:ralph-loop goes on with it.',
    },
    { text: 'Copilot CLI does not show what a hook says; `ralph session status` and `ralph log` do.' },
  ],
};

export const qwen: HostPlugin = {
  title: 'Qwen Code',
  command: 'qwen',
  folder: FOLDER,
  installed(place) {
    const copy = parse(place.read(join(place.home, '.qwen/extensions/ralph/qwen-extension.json')));
    return text(object(copy).version);
  },
  // By its folder: from a marketplace it would unpack the plugin beside it, into Ralph's own folder.
  install: place => [run('qwen', 'extensions', 'install', join(place.root, 'plugins', FOLDER), '--consent')],
  remove: () => [run('qwen', 'extensions', 'uninstall', 'ralph')],
  cautions: ({ env }) =>
    Number(env.QWEN_CODE_STOP_HOOK_BLOCK_CAP) > 8
      ? []
      : [
          {
            text: 'Qwen Code ends a loop after 8 refused stops of one prompt; QWEN_CODE_STOP_HOOK_BLOCK_CAP=100 in the environment is the most it allows.',
          },
        ],
};

export function manifest(place: Place): { readonly version: string } {
  const json = parse(place.read(join(place.root, 'plugins/claude/.claude-plugin/plugin.json')));
  return { version: text(object(json).version) ?? '' };
}

function run(...argv: readonly [string, ...string[]]): Step {
  return { kind: 'run', argv };
}

function claudeHome({ env, home }: Place): string {
  return env.CLAUDE_CONFIG_DIR || join(home, '.claude');
}

function codexHome({ env, home }: Place): string {
  return env.CODEX_HOME || join(home, '.codex');
}

function copilotHome({ env, home }: Place): string {
  return env.COPILOT_HOME || join(home, '.copilot');
}

function isOn(place: Place, settings: string): boolean {
  return object(object(parse(place.read(settings))).enabledPlugins)[ID] === true;
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

function parse(source: string | undefined): unknown {
  try {
    return source === undefined ? undefined : JSON.parse(source);
  } catch {
    return undefined;
  }
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
