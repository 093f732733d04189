/** `ralph plugin` without a host: what it would do, and what it does when the host is not there. */
import { existsSync, lstatSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findPlace, stepsTo } from '../../src/agents/install-plugin.ts';
import { PLUGINS } from '../../src/agents/plugins.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, type Repo } from '../rig/repo.ts';

const ROOT = join(import.meta.dirname, '../..');

function plugin(home: Repo, args: readonly string[], path: readonly string[] = []) {
  return ralph(['plugin', ...args], { cwd: home.dir, env: { HOME: home.dir }, path });
}

test('path prints the folder of the plugin', { tags: 'promise' }, async () => {
  const { stdout } = await plugin(folder(), ['path', 'codex']);
  expect(stdout).toBe(`${join(ROOT, 'plugins/claude')}\n`);
});

test('an action or a host that there is not are both told at once', async () => {
  const { code, stderr } = await plugin(folder(), ['instal', 'emacs']);
  expect(code).toBe(2);
  expect(stderr).toContain('install, remove, path, check');
  expect(stderr).toContain('claude, codex, copilot, qwen, gemini, opencode');
});

test('a host that cannot be started is told, and nothing is left half done', async () => {
  const home = folder();
  const { code, stderr } = await plugin(home, ['install', 'codex']);
  expect(code).toBe(1);
  expect(stderr).toContain('codex: cannot be started');
  expect(existsSync(home.path('.codex'))).toBe(false);
});

test("the host's own sentence is shown when its command fails, and no further step is tried", async () => {
  const home = folder();
  home.script('bin/codex', 'echo "$*" >> "$HOME/calls"; echo "a marketplace of that name is there"; exit 3');
  const { code, stderr } = await plugin(home, ['install', 'codex'], [home.path('bin')]);
  expect(code).toBe(1);
  expect(stderr).toContain('a marketplace of that name is there');
  expect(home.read('calls')).toBe(`plugin marketplace add ${ROOT}\n`);
});

test('an older copy in Gemini CLI is replaced, a damaged file fixed, and only its own folder is touched', async () => {
  const home = folder();
  home.write('.gemini/settings.json', '{ "mine" : 1 }');
  home.write('.gemini/extensions/other/gemini-extension.json', '{}');
  home.write('.gemini/extensions/ralph/gemini-extension.json', '{"name":"ralph","version":"0.0.1"}');
  home.write('.gemini/extensions/ralph/bin/ralph-hook.cjs', 'old');
  home.write('.gemini/extensions/ralph/old.txt', 'old');
  expect((await plugin(home, ['install', 'gemini'])).stdout).toContain('remove ');
  expect(existsSync(home.path('.gemini/extensions/ralph/old.txt'))).toBe(false);
  home.write('.gemini/extensions/ralph/bin/gate.sh', 'damaged');
  const fixed = await plugin(home, ['install', 'gemini']);
  expect(fixed.stdout.match(/^ {2}\w+ .*$/gm)).toEqual([
    `  write   ${home.path('.gemini/extensions/ralph/bin/gate.sh')}`,
  ]);
  expect((await plugin(home, ['remove', 'gemini'])).code).toBe(0);
  expect(existsSync(home.path('.gemini/extensions/ralph'))).toBe(false);
  expect(home.read('.gemini/settings.json')).toBe('{ "mine" : 1 }');
  expect(home.read('.gemini/extensions/other/gemini-extension.json')).toBe('{}');
});

