import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isTextMode, speaks } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, type Handler, says } from '../rig/fake-agent.ts';
import { folder, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';

describe('the loop', () => {
  test('gives the agent the prompt on stdin, byte for byte, and ends when it says that it is done', {
    tags: ['promise', 'P-prompt'],
  }, async () => {
    const { dir } = repo();
    const prompt = `It's "hard": $HOME \`id\` $(id) \\ ; & # --- <promise>DONE</promise> 日本 👩‍👩‍👧\nline 2\n`;
    const agent = await fakeAgent('worker', says(`Finished. ${DONE}\n`));
    const { code, stdout } = await ralph(['run', '-p', prompt, '--agent', 'worker'], {
      cwd: dir,
      path: [agent.bin],
    });
    expect(code).toBe(0);
    expect(agent.calls.map(call => [call.input, call.argv])).toEqual([[prompt, []]]);
    expect(stdout.trimEnd()).toMatch(/Stop reason: promise_accepted \(exit code 0\)$/);
  });

  test('continues until the maximum and then says so with exit code 1', {
    tags: ['promise', 'P-exit-codes'],
  }, async () => {
    const { dir } = repo();
    const agent = await fakeAgent('worker', says('not yet\n'));
    const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker', '-m', '3'], {
      cwd: dir,
      path: [agent.bin],
    });
    expect(code).toBe(1);
    expect(agent.calls.length).toBe(3);
    expect(stdout).toContain('max_iterations');
  });

  test('reads the prompt file anew for every iteration', { tags: ['promise', 'P-prompt-file'] }, async () => {
    const project = repo({ 'PROMPT.md': 'first\n' });
    const rewrite: Handler = async turn => {
      await turn.write('PROMPT.md', 'second\n');
      turn.exit();
    };
    const agent = await fakeAgent('worker', rewrite, says(DONE));
    const { code } = await ralph(['run', '-f', 'PROMPT.md', '--agent', 'worker'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(code).toBe(0);
    expect(agent.calls.map(call => call.input)).toEqual(['first\n', 'second\n']);
  });

  test('counts the iterations in the prompt when it is asked to', async () => {
    const project = repo();
    project.settings({
      agent: { command: 'worker' },
      includeIterationCountInPrompt: true,
      maximumIterations: 2,
    });
    const agent = await fakeAgent('worker', says('x'));
    await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(agent.calls.map(call => call.input)).toEqual([
      'Iteration 1 of 2, 1 remaining.\n\ngo',
      'Iteration 2 of 2, 0 remaining.\n\ngo',
    ]);
  });

  test('takes another completion text from the flag, in any case', async () => {
    const { dir } = repo();
    const agent = await fakeAgent(
      'worker',
      says('<response>DONE</response>'),
      says('<RESPONSE>all good</RESPONSE>'),
    );
    const { code } = await ralph(['run', '-p', 'go', '--agent', 'worker', '-c', 'All Good'], {
      cwd: dir,
      path: [agent.bin],
    });
    expect([code, agent.calls.length]).toEqual([0, 2]);
  });

  test('ends with the tag of the other commands, too, unless its own has another text', async () => {
    const { dir } = repo();
    const agent = await fakeAgent('worker', says('All is done.\n<promise>COMPLETE</promise>\n'));
    const args = ['run', '-p', 'go', '--agent', 'worker', '-m', '1'];
    const place = { cwd: dir, path: [agent.bin] };
    expect((await ralph(args, place)).stdout).toContain('promise_accepted');
    const own = await ralph([...args, '-c', 'All Good'], place);
    expect(own.stdout).toContain('max_iterations');
    expect(own.stderr + own.stdout).toContain('ask the agent for <response>All Good</response>');
  });

  test('says so where the prompt asks for no tag that ends it', async () => {
    const { dir } = repo();
    const agent = await fakeAgent('worker', says(DONE));
    const start = async (prompt: string, ...flags: readonly string[]) => {
      const args = ['run', '-p', prompt, '--agent', 'worker', '-m', '1', ...flags];
      const { stdout, stderr } = await ralph(args, { cwd: dir, path: [agent.bin] });
      return /The prompt does not say how to end.*/.exec(stdout + stderr)?.[0];
    };
    const missing =
      'The prompt does not say how to end: ask the agent for <promise>COMPLETE</promise> when it is done.';
    expect(await start('go')).toBe(missing);
    expect(await start('Then say <promise>DONE</promise>.')).toBe(missing);
    expect(await start('Then say <promise>COMPLETE</promise>.')).toBeUndefined();
    expect(await start('Then say <Response> done </Response>.')).toBeUndefined();
    expect(await start('Then say <response>DONE</response>.', '-c', 'FINE')).toContain(
      '<response>FINE</response>',
    );
  });
});

describe('guardrails', () => {
  test('that fail keep a claim from ending the run, and their output goes behind the prompt', {
    tags: ['promise', 'P-guardrails'],
  }, async () => {
    const project = repo();
    project.settings({
      agent: { command: 'worker' },
      guardrails: [
        {
          command: 'echo out; echo err >&2; test -e fixed',
          failAction: 'APPEND',
          hint: 'Make the file "fixed".',
        },
        { command: 'true' },
      ],
    });
    const fix: Handler = async turn => {
      await turn.write('fixed', '');
      await turn.print(DONE);
      turn.exit();
    };
    const agent = await fakeAgent('worker', says(DONE), fix);
    const { code, stdout } = await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(code).toBe(0);
    expect(agent.calls[1]?.input).toBe(
      [
        'go',
        '',
        'Guardrail "echo out; echo err >&2; test -e fixed" failed with exit code 1.',
        'Hint: Make the file "fixed".',
        'Output file: .ralph/guardrail_1_echo_out_echo_err_2_test_e_fixed.log',
        'Output (truncated):',
        'out\nerr\n',
      ].join('\n'),
    );
    expect(project.read('.ralph/guardrail_1_echo_out_echo_err_2_test_e_fixed.log')).toBe('out\nerr\n');
    expect(project.read('.ralph/guardrail_2_true.log')).toBe('');
    expect(project.read('.ralph/prompt_002.txt')).toBe(agent.calls[1]?.input);
    expect(stdout).toContain('failed with exit code 1');
    expect(stdout).toContain('APPEND');
  });

  test('stand before, behind or instead of the prompt, and none of them is lost', {
    tags: ['promise', 'P-guardrails'],
  }, async () => {
    const project = repo();
    const failing = (name: string, failAction: string) => ({ command: `echo ${name}; false`, failAction });
    const told = (name: string) =>
      `Guardrail "echo ${name}; false" failed with exit code 1.\nOutput file: .ralph/guardrail_1_echo_${name}_false.log\nOutput (truncated):\n${name}\n`;
    const second = async (...guardrails: unknown[]) => {
      project.settings({ agent: { command: 'worker' }, guardrails, maximumIterations: 2 });
      const agent = await fakeAgent('worker', says('x'));
      await ralph(['run', '-p', 'base'], { cwd: project.dir, path: [agent.bin] });
      return agent.calls[1]?.input;
    };
    expect(await second(failing('a', 'APPEND'), failing('p', 'PREPEND'), failing('q', 'PREPEND'))).toBe(
      [told('p'), told('q'), 'base', told('a')].join('\n\n'),
    );
    expect(await second(failing('a', 'APPEND'), failing('r', 'REPLACE'), failing('s', 'REPLACE'))).toBe(
      [told('r'), told('s'), told('a')].join('\n\n'),
    );
  });

  test('are cut at the head for the prompt, with a sign only where something is missing; hint and log stay whole', async () => {
    const project = repo();
    const hint = 'h'.repeat(50);
    project.settings({
      agent: { command: 'worker' },
      outputTruncateChars: 10,
      maximumIterations: 2,
      guardrails: [{ command: 'printf 12345678901; false', hint }, { command: 'printf 1234567890; false' }],
    });
    const agent = await fakeAgent('worker', says('x'));
    await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    const prompt = agent.calls[1]?.input ?? '';
    expect(prompt).toContain(`Hint: ${hint}\n`);
    expect(prompt).toContain('\n1234567890... [truncated]\n');
    expect(prompt.endsWith('Output (truncated):\n1234567890')).toBe(true);
    expect(project.read('.ralph/guardrail_1_printf_12345678901_false.log')).toBe('12345678901');
  });

  test('with the same short name have a log each', async () => {
    const project = repo();
    project.settings({
      agent: { command: 'worker' },
      maximumIterations: 1,
      guardrails: [{ command: 'echo a' }, { command: 'echo  a ' }, { command: '""; echo "ä"' }],
    });
    const agent = await fakeAgent('worker', says('x'));
    await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    const logs = readdirSync(project.path('.ralph'))
      .filter(name => name.endsWith('.log'))
      .sort();
    expect(logs).toEqual(['guardrail_1_echo.log', 'guardrail_1_echo_a.log', 'guardrail_1_echo_a_2.log']);
  });

  test('that run too long are ended with everything they started, and the next one still runs', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    project.settings({
      agent: { command: 'worker' },
      maximumIterations: 2,
      guardrails: [{ command: 'setsid sleep 1000 & sleep 1000', timeout: 0.3 }, { command: 'touch next' }],
    });
    const agent = await fakeAgent('worker', says('x'));
    await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(agent.calls[1]?.input).toMatch(/failed with exit code 124 \(Timeout after \d\.\d s\)/);
    expect(project.read('next')).toBe('');
  });

  test('that leave a daemon behind cannot hang the loop', async () => {
    const project = repo();
    project.settings({
      agent: { command: 'worker' },
      guardrails: [{ command: 'sleep 1000 & setsid sleep 1000 & echo started' }],
    });
    const agent = await fakeAgent('worker', says(DONE));
    const { code } = await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(code).toBe(0);
  });

  test('that do not exist end as the shell says', async () => {
    const project = repo();
    project.settings({
      agent: { command: 'worker' },
      maximumIterations: 2,
      guardrails: [{ command: 'sh -c no-such-tool' }],
    });
    const agent = await fakeAgent('worker', says('x'));
    await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(agent.calls[1]?.input).toContain('Guardrail "sh -c no-such-tool" failed with exit code 127.');
  });
});

