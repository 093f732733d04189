import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { init, result, speaks, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { recordOf } from '../rig/ledger.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';

/** The words of a call without the hooks that the run gives its agent. */
function withoutHooks(argv: readonly string[] = []): readonly string[] {
  return argv.filter((word, at) => word !== '--plugin-dir' && argv[at - 1] !== '--plugin-dir');
}

describe('what a user sees', () => {
  test('tools with their results, and what it cost', { tags: ['promise', 'P-display'] }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      for (const record of [
        init,
        toolUse('t1', 'Read', { file_path: 'a.go' }),
        toolResult('t1', 'package main\n\nfunc main() {}\n'),
        text(DONE),
        result(),
      ]) {
        await turn.line(record);
      }
      turn.exit();
    });
    const { stdout } = await ralph(['run', '-p', 'go', '--agent', 'claude'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(stdout).toContain('⏺ Read(a.go)\n✅ Result ← Read (3 lines, 29 chars)\n  ⎿  package main\n');
    expect(stdout).toContain('✅ Complete (cost: $0.0100, tokens: 100 in / 20 out, tools: 1, errors: 0');
    expect(stdout).not.toContain('\u001b');
  });

  test('with the time before each line, and as much of an output as the settings say', async () => {
    const project = repo();
    project.settings({ showTimestamp: true, maxOutputLines: 1, maxOutputChars: 9 });
    const agent = await fakeAgent('claude', async turn => {
      const output = 'first line of many\nsecond line';
      for (const record of [init, toolUse('t', 'Read', { file_path: 'a' }), toolResult('t', output)])
        await turn.line(record);
      for (const record of [text('<response>DONE</response>'), result()]) await turn.line(record);
      turn.exit();
    });
    const { stdout } = await ralph(['run', '-p', 'go', '--agent', 'claude'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(stdout).toMatch(/^\[\d\d:\d\d:\d\d\] .*first li…$/m);
    expect(stdout).not.toContain('second line');
  });

  test('without emoji it is plain ASCII markers', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks(DONE));
    const { stdout } = await ralph(['run', '-p', 'go', '--agent', 'claude', '--no-emoji'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(stdout).toContain('[OK] Complete');
    expect(stdout).not.toMatch(/[✅⏺❗🔸]/u);
  });

  test('with --no-stream-agent-output the agent runs in text mode and its words are not shown', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks(`secret plan ${DONE}`));
    const { code, stdout } = await ralph(
      ['run', '-p', 'go', '--agent', 'claude', '--no-stream-agent-output'],
      { cwd: project.dir, path: [agent.bin] },
    );
    expect(code).toBe(0);
    expect(withoutHooks(agent.calls[0]?.argv)).toEqual([
      '-p',
      '--output-format',
      'text',
      '--dangerously-skip-permissions',
    ]);
    expect(stdout).not.toContain('secret plan');
  });

  test('--quiet shows only the final block', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', says(DONE));
    const { stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker', '--quiet'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(stdout).toMatch(/^Done: /);
    expect(stdout).not.toContain('Iteration 1 of');
  });

  test('--verbose says what is loaded, called, sent and found, on stderr', async () => {
    const project = repo();
    project.settings({
      agent: { command: 'claude', flags: ['--model opus', '--api-key s3cr3t'] },
      guardrails: [{ command: 'true' }],
    });
    project.write('.ralph/settings.local.json', '{}');
    const agent = await fakeAgent('claude', speaks(DONE));
    const { stderr } = await ralph(['run', '-p', 'x'.repeat(300), '-V'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    const lines = stderr.split('\n');
    expect(lines).toContain('[ralph] Loading settings from .ralph/settings.json');
    expect(lines).toContain('[ralph] Loading settings from .ralph/settings.local.json');
    expect(lines).toContain('[ralph] Iteration 1/10 starting');
    const command = /\[ralph\] Agent command: (.*)/
      .exec(stderr)?.[1]
      ?.replace(/--plugin-dir (?:'[^']*'|\S+) /, '');
    expect(command).toBe(
      `claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model opus --api-key '[redacted]'`,
    );
    expect(stderr).toContain(`[ralph] Prompt (200 of 300 chars): ${'x'.repeat(200)}`);
    expect(lines).toContain('[ralph] Running guardrail: true');
    expect(stderr).toMatch(/\[ralph\] Guardrail exited with code 0 \(\d\.\ds\)/);
    expect(stderr).toContain('[ralph] Completion: the tag is there');
    expect(stderr).not.toContain('s3cr3t');
  });
});

describe('what a program sees', () => {
  test('--json: one result on stdout and nothing else there', { tags: ['promise', 'P-json'] }, async () => {
    const project = repo();
    project.settings({ agent: { command: 'claude' }, guardrails: [{ command: 'echo ok' }] });
    const agent = await fakeAgent('claude', speaks(DONE));
    const { stdout, stderr } = await ralph(['run', '-p', 'go', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(JSON.parse(stdout)).toEqual({
      runId: expect.stringMatching(/^\d{8}-\d{6}-[0-9a-z]{2}[0-9a-f]{2}$/),
      success: true,
      stopReason: 'promise_accepted',
      detail: null,
      iterations: [
        {
          iteration: 1,
          mode: 'run',
          stepsTaken: 1,
          toolCalls: 0,
          cost: 0.01,
          costSource: 'agent',
          tokens: { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 },
          duration: expect.any(Number),
          checkResults: [
            { name: 'echo ok', passed: true, exitCode: 0, duration: expect.any(Number), output: 'ok\n' },
          ],
          allChecksPassed: true,
          completionTagFound: true,
          violations: [],
          error: null,
        },
      ],
      totalCost: 0.01,
      unreportedCalls: 0,
      totalTokens: { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 },
      totalDuration: expect.any(Number),
      worktreePath: null,
      proof: {
        level: 'place',
        contained: expect.any(String),
        commit: null,
        tree: expect.stringMatching(/^[0-9a-f]{40}$/),
        checkInputsChanged: [],
      },
      testsChanged: [],
      branch: null,
    });
    expect(stderr).toContain('Iteration 1 of 10');
  });

  test('unknown cost is null, not zero', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', says(DONE));
    const { stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(JSON.parse(stdout)).toMatchObject({
      totalCost: null,
      totalTokens: null,
      iterations: [{ cost: null, costSource: 'unknown', toolCalls: null }],
    });
  });

  test('--events -: every event, one a line', { tags: ['promise', 'P-events'] }, async () => {
    const project = repo();
    const agent = await fakeAgent('worker', says(DONE));
    const { stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker', '--events', '-'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    const types = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).type);
    expect(types).toEqual([
      'run-started',
      ...['notice', 'notice', 'notice'], // what it may do, the guard, how to end
      'prepared',
      'iteration-started',
      'agent-started',
      'agent',
      'agent-ended',
      'turn-ended',
      'judged',
      'iteration-ended',
      'run-ended',
    ]);
  });

  test('--events FILE adds to the file; one that cannot be written is told before anything else is', async () => {
    const project = repo({ '.gitignore': 'out.jsonl\n' });
    const agent = await fakeAgent('worker', says(DONE));
    await ralph(['run', '-p', 'go', '--agent', 'worker', '--events', 'out.jsonl'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(project.read('out.jsonl').trimEnd().split('\n').length).toBe(13);
    const other = repo();
    const refused = await ralph(['run', '-p', 'go', '--agent', 'worker', '--events', 'no/such/folder'], {
      cwd: other.dir,
      path: [agent.bin],
    });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--events no/such/folder: it cannot be written: it does not exist');
    expect(other.git('status', '--porcelain')).toBe('');
  });

  test('--dry-run shows settings, command and prompt, runs nothing and writes nothing', {
    tags: ['promise', 'P-dry-run'],
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks(DONE));
    const args = ['run', '-p', 'do it', '--agent', 'claude', '--model', 'opus', '--dry-run'];
    const { code, stdout } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
    expect([code, agent.calls.length]).toEqual([0, 0]);
    expect(stdout).toContain(
      'claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model opus\n',
    );
    expect(stdout.endsWith('(5 characters)\ndo it\n')).toBe(true);
    expect(project.git('status', '--porcelain')).toBe('');
  });
});

describe('the settings', () => {
  test('of the local file are laid over the shared ones, and flags over both', {
    tags: ['promise', 'P-layers'],
  }, async () => {
    const project = repo();
    project.settings({
      maximumIterations: 3,
      completionResponse: 'A',
      agent: { command: 'claude', flags: ['--model opus'] },
      guardrails: [{ command: 'x' }],
    });
    project.write(
      '.ralph/settings.local.json',
      JSON.stringify({ completionResponse: 'B', agent: { flags: ['--verbose'] }, guardrails: [] }),
    );
    const agent = await fakeAgent('claude');
    const { stdout } = await ralph(['run', '-p', 'x', '-m', '7', '--dry-run', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(JSON.parse(stdout)).toMatchObject({
      settings: {
        maximumIterations: 7,
        completionResponse: 'B',
        agent: { command: 'claude', flags: ['--verbose'] },
        guardrails: [],
      },
      command: 'claude -p --output-format stream-json --dangerously-skip-permissions --verbose',
    });
  });

  test('name agents of one’s own, with wrappers that speak another one’s stream', async () => {
    const project = repo();
    const agent = await fakeAgent('my wrapper', speaks(DONE));
    project.settings({
      agents: {
        fast: {
          command: `'${agent.bin}/my wrapper' --first`,
          adapter: 'claude',
          flags: ["--a 'b c'"],
          model: 'haiku',
        },
      },
    });
    const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', 'fast'], { cwd: project.dir });
    expect(code).toBe(0);
    expect(withoutHooks(agent.calls[0]?.argv)).toEqual([
      '--first',
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--dangerously-skip-permissions',
      '--model',
      'haiku',
      '--a',
      'b c',
    ]);
    expect(stdout).toContain('Complete (cost: $0.0100');
  });

  test('without an agent take the first one installed, and say so', { tags: 'P-agent-choice' }, async () => {
    const project = repo();
    const agent = await fakeAgent('codex');
    const { stdout } = await ralph(['run', '-p', 'go', '--dry-run'], {
      cwd: project.dir,
      path: [agent.bin],
      env: { PATH: `${agent.bin}:/usr/bin:/bin` },
    });
    expect(stdout).toContain('Agent (codex: it is the first one installed here)');
  });
});

describe('the ledger', () => {
  async function oneRun() {
    const project = repo();
    project.settings({ agent: { command: 'claude' }, guardrails: [{ command: 'echo checked' }] });
    const agent = await fakeAgent('claude', speaks(`All well. ${DONE}`));
    const { stdout } = await ralph(['run', '-p', 'go', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
      env: { MY_API_KEY: 'sk-very-secret-value' },
    });
    const { runId } = JSON.parse(stdout);
    return { project, runId, events: recordOf(project, runId).events };
  }

  test('holds the run: its settings, every prompt, the raw stream, every check', {
    tags: ['promise', 'P-run-folder'],
  }, async () => {
    const { project, runId } = await oneRun();
    const at = (name: string) => project.read(`.ralph/runs/${runId}/${name}`);
    expect(JSON.parse(at('run.json'))).toMatchObject({
      id: runId,
      command: 'run',
      config: { agent: { command: 'claude' } },
    });
    expect(at('iterations/0001/prompt.md')).toBe('go');
    expect(at('iterations/0001/agent.jsonl').split('\n').length).toBe(4);
    expect(at('iterations/0001/checks/echo_checked.log')).toBe('checked\n');
    expect(statSync(project.path(`.ralph/runs/${runId}/events.jsonl`)).mode & 0o777).toBe(0o600);
    expect(project.git('status', '--porcelain')).toBe('?? .ralph/\n');
  });

  test('is what ralph log and ralph status tell', async () => {
    const { project, runId } = await oneRun();
    const log = await ralph(['log'], { cwd: project.dir });
    expect(log).toMatchObject({ code: 0, stderr: '' });
    expect(log.stdout).toMatch(/\[\d\d:\d\d:\d\d\] All well\./);
    const status = await ralph(['status'], { cwd: project.dir });
    expect(status.stdout).toMatch(
      new RegExp(
        `^Run +State +Iteration  Checks  Cost +Age +Task\n${runId}  done   run 1/10   1/1     \\$0\\.0100  \\d+s +go\n\nProof of ${runId}: the checks passed in your folder; not tried in a clean checkout · [^\n]+\n$`,
      ),
    );
    const json = await ralph(['status', '--json'], { cwd: project.dir });
    expect(JSON.parse(json.stdout).runs).toMatchObject([
      { id: runId, state: 'done', iteration: 1, cost: 0.01 },
    ]);
  });

  test('shows when somebody changed it', async () => {
    const { project, events } = await oneRun();
    writeFileSync(events, readFileSync(events, 'utf8').replace('All well', 'All bad!'));
    const { code, stderr } = await ralph(['log'], { cwd: project.dir });
    expect(code).toBe(1);
    expect(stderr).toMatch(/The ledger has been changed: line \d+ does not follow from the line before it/);
  });

  test('with a torn last line is read as far as it goes, and that is said', async () => {
    const { project, events } = await oneRun();
    appendFileSync(events, '{"seq":99,"at":"20');
    const { code, stderr, stdout } = await ralph(['log'], { cwd: project.dir });
    expect(code).toBe(0);
    expect(stdout).toContain('All well.');
    expect(stderr).toContain('the last line of the ledger is incomplete');
  });

  test('of a run that was killed is shown as crashed', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', async turn => void (await turn.print('working\n')));
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    await run.until('working');
    const during = await ralph(['status'], { cwd: project.dir });
    expect(during.stdout).toContain('running');
    run.process.kill('SIGKILL');
    await run.finished;
    const after = await ralph(['status'], { cwd: project.dir });
    expect(after.stdout).toContain('crashed');
  });

  test('can be followed while the run goes on, and following ends with it', async () => {
    const project = repo();
    const { open: finish, opened: wait } = createGate();
    const agent = await fakeAgent('worker', async turn => {
      await turn.print('first words\n');
      await wait;
      await turn.print(`last words ${DONE}\n`);
      turn.exit();
    });
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    await run.until('first words');
    const follow = startRalph(['log', '--follow'], { cwd: project.dir });
    await follow.until('first words');
    finish();
    const { code, stdout } = await follow.finished;
    expect(code).toBe(0);
    expect(stdout).toContain('last words');
    await run.finished;
  });

  test('holds no secret of the environment', { tags: ['promise', 'P-secrets'] }, async () => {
    const project = repo();
    const agent = await fakeAgent('worker', says(`my key is sk-very-secret-value ${DONE}\n`));
    await ralph(['run', '-p', 'go', '--agent', 'worker'], {
      cwd: project.dir,
      path: [agent.bin],
      env: { MY_API_KEY: 'sk-very-secret-value' },
    });
    const { stdout } = await ralph(['log', '--json'], { cwd: project.dir });
    expect(stdout).toContain('my key is [redacted]');
    expect(stdout).not.toContain('sk-very-secret-value');
  });

  test('survives an agent and a check that delete it', { tags: 'promise' }, async () => {
    const project = repo();
    project.settings({ guardrails: [{ command: 'git clean -xdffq' }] });
    const agent = await fakeAgent(
      'worker',
      async turn => {
        await turn.print('first words\n');
        await turn.shell('rm -rf .ralph');
        turn.exit();
      },
      says(DONE),
    );
    const { code } = await ralph(['run', '-p', 'go', '--agent', 'worker'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(code).toBe(0);
    const log = await ralph(['log'], { cwd: project.dir });
    expect(log).toMatchObject({ code: 0, stderr: '' });
    expect(log.stdout).toContain('first words');
    expect(log.stdout).toContain('Stop reason: promise_accepted');
  });

  test('survives an agent that writes another in its place', async () => {
    const project = repo();
    const agent = await fakeAgent(
      'worker',
      async turn => {
        await turn.shell(
          'for f in .ralph/runs/*/events.jsonl; do echo forged > "$f.new"; mv "$f.new" "$f"; done',
        );
        turn.exit();
      },
      says(DONE),
    );
    await ralph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    const log = await ralph(['log', '--json'], { cwd: project.dir });
    expect(log.stderr).toBe('');
    expect(log.stdout).not.toContain('forged');
    expect(log.stdout.split('\n').map(line => line && JSON.parse(line).type)).toContain('run-ended');
  });

  test('of a run nobody knows is one sentence', async () => {
    const { dir } = folder();
    const { code, stderr } = await ralph(['log', 'nope'], { cwd: dir });
    expect(code).toBe(2);
    expect(stderr).toContain('there are no runs here yet');
  });
});

test('an agent that Ralph does not know is called by its own name', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', says('<response>DONE</response>'));
  const run = (...args: string[]) =>
    ralph(['run', '-p', 'go', '--agent', 'worker', ...args], { cwd: project.dir, path: [agent.bin] });
  const told = (await run('--permissions', 'skip')).stdout.replace(/\s+/g, ' ');
  expect(told).toContain('There is no guard either: worker takes no hook that could refuse a tool call.');
  expect(told).not.toContain('generic');
  expect((await run('--max-cost', '1')).stderr).toContain('worker does not report what it costs');
  expect((await run('--dry-run')).stdout).toContain('Agent (worker:');
});
