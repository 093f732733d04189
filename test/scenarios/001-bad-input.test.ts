import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { init, result, speaks, text } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, type Handler, says } from '../rig/fake-agent.ts';
import { folder, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';

describe('bad input is one clear sentence and exit code 2, and nothing is written', () => {
  test.each<[string, string[], RegExp]>([
    ['an unknown flag', ['run', '-p', 'x', '--promt', 'y'], /unknown option '--promt'.*--prompt/],
    ['an unknown command', ['rnu'], /unknown command 'rnu'.*Did you mean run\?/],
    ['a flag without a command', ['-p', 'x'], /no command given\. Did you mean `ralph run -p x`/],
    ['neither prompt', ['run'], /one of the two is needed/],
    ['both prompts', ['run', '-p', 'x', '-f', 'y'], /only one of the two/],
    ['an empty prompt', ['run', '-p', '  \n'], /the prompt is empty/],
    [
      'a prompt file that is not there',
      ['run', '-f', 'nope.md'],
      /prompt file nope\.md: it cannot be read: it does not exist/,
    ],
    [
      'a prompt file that is a folder',
      ['run', '-f', '.'],
      /prompt file \.: it cannot be read: it is a folder/,
    ],
    ['a flag without its value', ['run', '-p'], /argument missing/],
    [
      'zero iterations',
      ['run', '-p', 'x', '-m', '0'],
      /--maximum-iterations: must be a whole number of at least 1, not 0/,
    ],
    ['half an iteration', ['run', '-p', 'x', '-m', '1.5'], /--maximum-iterations: must be a whole number/],
    ['words for a number', ['run', '-p', 'x', '-m', 'ten'], /--maximum-iterations: .*not "ten"/],
    ['permissions that do not exist', ['run', '-p', 'x', '--permissions', 'skipp'], /did you mean skip\?/],
    [
      'an agent that is not installed',
      ['run', '-p', 'x', '--agent', 'codex'],
      /agent codex: there is no such command \(install it: /,
    ],
    [
      'an agent nobody knows',
      ['run', '-p', 'x', '--agent', 'cluade'],
      /agent cluade: there is no such command \(did you mean claude\?\)/,
    ],
    [
      'no agent at all',
      ['run', '-p', 'x'],
      /none is set, and none of claude, codex, opencode, gemini, amp is on the PATH/,
    ],
    [
      'a folder that is not there',
      ['run', '-p', 'x', '-C', '/no/such/folder'],
      /--cwd \/no\/such\/folder: there is no such folder/,
    ],
    ['an argument too many', ['run', '-p', 'x', 'y'], /too many arguments/],
    [
      'a limit that the agent cannot keep',
      ['run', '-p', 'x', '--agent', 'cat', '--max-cost', '1'],
      /--max-cost: cat does not report what it costs/,
    ],
  ])('%s', async (_, args, message) => {
    const { dir } = folder();
    const { code, stdout, stderr } = await ralph(args, { cwd: dir, env: { PATH: onlySystemPath() } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(readdirSync(dir)).toEqual([]);
  });

  test('an empty prompt file', async () => {
    const project = folder();
    project.write('PROMPT.md', ' \n');
    const { code, stderr } = await ralph(['run', '-f', 'PROMPT.md', '--agent', 'cat'], { cwd: project.dir });
    expect([code, stderr]).toEqual([2, 'ralph: prompt file PROMPT.md: it is empty\n']);
  });

  test('all problems of the settings, the flags and the prompt at once', {
    tags: ['promise', 'P-problems'],
  }, async () => {
    const project = repo();
    project.settings({
      maximumIteration: 5,
      completionResponse: '',
      agent: { command: 'cat', flag: ['x'] },
      guardrails: [{ comand: 'x' }, { command: 'y', failAction: 'append' }, 'z'],
      scm: { tasks: 'commit' },
    });
    project.write('.ralph/settings.local.json', '{ "outputTruncateChars": "many" }');
    const { code, stderr } = await ralph(['run', '-m', 'x'], { cwd: project.dir });
    expect(code).toBe(2);
    const said = stderr.split('\n').filter(line => line.startsWith('  - '));
    expect(said).toEqual([
      '  - --maximum-iterations: must be a whole number of at least 1, not "x"',
      '  - .ralph/settings.json: maximumIteration: unknown setting (did you mean maximumIterations?)',
      '  - .ralph/settings.json: completionResponse: must be text that is not empty, not ""',
      '  - .ralph/settings.json: agent.flag: unknown setting (did you mean flags?)',
      '  - .ralph/settings.json: guardrails[0].command: is missing',
      '  - .ralph/settings.json: guardrails[0].comand: unknown setting (did you mean command?)',
      '  - .ralph/settings.json: guardrails[1].failAction: must be one of APPEND, PREPEND, REPLACE, not "append" (did you mean APPEND?)',
      '  - .ralph/settings.json: guardrails[2]: must be an object with command, failAction?, hint?, timeout?, not "z"',
      '  - .ralph/settings.json: scm.tasks: must be a list, each text that is not empty, not "commit"',
      '  - .ralph/settings.local.json: outputTruncateChars: must be a whole number of at least 1, not "many"',
      '  - --prompt, --prompt-file: one of the two is needed (ralph run -p "Fix the failing test")',
    ]);
  });

  test.each([
    ['{ "a": 1,, }', /\.ralph\/settings\.json: is not valid JSON/],
    ['[]', /\.ralph\/settings\.json: must hold a JSON object/],
    ['', /is not valid JSON/],
    ['{"__proto__": {"command": "x"}}', /__proto__: unknown setting/],
  ])('settings that hold %j', async (content, message) => {
    const project = folder();
    project.write('.ralph/settings.json', content);
    const { code, stderr } = await ralph(['run', '-p', 'x', '--agent', 'cat'], { cwd: project.dir });
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test('a folder in which nothing can be written', async () => {
    const { code, stderr } = await ralph(['run', '-p', 'x', '--agent', 'cat', '-C', '/proc'], { cwd: '/' });
    expect(code).toBe(2);
    expect(stderr).toMatch(/\/proc\/\.ralph/);
  });

  test('a file where Ralph’s folder should be', async () => {
    const project = folder();
    writeFileSync(project.path('.ralph'), 'mine');
    const { code, stderr } = await ralph(['run', '-p', 'x', '--agent', 'cat'], { cwd: project.dir });
    expect([code, project.read('.ralph')]).toEqual([2, 'mine']);
    expect(stderr).toMatch(/\.ralph/);
  });

  test('with --json the problems are JSON too', async () => {
    const { dir } = folder();
    const { code, stdout } = await ralph(['run', '--json', '--agent', 'cat'], { cwd: dir });
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      success: false,
      stopReason: 'invalid_config',
      problems: [{ where: '--prompt, --prompt-file' }],
    });
  });
});

describe('a prompt file that vanishes between iterations', () => {
  test('ends the run with exit code 2, a sentence, and the work kept', async () => {
    const project = repo({ 'PROMPT.md': 'go' });
    const agent = await fakeAgent('worker', async turn => {
      await turn.write('work.txt', 'kept');
      rmSync(project.path('PROMPT.md'));
      turn.exit();
    });
    const { code, stdout } = await ralph(['run', '-f', 'PROMPT.md', '--agent', 'worker'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect([code, agent.calls.length, project.read('work.txt')]).toEqual([2, 1, 'kept']);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'prompt file PROMPT.md: it cannot be read: it does not exist',
    );
  });
});

describe('an agent that misbehaves', () => {
  const once = (handler: Handler) => fakeAgent('claude', handler, speaks(DONE));
  const survives = async (handler: Handler) => {
    const project = repo();
    const agent = await once(handler);
    const finished = await ralph(['run', '-p', 'go', '--agent', 'claude', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(finished.code).toBe(0);
    return { ...JSON.parse(finished.stdout), project };
  };

  test('prints nothing', async () => {
    const { iterations } = await survives(turn => turn.exit());
    expect(iterations[0].error).toContain('the stream ended without a result');
  });

  test('prints binary, invalid UTF-8 and half a JSON line', async () => {
    const { iterations, project, runId } = await survives(async turn => {
      await turn.print(Buffer.from([0, 1, 2, 0xff, 0xfe, 10, 0x1b, 0x5b, 0x32, 0x4a, 10]));
      await turn.print('{"type":"assistant","message":{"content":[{"type":"te\n{"type":"result","is_err');
      turn.exit();
    });
    expect(iterations.length).toBe(2);
    expect(existsSync(project.path(`.ralph/runs/${runId}/iterations/0001/agent.jsonl`))).toBe(true);
  });

  test('exits with 0 and reports an error in its stream: not done, whatever it says', {
    tags: 'promise',
  }, async () => {
    const { iterations } = await survives(async turn => {
      for (const record of [init, text(DONE), result({ is_error: true, result: 'it broke' })])
        await turn.line(record);
      turn.exit();
    });
    expect(iterations.length).toBe(2);
  });

  test('exits with 1 and reports success in its stream: done', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      for (const record of [init, text(DONE), result()]) await turn.line(record);
      turn.exit(1);
    });
    const { code } = await ralph(['run', '-p', 'go', '--agent', 'claude'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect([code, agent.calls.length]).toEqual([0, 1]);
  });

  test('fails every time: gives up after three turns and says what it said', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', async turn => {
      await turn.printError('the model is on fire\n');
      turn.exit(7);
    });
    const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect([code, agent.calls.length]).toEqual([1, 3]);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      '3 turns in a row failed; the last one: exit code 7; the model is on fire.',
    );
  });

  test('is refused by its server: stops at once with what to do', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(
        result({ is_error: true, result: 'Invalid API key', api_error_status: 401, num_turns: 1 }),
      );
      turn.exit(1);
    });
    const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', 'claude'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect([code, agent.calls.length]).toEqual([1, 1]);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'log in with `claude auth login`, or set ANTHROPIC_API_KEY',
    );
  });

  test('vanishes from the PATH while the run goes on', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', async turn => {
      rmSync(`${agent.bin}/worker`);
      turn.exit();
    });
    const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(code).toBe(1);
    expect(stdout).toContain('the agent cannot be started: it is not there');
  });

  test('says the tag only where it does not count', { tags: ['promise', 'P-claim'] }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(init);
      await turn.line({ type: 'user', message: { role: 'user', content: `go, then ${DONE}` } });
      await turn.line({
        ...text('x'),
        message: { ...text('x').message, content: [{ type: 'thinking', thinking: DONE }] },
      });
      await turn.line(text(DONE, { parent_tool_use_id: 'toolu_1' }));
      await turn.line({
        type: 'user',
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: DONE }] },
      });
      await turn.line(text('nothing here'));
      await turn.line(result({ result: DONE, num_turns: 0 }));
      turn.exit();
    });
    const { code } = await ralph(['run', '-p', `go, then ${DONE}`, '--agent', 'claude', '-m', '1'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(code).toBe(1);
  });

  test('prints its prompt back: a plain command that echoes is not done', {
    tags: ['promise', 'P-claim'],
  }, async () => {
    const project = repo();
    const { code } = await ralph(['run', '-p', `Fix it.\nThen say ${DONE}`, '--agent', 'cat', '-m', '2'], {
      cwd: project.dir,
    });
    expect(code).toBe(1);
  });
});

