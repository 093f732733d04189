/** What an agent may do without asking, and what becomes of a run whose agent is refused its tools, through the real bin. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { init, result, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';
const WHY = 'Claude requested permissions to write, but you haven’t granted it yet.';

/** A turn in which the file it wants to write is refused; `more` happens before its last words. */
const refused =
  (words: string, more: (turn: Parameters<Handler>[0]) => Promise<unknown> = async () => {}): Handler =>
  async turn => {
    const denial = { tool_name: 'Write', tool_use_id: 't1', tool_input: {} };
    await turn.line(init);
    await turn.line(toolUse('t0', 'Read', {}));
    await turn.line(toolResult('t0', 'read'));
    await turn.line(toolUse('t1', 'Write', { file_path: 'a.txt' }));
    await turn.line({ type: 'system', subtype: 'permission_denied', ...denial, message: WHY });
    await turn.line(toolResult('t1', WHY, true));
    await more(turn);
    await turn.line(text(words));
    await turn.line(result({ permission_denials: [denial] }));
    turn.exit();
  };

const works: Handler = async turn => {
  await turn.write('a.txt', 'made\n');
  for (const record of [init, toolUse('t', 'Write', {}), toolResult('t', 'ok'), text(DONE), result()])
    await turn.line(record);
  turn.exit();
};

async function run(project: Repo, handlers: readonly Handler[], ...args: readonly string[]) {
  const agent = await fakeAgent('claude', ...handlers);
  const made = await ralph(['run', '-p', 'Make a.txt', '--agent', 'claude', ...args], {
    cwd: project.dir,
    path: [agent.bin],
  });
  const said = `${made.stdout}\n${made.stderr}`.replace(/\s+/g, ' ');
  return { ...made, said, agent };
}

const FAILING = { guardrails: [{ command: 'cat a.txt', failAction: 'APPEND' }] };

describe('what the agent may do', () => {
  test('ralph run leaves nobody to be asked, and says so once, with the guard', async () => {
    const { code, said, agent } = await run(repo(), [works]);
    expect(code).toBe(0);
    expect(agent.calls[0]?.argv).toContain('--dangerously-skip-permissions');
    expect(said.split('The agent may do everything without asking')).toHaveLength(2);
    expect(said.includes('set IS_SANDBOX=1 if this machine is a sandbox')).toBe(process.getuid?.() === 0);
    expect(agent.calls[0]?.argv).toContain('--plugin-dir'); // the guard's hooks
  });

  test('host leaves it to the host', async () => {
    const { said, agent } = await run(repo(), [works], '--permissions', 'host');
    expect(agent.calls[0]?.argv).not.toContain('--dangerously-skip-permissions');
    expect(said).not.toContain('may do everything');
  });

  test('flags of the user that say what it may do are not contradicted, nor is it said that it may do everything', async () => {
    const project = repo();
    project.settings({ agent: { command: 'claude', flags: ['--permission-mode', 'acceptEdits'] } });
    const agent = await fakeAgent('claude', works);
    const { stderr, stdout } = await ralph(['run', '-p', 'x'], { cwd: project.dir, path: [agent.bin] });
    expect(agent.calls[0]?.argv).not.toContain('--dangerously-skip-permissions');
    expect(stdout + stderr).not.toContain('may do everything');
    expect(stdout + stderr).not.toContain('refuses to skip its permissions');
  });
});

