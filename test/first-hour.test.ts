/** What a newcomer pastes: every command in README and docs that can run without a network runs here, and the others say why not. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { init, isTextMode, result, speaks, text, toolResult, toolUse } from './rig/claude-stream.ts';
import { type FakeTurn, fakeAgent } from './rig/fake-agent.ts';
import { BIN, testEnv } from './rig/ralph.ts';
import { folder, type Repo, repo } from './rig/repo.ts';
import { writeRun } from './rig/written-run.ts';

const ROOT = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    // The tutorial is one story: below.
    .filter(name => name.endsWith('.md') && name !== 'tutorial.md')
    .map(name => `docs/${name}`),
];

interface Line {
  readonly page: string;
  readonly command: string;
}

const LINES: readonly Line[] = PAGES.flatMap(page =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(
    ([, block = '']) =>
      block
        .split('\n')
        .map(line => line.replace(/\s+#.*$/, '').trim())
        .filter(command => command !== '')
        .map(command => ({ page, command })),
  ),
);

/** Why a command is not run here: where it is instead. */
const ELSEWHERE: readonly (readonly [pattern: RegExp, why: string])[] = [
  [
    /^npm ci\b|^npm install\b|^npm test$|--setup "npm ci"/,
    'installs from the registry, or is the caller of this test',
  ],
  [/^cd your-project$/, 'the project of the test is one'],
  [/^ralph init\b/, 'asks questions: test/scenarios/001-init.test.ts'],
  [/^ralph dashboard\b/, 'serves until Ctrl-C: test/browser/dashboard.test.ts'],
  [/--watch/, 'shows until Ctrl-C: test/scenarios/status.test.ts'],
  [/\bgh pr\b/, 'needs GitHub'],
  [/^npm (audit|view)\b|npm install @ralph-loop\/|\bADDRESS\b/, 'needs a release that was published'],
  [/^ralph (fleet|worker|watch --fleet)\b/, 'needs a PostgreSQL: test/fleet/'],
  [/^(sudo apt|pg_dump|psql|pg_restore)\b/, 'needs a PostgreSQL: test/fleet/backup.test.ts'],
  [/pytest|origin\/main/, 'needs pytest and a remote'],
  [/^git fetch && ralph land UNIT/, 'needs what came of a unit: test/scenarios/land.test.ts'],
  [
    /^ralph prd (run|plan)\b|&& ralph prd plan/,
    'needs an agent that plans and reviews: test/scenarios/002-prd-run.test.ts',
  ],
  [/--parallel|--best-of/, 'needs several agents: test/scenarios/parallel.test.ts, parallel-tasks.test.ts'],
  [
    /^ralph (answer|tell|pause|continue|cancel)\b/,
    'needs a run that is running: test/scenarios/steering.test.ts',
  ],
  [/^ralph resume\b/, 'needs a run that was cut off: test/scenarios/resume.test.ts'],
  [/^ralph (land|discard)\b/, 'needs a run that left something: test/scenarios/land.test.ts'],
  [/^ralph (show RUN --iteration|fork)\b/, 'needs a run of several iterations: test/scenarios/best.test.ts'],
  [/--agent codex\b/, 'has a stream of its own: test/hosts/codex.test.ts'],
  [/--sandbox( |=|$)/, 'needs a sandbox: test/scenarios/sandbox.test.ts'],
  [
    /--bundle|^ralph verify\b/,
    'needs a run that was recorded, a key, or a bundle: test/scenarios/verify.test.ts',
  ],
  [/^ralph simulate\b/, 'takes a minute: test/scenarios/simulate.test.ts'],
  [/--mutate/, 'takes long: test/scenarios/mutate-loop.test.ts'],
  [/^ralph prd (archive|status)\b/, 'needs a list with stories: test/scenarios/002-prd-files.test.ts'],
];

const whyElsewhere = (command: string) => ELSEWHERE.find(([pattern]) => pattern.test(command))?.[1];
const here = [...new Map(LINES.map(line => [line.command, line])).values()].filter(
  ({ command }) => whyElsewhere(command) === undefined,
);

test('every reason to leave a command out still has one', () => {
  const unused = ELSEWHERE.filter(([pattern]) => !LINES.some(({ command }) => pattern.test(command)));
  expect(unused.map(([, why]) => why)).toEqual([]);
});

/** An agent that does something, says that it is done, and writes a commit message when asked for one. */
async function work(turn: FakeTurn): Promise<void> {
  if (isTextMode(turn)) await turn.print('Do the work\n');
  else {
    await turn.write('work.js', 'module.exports = 1;\n');
    const words = 'Done. <response>DONE</response> <promise>COMPLETE</promise>';
    for (const record of [
      init,
      toolUse('t', 'Write', { file_path: 'work.js' }),
      toolResult('t', 'ok'),
      text(words),
      result(),
    ])
      await turn.line(record);
  }
  turn.exit();
}

