/** `ralph plugin` with the real hosts, each in a fresh home; and Claude Code's own opinion of the plugin. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PLUGINS } from '../../src/agents/plugins.ts';
import { VERSION } from '../../src/platform/version.ts';
import { type HostName, hostCommand } from '../rig/hosts/host.ts';
import { runHost } from '../rig/hosts/run.ts';
import { hostSession } from '../rig/hosts/session.ts';
import { DONE, loopIn, ralphIn, work } from './in-session.ts';

const ROOT = join(import.meta.dirname, '../..');
const PLUGIN = join(ROOT, 'plugins/claude');

/** What an installation may read and never write: Ralph's own folder and the plugins in it. */
function ownFiles(): readonly string[] {
  const plugins = readdirSync(join(ROOT, 'plugins'), { recursive: true, encoding: 'utf8' });
  return [...readdirSync(ROOT), ...plugins].sort();
}

async function fresh(name: HostName) {
  const session = await hostSession(name, { steps: [] });
  onTestFinished(() => session.close());
  const plugin = (...args: readonly string[]) => ralphIn(session, ['plugin', ...args]);
  return { session, plugin };
}

/** What a host keeps of its own past, and sends to its makers. */
const PAST = /\.claude\.json|telemetry|state\.previous\.json|projects\.json|\blogs?\b|backup|history/;

/** Files and folders in a home that are Ralph's, and files that name it. */
function traces(home: string): readonly string[] {
  const names = /ralph@ralph|\bralph"|\[marketplaces\.ralph\]/;
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() || entry.name === 'ralph')
    .filter(({ parentPath, name }) => !PAST.test(join(parentPath, name).slice(home.length)))
    .map(entry => ({ entry, path: join(entry.parentPath, entry.name) }))
    .filter(
      ({ entry, path }) =>
        /ralph/.test(path.slice(home.length)) || (entry.isFile() && names.test(readFileSync(path, 'utf8'))),
    )
    .map(({ path }) => path);
}

/** How a user switches it off, in hosts that have a command for it. */
const OFF: Partial<Record<HostName, readonly string[]>> = {
  claude: ['plugin', 'disable', 'ralph@ralph'],
  copilot: ['plugin', 'disable', 'ralph@ralph'],
  qwen: ['extensions', 'disable', 'ralph'],
  gemini: ['extensions', 'disable', 'ralph'],
};

describe.each(PLUGINS.map(({ name }) => name as HostName))('ralph plugin in %s', name => {
  test('shows, installs once, checks, removes without a trace', async () => {
    const { session, plugin } = await fresh(name);
    const { home } = session.place;
    const own = ownFiles();
    expect(await plugin('check', name)).toMatchObject({ code: 1 });
    const dry = await plugin('install', name, '--dry-run');
    expect([dry.code, traces(home)]).toEqual([0, []]);
    const installed = await plugin('install', name);
    expect(installed.code).toBe(0);
    // What was shown is what was done.
    expect(installed.output).toContain(dry.output.split('\n').slice(1).join('\n'));
    expect(traces(home)).not.toEqual([]);
    expect(ownFiles()).toEqual(own);
    expect((await plugin('install', name)).output).toContain('already installed');
    expect((await plugin('check', name)).output).toContain(`${VERSION} is installed`);
    expect(await plugin('remove', name)).toMatchObject({ code: 0 });
    expect(traces(home)).toEqual([]);
    expect(ownFiles()).toEqual(own);
    expect((await plugin('remove', name)).output).toContain('Nothing to do');
  });

  test('`ralph uninstall --all` leaves nothing, also of one that is switched off', {
    tags: 'P-uninstall',
  }, async () => {
    const { session, plugin } = await fresh(name);
    const { home } = session.place;
    for (const off of [undefined, ...(OFF[name] ? [OFF[name]] : [])]) {
      expect(await plugin('install', name)).toMatchObject({ code: 0 });
      if (off) {
        const host = { place: session.place, env: session.env, stdin: '' };
        expect((await runHost([hostCommand(name), ...off], host)).code).toBe(0);
      }
      expect(await ralphIn(session, ['uninstall', '--all'])).toMatchObject({ code: 0 });
      expect(traces(home)).toEqual([]);
    }
  });
});

test('a host that Ralph does not know is refused with the ones that it knows', async () => {
  const { plugin } = await fresh('claude');
  const { code, output } = await plugin('install', 'emacs');
  expect(code).toBe(2);
  expect(output).toContain('claude, codex, copilot, qwen, gemini, opencode');
});

test('`claude plugin validate --strict` finds nothing wrong', async () => {
  const { session } = await fresh('claude');
  const { code, stdout } = await runHost([hostCommand('claude'), 'plugin', 'validate', PLUGIN, '--strict'], {
    place: session.place,
    env: session.env,
    stdin: '',
  });
  expect(stdout).toContain('Validation passed');
  expect(code).toBe(0);
});

test('installed from the marketplace in a fresh home, Claude Code loops, and counts each tool once', async () => {
  const { turns, left, session } = await loopIn(
    'claude',
    '/ralph:ralph-loop Do it --completion-promise DONE --min-tool-calls 2',
    [work, { text: DONE }, work, { text: DONE }],
  );
  expect([turns, left]).toEqual([4, false]);
  expect(existsSync(join(session.place.repo, 'work.txt'))).toBe(true);
});
