import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { processWith } from '../rig/processes.ts';
import { BIN, ralph, testEnv } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

interface Terminal {
  /** Waits for the question, then types the answer and Enter. */
  answer(question: string, answer: string): Promise<void>;
  until(text: string): Promise<void>;
  type(keys: string): void;
  readonly ended: Promise<number | null>;
  screen(): string;
}

/** `ralph init` on a real pseudo-terminal, which script(1) provides. */
function onTerminal(project: Repo, path: readonly string[] = []): Terminal {
  const command = `'${process.execPath}' '${BIN}' init`;
  const child: ChildProcess = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: project.dir,
    env: testEnv({ env: { TERM: 'xterm' }, path }),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let screen = '';
  let read = 0;
  const listeners = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', chunk => {
    screen += chunk;
    for (const listener of listeners) listener();
  });
  const ended = new Promise<number | null>(resolve => child.on('close', resolve));
  /** Looks only at what came after the last thing found. */
  const until = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        const at = screen.indexOf(text, read);
        if (at === -1) return;
        read = at + text.length;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      void ended.then(() => reject(new Error(`ended before "${text}":\n${screen}`)));
      look();
    });
  const type = (keys: string) => void child.stdin?.write(keys);
  return {
    until,
    type,
    ended,
    screen: () => screen,
    async answer(question, answer) {
      await until(question);
      type(`${answer}\r`);
    },
  };
}