/** `ralph` on the PATH, as it is after `npm install -g`. */
function installed(): string {
  const bin = folder('ralph-installed-');
  bin.script('ralph', `exec '${process.execPath}' '${BIN}' "$@"`);
  return bin.dir;
}

/** A project as the pages have it: a test, a linter, a prompt. */
function project(): Repo {
  return repo({
    'package.json': JSON.stringify({ scripts: { test: 'true', lint: 'true' } }),
    'PROMPT.md': 'Make the tests pass. Then say <response>DONE</response>.\n',
    'test/a.test.js': '',
    '.gitignore': '.ralph/\n',
  });
}

const YESTERDAY = {
  iterations: 1,
  ends: 'all_checks_passed',
  start: Date.parse('2026-11-15T04:12:00Z'),
} as const;

describe('the commands of the pages', () => {
  test.each(here.map(({ page, command }) => [page, command]))('%s: %s', async (_, command) => {
    const { dir } = project();
    const [, asked = ''] = command.split(' ');
    if (['report', 'replay', 'prune', 'status', 'show', 'explain'].includes(asked)) writeRun(dir, YESTERDAY);
    const claude = await fakeAgent('claude', work);
    const others = await Promise.all(['codex', 'opencode'].map(name => fakeAgent(name, work)));
    const env = testEnv({
      env: { IS_SANDBOX: '1' }, // else the doctor finds fault with root
      path: [installed(), claude.bin, ...others.map(({ bin }) => bin)],
    });
    const { code, output } = await spawned(command, dir, env);
    expect(`${output}\nexit code ${code}`).toMatch(/exit code 0$/);
  });
});

/** Not waited for synchronously: the agents are played by this process. */
async function spawned(command: string, cwd: string, env: Record<string, string>) {
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', chunk => {
      output += chunk;
    });
  const code = await new Promise(resolve => child.on('close', resolve));
  return { code, output };
}

describe('the tutorial', () => {
  const FIXED = [
    'exports.total = items => items.reduce((sum, { price, count }) => sum + price * count, 0);',
    'exports.shipping = total => (total >= 50 ? 0 : 5);\n',
  ].join('\n');

  test('pasted from its first block to its last, ends with the fix on main', async () => {
    const page = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8');
    const script = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
      .map(([, block = '']) => block)
      .join('')
      .replace(/^(npm ci|npm install|claude auth) .*$/gm, ''); // they need a network
    const { dir, path } = folder();
    // It says too early that it is done, and fixes the code when it is shown what fails.
    const claude = await fakeAgent('claude', async turn => {
      if (turn.input.includes('npm test')) await turn.write('src/cart.js', FIXED);
      await speaks('That was easy. <response>DONE</response>')(turn);
    });
    const env = testEnv({ env: { IS_SANDBOX: '1' }, path: [installed(), claude.bin] });
    const { code, output } = await spawned(`set -e\n${script}\ngit branch --show-current`, dir, env);
    expect(`${output}\nexit code ${code}`).toMatch(/\nmain\n\nexit code 0$/);
    expect(output).toContain('Not done: guardrail "npm test" failed');
    expect(readFileSync(path('shop/src/cart.js'), 'utf8')).toBe(FIXED);
    expect(readFileSync(path('run.html'), 'utf8')).toContain('</html>');
  });
});

describe('the demo', () => {
  test('ends with commands that exist at that moment: nothing is installed, and its report is there', () => {
    const { dir, path } = folder();
    mkdirSync(path('tmp'));
    // A prefix that npm cannot install to: then an alias does.
    const prefix = { npm_config_prefix: path('missing'), npm_config_update_notifier: 'false' };
    const env = { ...testEnv({ env: { TMPDIR: path('tmp') } }), ...prefix };
    const demo = execFileSync('npm', ['run', '--silent', 'demo', '--', '--pace', '0'], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    });
    const shown = demo.slice(demo.indexOf('Look around')).split('\n').slice(1);
    const commands = shown
      .filter(line => line.startsWith('  '))
      .map(line => line.trim().replace('init -C YOUR-PROJECT', '--version'));
    expect(commands.map(command => command.split(' ').at(-1))).toEqual([
      expect.stringContaining('ralph-demo-'),
      'show',
      'log',
      'run.html',
      expect.stringContaining('ralph.cjs'),
      '--version',
    ]);
    const script = `set -e\n${commands.join('\n')}\ncat run.html`;
    const { status, stdout } = spawnSync('sh', ['-c', script], { cwd: dir, env, encoding: 'utf8' });
    expect([status, stdout.slice(-200)]).toEqual([0, expect.stringContaining('</html>')]);
    expect(demo).not.toMatch(/`ralph /);
    // Nor is anything said of it that holds for another agent alone.
    expect(demo).not.toContain('refuses to skip its permissions');
  });
});
