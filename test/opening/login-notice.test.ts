import { describe, expect, test } from 'vitest';
import { ADAPTERS } from '../../src/agents/registry.ts';
import { loginNotices } from '../../src/opening/start-notices.ts';
import type { ChosenAgent } from '../../src/run/turns/choose-agent.ts';
import { folder } from '../rig/repo.ts';

function chosen(name: string, more: Partial<ChosenAgent> = {}): ChosenAgent {
  const adapter = ADAPTERS.find(each => each.name === name);
  if (!adapter) throw new Error(name);
  return { adapter, name, command: name, prefix: [], flags: [], prices: {}, why: '', ...more };
}

interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly home?: Readonly<Record<string, string>>;
  readonly project?: Readonly<Record<string, string>>;
  readonly agent?: Partial<ChosenAgent>;
}

function notices(name: string, { env = {}, home = {}, project = {}, agent = {} }: Given): readonly string[] {
  const [user, tree] = [folder(), folder()];
  for (const [file, text] of Object.entries(home)) user.write(file, text);
  for (const [file, text] of Object.entries(project)) tree.write(file, text);
  const moved = Object.fromEntries(
    Object.entries(env).map(([key, value]) => [key, value.replace('~', user.dir)]),
  );
  const world = { cwd: tree.dir, env: { HOME: user.dir, PATH: '/bin', ...moved } };
  return loginNotices([chosen(name, agent)], world, 'linux');
}

describe('an agent that is not logged in is named, with what to do', () => {
  test.each<[string, Given, string]>([
    ['claude', {}, 'Log in with `claude auth login`, or set ANTHROPIC_API_KEY.'],
    ['codex', {}, 'Log in with `codex login`, or set OPENAI_API_KEY.'],
    // What it leaves behind without a login.
    [
      'claude',
      { home: { '.claude.json': '{"machineID":"x"}', '.claude/settings.json': '{"model":"opus"}' } },
      'Log in',
    ],
    ['codex', { home: { '.codex/auth.lock': '', '.codex/config.toml': 'model = "gpt-5.5"\n' } }, 'Log in'],
    ['codex', { env: { CODEX_HOME: '~/elsewhere' }, home: { '.codex/auth.json': '{}' } }, 'Log in'],
    ['claude', { env: { ANTHROPIC_API_KEY: '' } }, 'Log in'],
  ])('%s %j', (name, given, fix) => {
    expect(notices(name, given)).toEqual([expect.stringContaining(fix)]);
  });
});

describe('whatever may be a login counts as one', () => {
  test.each<[string, Given]>([
    ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_BASE_URL'].map(
      (key): [string, Given] => ['claude', { env: { [key]: 'x' } }],
    ),
    ...['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'AWS_BEARER_TOKEN_BEDROCK'].map(
      (key): [string, Given] => ['claude', { env: { [key]: '1' } }],
    ),
    ['claude', { home: { '.claude/.credentials.json': '{}' } }],
    ['claude', { env: { CLAUDE_CONFIG_DIR: '~/c' }, home: { 'c/.credentials.json': '{}' } }],
    ['claude', { home: { '.claude/settings.json': '{"apiKeyHelper":"pass"}' } }],
    ['claude', { home: { '.claude/settings.json': '{"env":{"ANTHROPIC_API_KEY":"x"}}' } }],
    ['claude', { home: { '.claude.json': '{"primaryApiKey":"x"}' } }],
    ['claude', { project: { '.claude/settings.local.json': '{}' } }],
    ['claude', { agent: { flags: ['--settings', 'mine.json'] } }],
    ['claude', { agent: { command: '/opt/wrapped/claude' } }],
    ['claude', { agent: { prefix: ['with', 'words'] } }],
    ...['OPENAI_API_KEY', 'CODEX_API_KEY', 'OPENAI_BASE_URL', 'AZURE_OPENAI_API_KEY'].map(
      (key): [string, Given] => ['codex', { env: { [key]: 'x' } }],
    ),
    ['codex', { home: { '.codex/auth.json': '{}' } }],
    ['codex', { env: { CODEX_HOME: '~/c' }, home: { 'c/auth.json': '{}' } }],
    ['codex', { home: { '.codex/config.toml': 'model_provider = "lab"\n' } }],
    ['codex', { home: { '.codex/config.toml': 'cli_auth_credentials_store = "keyring"\n' } }],
    ['codex', { agent: { flags: ['--oss'] } }],
    ['gemini', {}], // nobody knows how it is logged in, but gemini
  ])('%s %j', (name, given) => {
    expect(notices(name, given)).toEqual([]);
  });

  test('the keychain of macOS has one without a trace', () => {
    expect(loginNotices([chosen('claude')], { cwd: '/', env: { HOME: '/nowhere' } }, 'darwin')).toEqual([]);
  });
});
