/** Ralph's plugin in Codex: installed by its own marketplace commands; its hooks run when the user has trusted them. */
import { join } from 'node:path';
import {
  type HostPlugin,
  marketplaceSteps,
  ownVersion,
  PLUGIN_ID,
  type Place,
  SHARED_FOLDER,
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
  ...marketplaceSteps('codex', { add: 'add', remove: 'remove' }),
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
