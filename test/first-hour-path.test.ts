/** A newcomer in a terminal, from the README to a report of a project of their own: every command is taken from what the last one printed. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { speaks } from './rig/claude-stream.ts';
import { fakeAgent } from './rig/fake-agent.ts';
import { testEnv } from './rig/ralph.ts';
import { folder, gitEnv, repo } from './rig/repo.ts';
import { hasTerminal, startTerminal } from './rig/terminal.ts';

const ROOT = join(import.meta.dirname, '..');

/** A clone, and what `npm ci` would add to it: it needs the registry. */
function clone(into: string): void {
  execFileSync('git', ['clone', '--quiet', ROOT, into], { env: gitEnv() });
  for (const name of ['dist', '.claude-plugin', 'package.json'])
    cpSync(join(ROOT, name), join(into, name), { recursive: true });
}

/** The first command that the README shows, as it is after `npm ci`. */
function firstCommand(): string {
  const block = /```sh\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))?.[1] ?? '';
  const [line = ''] = block.split('\n');
  expect(line).toMatch(/^npm ci && npm run demo\b/);
  return line.replace('npm ci && ', '').replace(/\s+#.*/, '');
}

const PROMPT = /\$\s*$/;
const SUBTRACTS = 'exports.add = (a, b) => a - b;\n';
const ADDS = 'exports.add = (a, b) => a + b;\n';

function ownProject() {
  return repo({
    'package.json': '{ "private": true, "scripts": { "test": "node test.js" } }',
    'add.js': SUBTRACTS,
    'test.js': "require('node:assert').equal(require('./add.js').add(1, 2), 3);\n",
  });
}

/** Says that it is done before it is, then fixes the bug. */
const agents = () =>
  fakeAgent('claude', speaks('That was easy. <response>DONE</response>'), async turn => {
    await turn.write('add.js', ADDS);
    await speaks('Now it adds. <response>DONE</response>')(turn);
  });

describe.skipIf(!hasTerminal())('from the README to the report', () => {
  test('each command is shown by the one before', async () => {
    const home = folder();
    for (const name of ['tmp', 'prefix']) mkdirSync(home.path(name));
    clone(home.path('ralph'));
    const project = ownProject();
    const env = testEnv({
      env: {
        TMPDIR: home.path('tmp'),
        npm_config_prefix: home.path('prefix'),
        npm_config_ignore_scripts: 'true', // it is built
        npm_config_offline: 'true',
        npm_config_update_notifier: 'false',
        PS1: '$ ',
      },
      path: [home.path('prefix/bin'), (await agents()).bin],
    });
    const terminal = startTerminal({ cwd: home.path('ralph'), env, argv: ['dash', '-i'], columns: 80 });
    onTestFinished(() => terminal.close());
    const began = performance.now();
    const typed: string[] = ['git clone'];
    const enter = async (command: string, ends: RegExp) => {
      typed.push(command);
      await terminal.until(PROMPT);
      terminal.type(command);
      terminal.press('Enter');
      await terminal.until(ends);
      return terminal.unbroken();
    };

    const demo = await enter(firstCommand(), /init -C YOUR-PROJECT/);
    const toInit = shown(demo, /^ {2}(npm install .*YOUR-PROJECT)$/m);
    await enter(toInit.replace('YOUR-PROJECT', `'${project.dir}'`), /Agent command/);
    for (const question of [/Agent flags/, /Maximum/, /Completion/, /\(Y\/n\)/, /Add guardrail/, /SCM/]) {
      terminal.press('Enter');
      await terminal.until(question);
    }
    terminal.press('Enter');
    await terminal.until(/Settings written[\s\S]*Next: .*\n/);
    const toRun = shown(terminal.unbroken(), /^Next: (.*)$/m);
    const ran = await enter(toRun, /Settings written[\s\S]*Stop reason: promise_accepted/);
    expect(project.read('add.js')).toBe(ADDS);
    expect(ran).toContain('Guardrail "npm test" failed');
    const toReport = shown(ran, /Report: `(ralph .*)`$/m);
    await enter(toReport, /run\.html\s+\$\s*$/);
    expect(project.read('run.html')).toContain('</html>');

    expect(typed.length).toBeLessThanOrEqual(6);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`From the demo to the report: ${seconds} s\n  ${typed.join('\n  ')}`);
    // What else the run shows works as well where the newcomer is.
    for (const [, command = ''] of ran.matchAll(/(?:Changes|Log): `(ralph .*)`$/gm))
      execFileSync('sh', ['-c', command], { cwd: home.path('ralph'), env, stdio: 'pipe' });
    expect(existsSync(home.path('ralph/.ralph'))).toBe(false);
  });
});

/** The last that is on the screen. */
function shown(screen: string, pattern: RegExp): string {
  const found = [...screen.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))].at(-1)?.[1];
  expect(found, screen).toBeDefined();
  return found ?? '';
}
