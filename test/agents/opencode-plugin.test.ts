/** What Ralph's plugin gives OpenCode to know of its commands. The same in its real terminal: `test/hosts/terminal-opencode.test.ts`. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { folder } from '../rig/repo.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Hooks {
  config(config: { command?: Record<string, { template: string }> }): Promise<void>;
  'command.execute.before'(
    input: { command: string; arguments: string },
    output: { parts: { type: string; text: string }[] },
  ): Promise<void>;
}

async function pluginHooks(): Promise<Hooks> {
  const { RalphPlugin } = await import(join(ROOT, 'plugins/opencode/ralph.js'));
  return RalphPlugin({ client: {}, directory: folder().dir });
}

test('its terminal completes every command, and commands of the user stay the user’s', async () => {
  const config = { command: { 'ralph-loop': { template: 'mine' }, other: { template: 'x' } } };
  const { config: configure } = await pluginHooks();
  await configure(config);
  // Those that its popup would swallow otherwise: the same as of the other hosts.
  const known = readdirSync(join(ROOT, 'plugins/gemini/commands')).map(file => basename(file, '.toml'));
  expect(Object.keys(config.command).sort()).toEqual([...known, 'other'].sort());
  expect(config.command['ralph-loop']).toEqual({ template: 'mine' });
});

test('what is typed behind a command arrives as it is, and never in a template that a shell reads', async () => {
  const hooks = await pluginHooks();
  const config: { command?: Record<string, { template: string }> } = {};
  await hooks.config(config);
  for (const { template } of Object.values(config.command ?? {}))
    expect(template).not.toMatch(/\$ARGUMENTS|\$\d\b/);
  const words = 'Fix "it" !`touch pwned` $(id) -- --check x';
  const parts = [{ type: 'text', text: '/ralph-loop ' }];
  await hooks['command.execute.before']({ command: 'ralph-loop', arguments: words }, { parts });
  expect(parts).toEqual([{ type: 'text', text: `/ralph-loop ${words}` }]);
  const others = [{ type: 'text', text: 'x' }];
  await hooks['command.execute.before']({ command: 'other', arguments: words }, { parts: others });
  expect(others).toEqual([{ type: 'text', text: 'x' }]);
});

test('settings that are a named pipe keep no tool waiting', () => {
  const { dir, path } = folder();
  mkdirSync(path('.ralph'));
  execFileSync('mkfifo', [path('.ralph/settings.json')]);
  const program = `import { RalphPlugin } from ${JSON.stringify(join(ROOT, 'plugins/opencode/ralph.js'))};
    const hooks = await RalphPlugin({ client: {}, directory: ${JSON.stringify(dir)} });
    await hooks['tool.execute.before']({ sessionID: 's', tool: 'bash' }, { args: {} });`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 10_000 });
  expect(status).toBe(0);
});
