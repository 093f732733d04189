import { cpSync, existsSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ADAPTERS } from '../../src/agents/registry.ts';
import { examine, type Finding } from '../../src/cli/commands/doctor.ts';
import { BIN, ralph } from '../rig/ralph.ts';
import { folder, type Repo, repo, writeScript } from '../rig/repo.ts';

const TESTED = Object.fromEntries(ADAPTERS.map(({ name, tested }) => [name, tested]));

/** A PATH that holds git and these programs, a shell script each, and nothing else. */
function pathWith(programs: Readonly<Record<string, string>>): string {
  const bin = folder('ralph-bin-').dir;
  const git = (process.env.PATH ?? '').split(delimiter).map(each => join(each, 'git'));
  symlinkSync(git.find(path => existsSync(path)) ?? '', join(bin, 'git'));
  for (const [name, script] of Object.entries(programs)) writeScript(join(bin, name), script);
  return bin;
}

const says = (version: string | undefined) => `[ "$1" = --version ] && echo "the agent ${version}"`;

async function doctor(project: Repo, programs: Readonly<Record<string, string>>, env = {}) {
  const { code, stdout } = await ralph(['doctor', '--json'], {
    cwd: project.dir,
    env: { PATH: pathWith(programs), IS_SANDBOX: '1', ...env },
  });
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: readonly Finding[] };
  return { code, ok, of: (topic: string) => findings.filter(each => each.topic === topic) };
}

test('versions are compared with the tested ones, number by number', async () => {
  const { code, ok, of } = await doctor(repo(), {
    claude: says(TESTED.claude),
    codex: says('0.9.9'),
    gemini: says('100.0.0'),
    qwen: 'echo no number',
    copilot: 'echo "cannot find its parts" >&2; exit 1',
  });
  expect({ code, ok }).toEqual({ code: 0, ok: true });
  expect(of('node')[0]?.what).toMatch(/ \(20\.11 or later is needed\)$/);
  expect([of('claude'), of('codex'), of('gemini'), of('qwen'), of('copilot'), of('amp')].flat()).toEqual([
    { topic: 'claude', level: 'ok', what: `${TESTED.claude}, as tested` },
    {
      topic: 'codex',
      level: 'warning',
      what: `0.9.9 is older than the tested ${TESTED.codex}`,
      fix: 'npm install -g @openai/codex',
    },
    { topic: 'gemini', level: 'ok', what: `100.0.0, newer than the tested ${TESTED.gemini}` },
    { topic: 'qwen', level: 'warning', what: `it prints no version; ${TESTED.qwen} is tested` },
    {
      topic: 'copilot',
      level: 'warning',
      what: 'installed, but it does not start: cannot find its parts',
      fix: 'reinstall it: npm install -g @github/copilot',
    },
    { topic: 'amp', level: 'fact', what: 'not installed', fix: 'npm install -g @ampcode/cli' },
  ]);
});

test('an agent in which nobody is logged in', { tags: 'promise' }, async () => {
  const { of, ok, code } = await doctor(repo(), {
    claude: `case "$1" in auth) echo '{"loggedIn": false}'; exit 1;; *) echo '${TESTED.claude}';; esac`,
    codex: `case "$1" in login) echo 'Not logged in' >&2; exit 1;; *) echo '${TESTED.codex}';; esac`,
  });
  const what = 'installed, but you are not logged in';
  expect([of('claude'), of('codex')].flat()).toEqual([
    // The one that a loop would start.
    { topic: 'claude', level: 'problem', what, fix: 'claude auth login' },
    { topic: 'codex', level: 'warning', what, fix: 'codex login' },
  ]);
  expect([ok, code]).toEqual([false, 2]);
});

test('where the agent of a loop is not logged in and another one is, that one is named', async () => {
  const project = repo();
  const programs = {
    claude: `case "$1" in auth) echo '{"loggedIn": false}'; exit 1;; *) echo '${TESTED.claude}';; esac`,
    codex: says(TESTED.codex),
  };
  const { ok, of } = await doctor(project, programs);
  expect([ok, of('claude')]).toMatchObject([
    false,
    [{ level: 'problem', fix: 'claude auth login; or use another one: --agent codex' }],
  ]);
  project.settings({ agent: 'codex' });
  const other = await doctor(project, programs);
  expect([other.ok, other.of('claude')]).toMatchObject([true, [{ level: 'warning' }]]);
});

test('an agent that never answers is ended and reported', async () => {
  const hangs = `exec '${process.execPath}' -e 'setInterval(() => {}, 1e6)'`;
  const env = { PATH: pathWith({ claude: hangs, codex: hangs }) };
  const findings = await examine({ cwd: folder().dir, env, probeTime: 100 });
  const told = findings.filter(({ topic }) => topic === 'claude' || topic === 'codex');
  const what = 'installed, but it does not start: it did not print its version in time';
  // The first one is the agent that a loop would take.
  expect(told.map(finding => [finding.level, finding.what])).toEqual([
    ['problem', what],
    ['warning', what],
  ]);
});