test.each([
  ['gemini', '.gemini/extensions/ralph/gemini-extension.json', '.gemini/extensions/ralph/mine.toml'],
  ['opencode', '.config/opencode/plugin/ralph.js', '.config/opencode/ralph/notes.md'],
])('in %s what somebody else has under the name of Ralph stays', async (host, first, second) => {
  const home = folder();
  for (const path of [first, second]) home.write(path, '{"name":"ralph","version":"1.0.1"}');
  const installed = await plugin(home, ['install', host]);
  expect([installed.code, installed.stderr]).toEqual([
    2,
    expect.stringContaining("is there already, and it is not Ralph's plugin"),
  ]);
  expect((await plugin(home, ['check', host])).stdout).toContain("Ralph's plugin is not installed");
  expect((await plugin(home, ['remove', host])).stdout).toContain('is not installed');
  await ralph(['uninstall'], { cwd: home.dir, env: { HOME: home.dir } });
  for (const path of [first, second]) expect(home.read(path)).toContain('1.0.1');
});

test("removing it from Codex takes the user's trust records of its hooks out, and leaves the rest as it is", {
  tags: 'promise',
}, async () => {
  const home = folder();
  const mine = '[hooks.state."other@x:hooks/hooks.json:stop:0:0"]\ntrusted_hash = "1"\n';
  const ours = ['stop', 'pre_tool_use'].map(
    event => `[hooks.state."ralph@ralph:hooks/hooks.json:${event}:0:0"]\ntrusted_hash = "2"\n\n`,
  );
  const plugin_on = '[plugins."ralph@ralph"]\nenabled = true\n\n';
  home.write('.codex/config.toml', `model = "x"\n\n${plugin_on}${ours.join('')}${mine}`);
  // As Codex does it: it takes its own table out before it is our turn.
  const tidy = `[ "$2" = remove ] && sed -i '/plugins/,/^$/d' "$HOME/.codex/config.toml"\nexit 0`;
  home.script('bin/codex', tidy);
  const { code, stdout } = await plugin(home, ['remove', 'codex'], [home.path('bin')]);
  expect([code, stdout]).toEqual([0, expect.stringContaining('edit    ')]);
  expect(home.read('.codex/config.toml')).toBe(`model = "x"\n\n${mine}`);
});

test('one that is switched off is removed with all that the host leaves, and a linked settings file stays a link', async () => {
  const home = folder();
  const settings = { model: 'mine', enabledPlugins: { 'other@x': true, 'ralph@ralph': false } };
  home.write('dotfiles/claude.json', JSON.stringify(settings));
  home.write('.claude/plugins/known_marketplaces.json', '{"ralph":{},"other":{}}');
  home.write('.claude/plugins/installed_plugins.json', '{"plugins":{"ralph@ralph":[{"version":"0.0.1"}]}}');
  home.write('.claude/plugins/cache/ralph/ralph/0.0.1/bin/gate.sh', '');
  home.write('.claude/plugins/cache/other/keep.txt', '');
  symlinkSync('../dotfiles/claude.json', home.path('.claude/settings.json'));
  home.script('bin/claude', 'echo "$*" >> "$HOME/calls"');
  const options = { cwd: home.dir, env: { HOME: home.dir }, path: [home.path('bin')] };
  const { code, stdout } = await ralph(['uninstall', '--all'], options);
  expect(code, stdout).toBe(0);
  expect(home.read('calls')).toBe('plugin uninstall ralph@ralph\nplugin marketplace remove ralph\n');
  expect(readdirSync(home.path('.claude/plugins/cache'))).toEqual(['other']);
  expect(lstatSync(home.path('.claude/settings.json')).isSymbolicLink()).toBe(true);
  expect(JSON.parse(home.read('dotfiles/claude.json'))).toEqual({
    model: 'mine',
    enabledPlugins: { 'other@x': true },
  });
});

test.each(PLUGINS.map(host => [host.name, host] as const))(
  'nothing is removed from %s where nothing is there',
  (_, host) => {
    const home = folder();
    home.write('.claude/settings.json', '{"enabledPlugins":{"other@x":true}}');
    home.write('.copilot/settings.json', '{ damaged');
    home.write('.codex/config.toml', '[plugins."other@x"]\nenabled = true\n');
    expect(stepsTo('remove', host, findPlace({ HOME: home.dir }, ROOT) as never)).toEqual([]);
  },
);
