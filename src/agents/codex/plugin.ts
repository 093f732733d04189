/** Ralph's plugin in Codex: installed by its own marketplace commands; its hooks run when the user has trusted them. */
import { join } from 'node:path';
import {
  type HostPlugin,
  MARKETPLACE,
  marketplaceSteps,
  ownVersion,
  PLUGIN_ID,
  type Place,
  SHARED_FOLDER,
  type Step,
} from '../plugin.ts';

export const codexPlugin: HostPlugin = {
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