describe('an agent that is refused its tools', () => {
  test('is said once, then the run stops and names the cause and the way out', {
    tags: 'P-permissions',
  }, async () => {
    const project = repo();
    project.settings(FAILING);
    const { code, said, agent } = await run(project, [refused('I could not.')], '--permissions', 'host');
    expect([code, agent.calls.length]).toEqual([1, 2]);
    expect(agent.calls[1]?.input).toContain('your calls of Write were refused');
    expect(said).toContain('Stopped: the agent is not permitted to do its work.');
    expect(said).toContain("the agent's own permissions refused its calls of Write.");
    expect(said).toContain('give --permissions skip');
    expect(said).not.toContain('--max-iterations');
    const explained = (await ralph(['explain'], { cwd: project.dir })).stdout.replace(/\s+/g, ' ');
    expect(explained).toContain('permission_denied, exit code 1');
    expect(explained).toContain('--permissions skip');
    expect(explained).toContain("Iteration 2: The agent's own permissions refused 1 tool call: Write");
    expect(explained).toContain('ralph resume --permissions skip');
    expect(explained).not.toContain('max-iterations');
    await ralph(['report', '-o', 'report.html'], { cwd: project.dir });
    expect(readFileSync(project.path('report.html'), 'utf8')).toContain('not permitted to do its work');
    const { stdout: replayed } = await ralph(['replay'], { cwd: project.dir });
    expect(replayed).toContain('2 verdicts judged again: all the same.');
  });

  test('and has one iteration only is not sent for more of them', async () => {
    const { stdout } = await run(repo(), [refused('no')], '--permissions', 'host', '-m', '1', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ stopReason: 'permission_denied', success: false });
    expect(JSON.parse(stdout).detail).toContain('To fix it: give --permissions skip');
  });

  test('and works all the same in between is left to work', async () => {
    let number = 0;
    const progress = refused('on it', turn => turn.write('a.txt', `${++number}`));
    const { stdout } = await run(repo(), [progress], '--permissions', 'host', '-m', '4', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ stopReason: 'max_iterations' });
    const every = [refused('no'), progress, refused('no'), progress];
    const second = await run(repo(), every, '--permissions', 'host', '-m', '4', '--json');
    expect(JSON.parse(second.stdout)).toMatchObject({ stopReason: 'max_iterations' });
  });

  test('and is done anyway is done', async () => {
    const { code } = await run(repo(), [refused(DONE)], '--permissions', 'host');
    expect(code).toBe(0);
  });

  test('is counted across a run that was cut off, and works when it is resumed with permissions', async () => {
    const project = repo();
    project.settings({ ...FAILING, agent: 'claude', permissions: 'host' });
    const hangs: Handler = async turn => {
      await turn.line(init);
      await turn.line(text('half way'));
    };
    const agent = await fakeAgent('claude', refused('no'), hangs, refused('no'), works);
    const where = { cwd: project.dir, path: [agent.bin] };
    const cut = startRalph(['run', '-p', 'Make a.txt'], where);
    await cut.until('half way');
    cut.process.kill('SIGKILL');
    await cut.finished;
    const again = await ralph(['resume', '--json'], where);
    expect(JSON.parse(again.stdout)).toMatchObject({ stopReason: 'permission_denied' });
    expect(agent.calls).toHaveLength(3);
    const allowed = await ralph(['resume', '--permissions', 'skip'], where);
    expect(allowed.code, allowed.stderr + allowed.stdout).toBe(0);
    expect(agent.calls[3]?.argv).toContain('--dangerously-skip-permissions');
  });

  test('outside of a repository: the run stops where nothing that it called was let through', async () => {
    const only: Handler = async turn => {
      const denial = { tool_name: 'Bash', tool_use_id: 't1', tool_input: {} };
      for (const record of [init, toolUse('t1', 'Bash', {}), toolResult('t1', WHY, true), text('no')])
        await turn.line(record);
      await turn.line(result({ permission_denials: [denial] }));
      turn.exit();
    };
    const { stdout } = await run(folder(), [only], '--permissions', 'host', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ stopReason: 'permission_denied' });
  });
});

test('ralph run stops as ralph loop does when the same failure comes back', async () => {
  const project = repo();
  project.settings(FAILING);
  const idle: Handler = async turn => {
    for (const record of [init, text('hm'), result()]) await turn.line(record);
    turn.exit();
  };
  const { stdout, agent } = await run(project, [idle], '--json');
  expect(JSON.parse(stdout)).toMatchObject({ stopReason: 'stuck' });
  expect(agent.calls).toHaveLength(4);
  expect(agent.calls[3]?.input).toContain('The same failure has now come back 3 times');
});