describe('the wizard on a real terminal', () => {
  test('asks what seed 001 asks, word for word, and writes the settings', {
    tags: ['promise', 'P-init'],
  }, async () => {
    const project = folder();
    const terminal = onTerminal(project);
    await terminal.answer('Agent command (e.g., claude, codex, amp, or other LLM CLI): ', '');
    await terminal.answer('Agent command (e.g., claude, codex, amp, or other LLM CLI): ', 'claude');
    await terminal.answer('Agent flags (comma-separated, optional): ', ' --model , opus ');
    await terminal.answer('Maximum iterations [10]: ', 'zero');
    await terminal.answer('Maximum iterations [10]: ', '');
    await terminal.answer('Completion response [DONE]: ', '');
    await terminal.answer('Add guardrail command (leave blank to finish): ', 'make lint');
    await terminal.answer('  Fail action (APPEND|PREPEND|REPLACE): ', 'sometimes');
    await terminal.answer('  Fail action (APPEND|PREPEND|REPLACE): ', 'prepend');
    await terminal.answer('  Hint (optional, guidance for agent on failure): ', 'Fix lint errors only.');
    await terminal.answer('Add guardrail command (leave blank to finish): ', 'make test');
    await terminal.answer('  Fail action (APPEND|PREPEND|REPLACE): ', 'APPEND');
    await terminal.answer('  Hint (optional, guidance for agent on failure): ', '');
    await terminal.answer('Add guardrail command (leave blank to finish): ', '');
    await terminal.answer('Configure SCM? (y/N): ', 'y');
    await terminal.answer('  SCM command (e.g., git): ', 'git');
    await terminal.answer('  SCM tasks (comma-separated, e.g., commit,push): ', 'commit, push');
    await terminal.until('Settings written to .ralph/settings.json');
    expect(await terminal.ended).toBe(0);
    expect(JSON.parse(project.read('.ralph/settings.json'))).toEqual({
      maximumIterations: 10,
      completionResponse: 'DONE',
      outputTruncateChars: 5000,
      streamAgentOutput: true,
      agent: { command: 'claude', flags: ['--model', 'opus'] },
      guardrails: [
        { command: 'make lint', failAction: 'PREPEND', hint: 'Fix lint errors only.' },
        { command: 'make test', failAction: 'APPEND' },
      ],
      scm: { command: 'git', tasks: ['commit', 'push'] },
    });
  });

  test('proposes an agent that is installed, and guardrails that the project has and that run', async () => {
    const project = folder();
    project.write('Makefile', 'lint:\n\ttrue\ntest:\n\tfalse\n');
    const agent = await fakeAgent('codex', says(''));
    const terminal = onTerminal(project, [agent.bin]);
    await terminal.until('codex is installed: Enter takes it.');
    await terminal.answer('Agent command', '');
    await terminal.answer('Agent flags', '');
    await terminal.answer('Maximum iterations', '');
    await terminal.answer('Completion response', '');
    await terminal.answer(
      'This project has make lint, make test. Run them now, and add those that work? (Y/n): ',
      '',
    );
    await terminal.until('make lint: passes (');
    await terminal.until('make test: runs, and fails now (exit code 2, ');
    await terminal.answer('Add guardrail', '');
    await terminal.answer('Configure SCM?', '');
    await terminal.until('Next: ralph run -p ');
    expect(await terminal.ended).toBe(0);
    expect(JSON.parse(project.read('.ralph/settings.json'))).toMatchObject({
      agent: { command: 'codex', flags: [] },
      guardrails: [{ command: 'make lint' }, { command: 'make test' }],
    });
  });

  test('asks for one tag: the one that the prompts lead with, unless another text is given', async () => {
    const asked = async (answer: string) => {
      const project = folder();
      const terminal = onTerminal(project);
      await terminal.answer('Agent command', 'cat');
      await terminal.answer('Agent flags', '');
      await terminal.answer('Maximum iterations', '');
      await terminal.until('the agent says <promise>COMPLETE</promise>: Enter keeps that.');
      await terminal.answer('Completion response [DONE]: ', answer);
      await terminal.answer('Add guardrail', '');
      await terminal.answer('Configure SCM?', '');
      await terminal.ended;
      return terminal.screen().split('Next: ')[1] ?? '';
    };
    expect(await asked('')).toContain('<promise>COMPLETE</promise>');
    expect(await asked('READY')).toContain('<response>READY</response>');
  });

  test('Ctrl-C while a proposed check runs ends the check, and nothing is written', async () => {
    const project = folder();
    project.write('Makefile', 'test:\n\t@touch began; sleep 1000\n');
    const terminal = onTerminal(project);
    await terminal.answer('Agent command', 'cat');
    await terminal.answer('Agent flags', '');
    await terminal.answer('Maximum iterations', '');
    await terminal.answer('Completion response', '');
    await terminal.answer('Run them now', '');
    await expect.poll(() => existsSync(project.path('began')), { timeout: 60_000 }).toBe(true);
    terminal.type('\u0003');
    expect(await terminal.ended).toBe(130);
    expect(terminal.screen()).toContain('Nothing was written.');
    expect(existsSync(project.path('.ralph'))).toBe(false);
  });

  test('proposes to protect the tests, and what a fresh checkout needs', async () => {
    const project = repo({ 'test/a.test.js': 'x\n', 'package-lock.json': '{}\n' });
    const terminal = onTerminal(project);
    await terminal.answer('Agent command', 'cat');
    await terminal.answer('Agent flags', '');
    await terminal.answer('Maximum iterations', '');
    await terminal.answer('Completion response', '');
    await terminal.answer('Add guardrail', '');
    await terminal.answer('Protect the tests that are there (test/**) from the agent? (Y/n): ', '');
    await terminal.answer('Make a fresh checkout ready with `npm ci`? (Y/n): ', 'n');
    await terminal.answer('Configure SCM?', '');
    expect(await terminal.ended).toBe(0);
    const written = JSON.parse(project.read('.ralph/settings.json'));
    expect([written.protect, written.setup]).toEqual([['test/**'], undefined]);
  });

  test('what it writes, ralph run accepts', { tags: ['promise', 'P-init'] }, async () => {
    const project = folder();
    const terminal = onTerminal(project);
    await terminal.answer('Agent command', 'cat');
    await terminal.answer('Agent flags', '');
    await terminal.answer('Maximum iterations', '2');
    await terminal.answer('Completion response', 'OK');
    await terminal.answer('Add guardrail', '');
    await terminal.answer('Configure SCM?', 'n');
    expect(await terminal.ended).toBe(0);
    const { code, stdout } = await ralph(['run', '-p', 'x', '--dry-run', '--json'], { cwd: project.dir });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).settings).toMatchObject({
      maximumIterations: 2,
      completionResponse: 'OK',
      guardrails: [],
    });
  });

  test('shows what is there, with the local overlay, and keeps it unless told otherwise', async () => {
    const project = folder();
    const mine = '{ "maximumIterations": 3, "agent": { "command": "claude" } }';
    project.write('.ralph/settings.json', mine);
    project.write('.ralph/settings.local.json', '{ "agent": { "flags": ["--x"] } }');
    const terminal = onTerminal(project);
    await terminal.until('Loaded from .ralph/settings.json (with local overlay from settings.local.json)');
    await terminal.answer('Overwrite? (y/N): ', '');
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen().replaceAll('\r', '')).toContain(
      '"command": "claude",\n    "flags": [\n      "--x"\n',
    );
    expect(project.read('.ralph/settings.json')).toBe(mine);
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['end of input', '\u0004'],
  ])('on %s writes nothing and exits with 130', async (_, keys) => {
    const project = folder();
    const terminal = onTerminal(project);
    await terminal.answer('Agent command', 'claude');
    await terminal.until('Agent flags');
    terminal.type(keys);
    expect(await terminal.ended).toBe(130);
    expect(existsSync(project.path('.ralph'))).toBe(false);
  });
});

test('without a terminal it is refused with exit code 2', async () => {
  const { dir } = folder();
  const { code, stderr } = await ralph(['init'], { cwd: dir, input: 'claude\n' });
  expect(code).toBe(2);
  expect(stderr).toContain('needs a terminal');
});

test('--yes runs the checks as a run does: what they start ends with them, and no tag is written', async () => {
  const project = folder();
  project.write('Makefile', 'test:\n\t@setsid sleep 1000.0711 & exit 3\n');
  const agent = await fakeAgent('codex', says(''));
  const { code, stdout } = await ralph(['init', '--yes'], { cwd: project.dir, path: [agent.bin] });
  expect(code).toBe(0);
  expect(stdout).toContain('make test: runs, and fails now (exit code 2, ');
  expect(stdout).toContain('<promise>COMPLETE</promise>');
  expect(JSON.parse(project.read('.ralph/settings.json'))).not.toHaveProperty('completionResponse');
  expect(processWith('1000.0711')).toBe(-1);
});