describe('exit code 2 when something must be fixed', () => {
  test('no agent at all', async () => {
    const { code, ok, of } = await doctor(repo(), {});
    expect({ code, ok }).toEqual({ code: 2, ok: false });
    expect(of('agent')).toMatchObject([{ level: 'problem', fix: expect.stringContaining('install one') }]);
  });

  test('the agent of the settings is not there, though another one is', async () => {
    const project = repo();
    project.settings({ agent: 'my-agent' });
    const { code, of } = await doctor(project, { claude: says(TESTED.claude) });
    expect([code, of('agent')]).toMatchObject([
      2,
      [{ level: 'problem', what: 'agent my-agent: there is no such command' }],
    ]);
  });

  test('every problem of the settings is told', async () => {
    const project = repo();
    project.settings({ maximumIterations: 0, agnet: 'claude' });
    const { code, of } = await doctor(project, { claude: says(TESTED.claude) });
    expect([code, of('settings').map(({ level }) => level)]).toEqual([2, ['problem', 'problem']]);
  });

  test('.ralph is not a folder', async () => {
    const project = repo({ '.ralph': 'a file' });
    const { code, of } = await doctor(project, { claude: says(TESTED.claude) });
    expect([code, of('folder')]).toMatchObject([
      2,
      [{ level: 'problem', fix: `mv ${project.path('.ralph')} ${project.path('.ralph')}.old` }],
    ]);
  });
});

test.runIf(process.getuid?.() === 0)('Claude Code as root needs to be told that it is confined', async () => {
  const programs = { claude: says(TESTED.claude) };
  const project = repo();
  const level = async (env = {}) => {
    const { code, of } = await doctor(project, programs, env);
    return [code, of('claude as root')[0]?.level];
  };
  expect(await level()).toEqual([0, 'ok']);
  expect(await level({ IS_SANDBOX: '' })).toEqual([2, 'problem']);
  project.settings({ permissions: 'host' });
  expect(await level({ IS_SANDBOX: '' })).toEqual([0, 'warning']);
});

test('the loop inside a session is reported for each host that is here, with how to install it', async () => {
  const { of } = await doctor(repo(), { codex: says('0.166.0'), qwen: says('0.24.4') });
  expect([of('loop in codex'), of('loop in qwen'), of('loop in claude')]).toMatchObject([
    [{ level: 'fact', what: 'The plugin is not installed.', fix: 'ralph plugin install codex' }],
    [
      {
        level: 'fact',
        what: expect.stringContaining('The plugin is not installed.'),
        fix: 'ralph plugin install qwen',
      },
    ],
    [],
  ]);
});

test('the limit of a host on stop hooks is reported as it is set', async () => {
  const programs = { claude: says(TESTED.claude) };
  const said = async (env = {}) => (await doctor(repo(), programs, env)).of('loop in claude')[0]?.what;
  expect(await said()).toContain('ends a loop after 8 stops in a row');
  expect(await said({ CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '50' })).toContain('after 50 stops in a row');
  expect(await said({ CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0' })).toBe('The plugin is not installed.');
});

test('a folder outside of git, and git without a name, are warnings', async () => {
  const nameless = { GIT_AUTHOR_NAME: '', GIT_AUTHOR_EMAIL: '', EMAIL: '' };
  const { code, of } = await doctor(folder(), { claude: says(TESTED.claude) }, nameless);
  expect([code, of('repository')[0]?.level, of('git identity')[0]?.level]).toEqual([0, 'warning', 'warning']);
});

test('people get a line each, and nothing is written', async () => {
  const project = repo();
  const { stdout } = await ralph(['doctor', '--no-emoji'], {
    cwd: project.dir,
    env: { PATH: pathWith({ codex: says(TESTED.codex), socat: '' }) },
  });
  expect(stdout).toContain(`[OK] agent: codex, because it is the first one installed here\n`);
  expect(stdout).toContain(`[OK] codex: ${TESTED.codex}, as tested\n`);
  expect(stdout).toContain('- gemini: not installed → npm install -g @google/gemini-cli\n');
  expect(stdout).toMatch(/- sandbox srt: does not work here: .*→[^→]*apt-get install bubblewrap/s);
  expect(stdout).toContain('- sandbox sbx: does not work here: it is not installed');
  expect(stdout).toMatch(/\nA loop can run here\.\n$/);
  expect(existsSync(project.path('.ralph'))).toBe(false);
});

test('a sandbox whose package is not installed is not there, in words and not in paths', async () => {
  const installed = folder();
  for (const name of ['dist', 'package.json'])
    cpSync(join(BIN, '../../..', name), installed.path(name), { recursive: true });
  const bin = installed.path('dist/bin/ralph.cjs');
  const { stdout } = await ralph(['doctor', '--json'], { cwd: repo().dir, bin });
  const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
  expect(findings.find(({ topic }) => topic === 'sandbox srt')).toMatchObject({
    what: 'does not work here: it is not installed',
    fix: expect.stringMatching(/^npm install -g @anthropic-ai\/sandbox-runtime@/),
  });
});

test('of a sandbox that works it says what is left open', async () => {
  const { stdout } = await ralph(['doctor', '--json'], { cwd: folder().dir });
  const findings: readonly { readonly topic: string; readonly level: string; readonly what: string }[] =
    JSON.parse(stdout).findings;
  const working = findings.filter(({ topic, level }) => topic.startsWith('sandbox ') && level === 'ok');
  for (const { what } of working) expect(what).toMatch(/\. Left open: .*can be read/);
});