describe('an agent that hangs', () => {
  test('is ended after --idle-timeout, is told so, and gets another chance', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', () => {}, says(DONE));
    const { code } = await ralph(['run', '-p', 'go', '--agent', 'worker', '--idle-timeout', '0.3'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(code).toBe(0);
    expect(agent.calls[1]?.input).toMatch(
      /^go\n\nYour last turn was ended because it printed nothing for too long/,
    );
  });

  test('is ended after --iteration-timeout even if it chatters', async () => {
    const project = repo();
    const chatter: Handler = async turn => {
      for (;;) await turn.print('busy\n');
    };
    const agent = await fakeAgent('worker', chatter, says(DONE));
    const { code, stdout } = await ralph(
      ['run', '-p', 'go', '--agent', 'worker', '--iteration-timeout', '0.3', '--json'],
      { cwd: project.dir, path: [agent.bin] },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout).iterations[0].error).toBe('ended by iteration-timeout');
  });

  test('is ended when the time of the run is up, and that is the reason', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', async turn => void (await turn.print('thinking\n')));
    const { code, stdout } = await ralph(
      ['run', '-p', 'go', '--agent', 'worker', '--max-time', '0.3', '--json'],
      { cwd: project.dir, path: [agent.bin] },
    );
    expect([code, JSON.parse(stdout).stopReason]).toEqual([1, 'timeout']);
  });

  test('is ended as soon as its stream shows that the budget is spent', {
    tags: ['promise', 'P-budget'],
  }, async () => {
    const project = repo();
    project.settings({
      agent: { command: 'claude', prices: { 'claude-opus': { input: 1_000_000, output: 0 } } },
    });
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(init);
      await turn.write('work.txt', 'kept');
      await turn.line(text('spending'));
    });
    const { code, stdout } = await ralph(['run', '-p', 'go', '--max-cost', '5', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    const told = JSON.parse(stdout);
    expect([code, told.stopReason, project.read('work.txt')]).toEqual([1, 'budget_exhausted', 'kept']);
    expect(told.iterations[0]).toMatchObject({ cost: 10, costSource: 'prices', error: 'ended by max-cost' });
  });
});

/** Where no agent is installed, but git and sh are. */
function onlySystemPath(): string {
  return '/usr/bin:/bin';
}

test('what a settings file holds does nothing to the terminal', async () => {
  const work = repo();
  work.settings({ '\u001b[31mred\u0007': 1, agent: { command: '\u001b]0;title\u0007' } });
  for (const args of [['run', '-p', 'x'], ['migrate'], ['loop', 'x', '--check', 'true']]) {
    const { code, stderr } = await ralph(args, { cwd: work.dir });
    expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining('red: unknown setting')]);
    expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  }
});