describe('source control', () => {
  const committing = { agent: { command: 'claude' }, scm: { command: 'git', tasks: ['commit'] } };
  const working =
    (words: string, file = 'new.txt'): Handler =>
    async turn => {
      if (isTextMode(turn)) return speaks('Add a file\n\nwith a body')(turn);
      await turn.write(file, 'work\n');
      await speaks(words)(turn);
    };

  test('commits what the agent made, new files too, under its own message, and nothing of Ralph’s', {
    tags: ['promise', 'P-commit'],
  }, async () => {
    const project = repo();
    project.settings(committing);
    const agent = await fakeAgent('claude', working(`ok ${DONE}`));
    const { code } = await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(code).toBe(0);
    expect(project.git('log', '--format=%s')).toBe('Add a file\nstart\n');
    expect(project.git('show', '--name-only', '--format=', 'HEAD')).toBe('new.txt\n');
    expect(agent.calls[1]?.input).toBe(
      'Provide a short imperative commit message for the changes. Output only the message, no explanation.',
    );
    expect(agent.calls[1]?.argv).toContain('text');
  });

  test('prefers the tag in the answer', async () => {
    const project = repo();
    project.settings(committing);
    const agent = await fakeAgent('claude', async turn => {
      if (isTextMode(turn)) return speaks('Here it is:\n<response>Fix "it" & $more</response>')(turn);
      await turn.write('a', '');
      await speaks(DONE)(turn);
    });
    await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(project.git('log', '-1', '--format=%s')).toBe('Fix "it" & $more\n');
  });

  test('leaves ignored files out, and does nothing and asks nothing when there is nothing to commit', async () => {
    const project = repo({ '.gitignore': 'secret\n' });
    project.settings(committing);
    const agent = await fakeAgent('claude', working(DONE, 'secret'));
    const { code, stdout } = await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(code).toBe(0);
    expect(project.git('log', '--format=%s')).toBe('start\n');
    expect(agent.calls.length).toBe(1);
    expect(stdout).toContain('commit: nothing to do');
  });

  test('does not run while a guardrail fails', async () => {
    const project = repo();
    project.settings({ ...committing, maximumIterations: 1, guardrails: [{ command: 'false' }] });
    const agent = await fakeAgent('claude', working(DONE));
    await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(project.git('log', '--format=%s')).toBe('start\n');
  });

  test('reports a push that fails and keeps the commit', { tags: ['promise', 'P-push'] }, async () => {
    const project = repo();
    project.git('remote', 'add', 'origin', '/nowhere');
    project.git('config', 'branch.main.remote', 'origin');
    project.git('config', 'branch.main.merge', 'refs/heads/main');
    project.settings({ ...committing, scm: { command: 'git', tasks: ['commit', 'push'] } });
    const agent = await fakeAgent('claude', working(DONE));
    const { code, stdout } = await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect(code).toBe(1);
    expect(project.git('log', '-1', '--format=%s')).toBe('Add a file\n');
    expect(stdout).toContain('push failed: fatal: ');
    expect(stdout).toContain('Stop reason: scm_failed');
  });

  test('without a message of the agent takes the first line of the task', async () => {
    const project = repo();
    project.settings({ ...committing, maximumIterations: 1 });
    const agent = await fakeAgent('claude', async turn => {
      if (isTextMode(turn)) return turn.exit();
      await turn.write('a', 'work');
      await speaks('x')(turn);
    });
    const { code, stdout } = await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect([code, project.git('log', '-1', '--format=%s')]).toEqual([1, 'go\n']);
    expect(stdout).toContain('commit: go');
  });

  test('outside a repository is reported and loses nothing', async () => {
    const project = folder();
    project.settings(committing);
    const agent = await fakeAgent('claude', working(DONE));
    const { code, stdout } = await ralph(['run', '-p', 'go'], { cwd: project.dir, path: [agent.bin] });
    expect([code, project.read('new.txt')]).toEqual([1, 'work\n']);
    expect(stdout).toMatch(/commit failed: .*this is not in a git repository/);
  });
});
