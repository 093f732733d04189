/** What a run's sandbox lets through, worked out on a real repository with a home of its own. */
import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findAdapter } from '../../src/agents/registry.ts';
import { defaultSettings } from '../../src/config/settings.ts';
import type { SandboxSettings } from '../../src/config/settings-shape.ts';
import { isProblem } from '../../src/domain/text/problem.ts';
import { planSpec } from '../../src/opening/sandbox-spec.ts';
import { computeBinds } from '../../src/sandbox/hidden.ts';
import { projectPaths } from '../../src/store/paths.ts';
import { folder, gitEnv, type Repo, repo } from '../rig/repo.ts';

interface Given {
  readonly project?: Repo;
  readonly home?: Repo;
  readonly agents?: readonly string[];
  readonly settings?: Partial<SandboxSettings>;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

async function planned({ project = repo(), home = folder('home '), ...given }: Given = {}) {
  project.write('.ralph/settings.json', '{}');
  const plan = await planSpec({
    settings: { ...defaultSettings('run').sandbox, ...given.settings },
    agents: (given.agents ?? ['claude']).map(name => findAdapter(name).needs),
    project: projectPaths(project.dir),
    cwd: given.cwd ?? project.dir,
    env: { ...gitEnv(), HOME: home.dir, XDG_STATE_HOME: '', ...given.env },
  });
  return { plan, project, home };
}

async function spec(given: Given = {}) {
  const { plan, ...places } = await planned(given);
  if (isProblem(plan)) throw new Error(plan.what);
  return { ...plan, ...places };
}

const real = (path: string) => realpathSync(path);

describe('writable', () => {
  test('the work tree, its repository and the agent’s own folder, which is made', async () => {
    const { spec: made, project, home } = await spec();
    expect(made.writable).toEqual([project.dir, join(project.dir, '.git'), home.path('.claude')].map(real));
  });

  test('in a worktree that one, and what all worktrees share; not the main checkout', async () => {
    const project = repo();
    project.git('worktree', 'add', '-q', 'tree');
    const { spec: made, home } = await spec({ project, cwd: project.path('tree') });
    const places = ['tree', '.git', '.git/worktrees/tree'].map(name => project.path(name));
    expect(made.writable).toEqual([...places, home.path('.claude')].map(real));
    expect(computeBinds(made).readOnly).toContain(real(project.path('tree/.git')));
  });

  test('of every agent that may stand in', async () => {
    const { spec: made, home } = await spec({ agents: ['claude', 'codex'] });
    expect(made.writable).toEqual(
      expect.arrayContaining([home.path('.claude'), home.path('.codex')].map(real)),
    );
    expect(made.network.domains).toEqual(expect.arrayContaining(['api.anthropic.com', 'api.openai.com']));
  });

  test('a folder that the user has moved, and its settings there are trusted', async () => {
    const home = folder('home ');
    home.write('elsewhere/settings.json', '{}');
    const env = { CLAUDE_CONFIG_DIR: home.path('elsewhere') };
    const { spec: made } = await spec({ home, env });
    expect(made.writable).toContain(real(home.path('elsewhere')));
    expect(made.writable).not.toContain(real(home.dir));
    expect(existsSync(home.path('.claude'))).toBe(false);
    expect(computeBinds(made).readOnly).toContain(real(home.path('elsewhere/settings.json')));
    expect(made.env.CLAUDE_CONFIG_DIR).toBe(home.path('elsewhere'));
  });

  test('what is named must be there', async () => {
    const { plan } = await planned({ settings: { writable: ['~/nowhere'] } });
    expect(plan).toMatchObject({ where: 'sandbox.writable ~/nowhere' });
  });
});

test('what Claude Code renames into the home is copied to where it may, once', async () => {
  const home = folder('home ');
  home.write('.claude.json', '{"first":1}');
  await spec({ home });
  home.write('.claude.json', '{"second":2}');
  await spec({ home });
  expect(readFileSync(home.path('.claude/.claude.json'), 'utf8')).toBe('{"first":1}');
});

describe('trusted', () => {
  test('is bound with every folder on the way, as it is when a command starts', async () => {
    const project = repo({ '.claude/settings.json': '{}', 'README.md': '' });
    const { spec: made, absent } = await spec({ project });
    const names = ['.ralph', '.git/hooks', '.git/config', '.claude/settings.json'];
    const before = computeBinds(made);
    expect(before.readOnly).toEqual(expect.arrayContaining(names.map(name => real(project.path(name)))));
    expect(before.writable).toContain(real(project.path('.claude')));
    expect(absent).toContain(project.path('.mcp.json'));
    expect(absent).not.toContain(project.path('.ralph-active'));
    project.write('.ralph-active', '');
    expect(computeBinds(made).readOnly).toContain(real(project.path('.ralph-active')));
  });

  test.each([
    '.vscode/mcp.json',
    '.zed/tasks.json',
    '.cursor/mcp.json',
    '.idea/runConfigurations/a.xml',
    'mise.toml',
    '.lfsconfig',
    '.aider.conf.yml',
    '.devcontainer/devcontainer.json',
    '.husky/pre-commit',
  ])('%s runs without being asked: it cannot be written, and not be made', async name => {
    const there = await spec({ project: repo({ [name]: 'x' }) });
    const [top = ''] = name.split('/');
    expect(computeBinds(there.spec).readOnly).toContain(real(there.project.path(top)));
    const { absent, project } = await spec();
    expect(absent).toContain(project.path(top));
  });

  test('what the user has git run from the work tree, and the folder of its hooks before it is there', async () => {
    const project = repo({ 'tools/clean.sh': '', 'tools/other.sh': '', 'log/a': '', 'conv.py': '' });
    for (const [key, value] of [
      ['core.hooksPath', 'my-hooks'],
      ['filter.a.clean', 'sh ./tools/clean.sh %f'],
      ['diff.a.textconv', 'python3 conv.py'],
      ['alias.l', 'log tools/other.sh'],
      ['alias.x', '!tools/other.sh log'],
    ] as const)
      project.git('config', key, value);
    const { spec: made, absent } = await spec({ project });
    const { readOnly } = computeBinds(made);
    const names = ['tools/clean.sh', 'conv.py', 'tools/other.sh'];
    expect(readOnly).toEqual(expect.arrayContaining(names.map(name => real(project.path(name)))));
    expect(readOnly).not.toContain(real(project.path('log')));
    expect(absent).toContain(project.path('my-hooks'));
  });

  test('a link on the way to it is remembered', async () => {
    const project = repo({ 'shared/settings.json': '{}' });
    symlinkSync('shared', project.path('.claude'));
    expect([...(await spec({ project })).links]).toEqual([[project.path('.claude'), 'shared']]);
  });
});

describe('hidden', () => {
  test('keys and other agents’ logins, as far as they are there, and Ralph’s own state', async () => {
    const home = folder('home ');
    for (const name of ['.ssh/id', '.codex/auth.json', '.claude/.credentials.json', '.netrc'])
      home.write(name, 'x');
    const { spec: made } = await spec({ home });
    const names = ['.codex', '.local/state/ralph', '.netrc', '.ssh'];
    expect([...made.hidden].sort()).toEqual(names.map(name => real(home.path(name))));
  });

  test('by their kind: what a name says is a key, a login or a history, where programs keep such', async () => {
    const home = folder('home ');
    const secret = [
      ...[
        '.pgpass',
        '.my.cnf',
        '.netrc',
        '.python_history',
        '.kube/config',
        '.docker/config.json',
        'server.pem',
      ],
      ...['.config/gh/hosts.yml', '.config/unknown-tool/credentials.json', '.config/other/api-token'],
      ...['.local/share/app/cookies.sqlite', '.some-cli/auth.json', '.cargo/credentials', '.m2/settings.xml'],
      ...['.config/BraveSoftware/x', '.config/rclone/rclone.conf', '.gnupg/a'],
    ];
    const open = [
      '.bashrc',
      '.cargo/bin/tool',
      '.config/app/settings.json',
      'code/auth/token.ts',
      '.npm/a',
      'notes.md',
    ];
    for (const name of [...secret, ...open]) home.write(name, 'x');
    const { spec: made } = await spec({ home });
    const isHidden = (name: string) =>
      made.hidden.some(path => `${real(home.path(name))}/`.startsWith(`${path}/`));
    expect(secret.filter(name => !isHidden(name))).toEqual([]);
    expect(open.filter(isHidden)).toEqual([]);
  });

  test('by pattern, unless git knows the file: then hiding it would be a pretence', async () => {
    const project = repo({ '.gitignore': '.env\n', 'kept/.env.example': '', 'README.md': '' });
    project.write('.env', 'x');
    project.write('deep/er/.env', 'x');
    project.write('node_modules/a/.env', 'x');
    const { spec: made, notices } = await spec({ project, settings: { denyRead: ['**/.env', '**/.env.*'] } });
    const own = made.hidden.filter(path => path.startsWith(real(project.dir)));
    expect([...own].sort()).toEqual(['.env', 'deep/er/.env'].map(name => real(project.path(name))));
    expect(notices).toEqual([expect.stringContaining('kept/.env.example is in the repository')]);
  });

  test('what git does not ignore is a problem: the agent would commit it', async () => {
    const project = repo();
    project.write('secret.txt', 'x');
    const { plan } = await planned({ project, settings: { denyRead: ['secret.txt'] } });
    expect(plan).toMatchObject({ where: 'sandbox.denyRead secret.txt', fix: 'add it to .gitignore' });
  });

  test('what is named as writable is not hidden', async () => {
    const home = folder('home ');
    home.write('.aws/config', 'x');
    const { spec: made } = await spec({ home, settings: { writable: ['~/.aws'] } });
    expect(made.hidden).toEqual([real(home.path('.local/state/ralph'))]);
  });
});

describe('the network', () => {
  test.each([
    [{}, ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com']],
    [{ ANTHROPIC_BASE_URL: 'https://models.example.org/v1' }, ['models.example.org']],
    [{ ANTHROPIC_BASE_URL: 'http://127.0.0.1:8080' }, ['127.0.0.1:8080']],
    [{ ANTHROPIC_BASE_URL: 'not an address' }, []],
  ])('with %j reaches %j', async (env, domains) => {
    const { spec: made } = await spec({ env, settings: { allowDomains: ['more.test'] } });
    expect(made.network.domains).toEqual(expect.arrayContaining([...domains, 'more.test']));
    expect(made.network.mode).toBe('allowlist');
  });
});

test('outside of git the folder itself is the work tree', async () => {
  const home = folder('home ');
  const place = folder('plain ');
  const { spec: made } = await spec({ project: place, home });
  expect(made.writable).toEqual([place.dir, home.path('.claude')].map(real));
});
