/** Agents that do not end: through the real bin, and by the process table nothing of them is left. */
import { describe, expect, test } from 'vitest';
import { init, result, text } from '../rig/claude-stream.ts';
import { type FakeTurn, fakeAgent, type Handler, says } from '../rig/fake-agent.ts';
import { ledgerOf, only } from '../rig/ledger.ts';
import { isThere } from '../rig/processes.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';

interface Case {
  readonly name?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly prompt?: string;
}

/** Runs it with what the turn started noted; the second turn says that it is done. */
async function run(handler: (turn: FakeTurn, mine: (pid: unknown) => void) => unknown, over: Case = {}) {
  const { name = 'worker', args = [], env = {}, settings = {}, prompt = 'go' } = over;
  const project: Repo = repo();
  project.settings({ maxFailures: 9, ...settings });
  project.write('PROMPT.md', prompt);
  const pids: number[] = [];
  const first: Handler = turn => {
    pids.push(turn.pid);
    return handler(turn, pid => void pids.push(pid as number));
  };
  const agent = await fakeAgent(name, first, says(DONE));
  const { code, stdout } = await ralph(['run', '-f', 'PROMPT.md', '--agent', name, '--json', ...args], {
    cwd: project.dir,
    path: [agent.bin],
    env,
  });
  const notices = only(ledgerOf(project), 'notice').map(event => event.text);
  return { code, told: JSON.parse(stdout), left: pids.filter(isThere), pids, notices, agent, project };
}

/** Long enough for a loaded machine to get the agent going. */
const IDLE = ['--idle-timeout', '2'];

describe('an agent that falls silent', () => {
  test('and ignores every signal that can be ignored is killed, with its child in another session', async () => {
    const { code, told, left, pids } = await run(
      async (turn, mine) => {
        for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) await turn.ignore(signal);
        mine(await turn.background("trap '' TERM INT HUP; while :; do sleep 1000; done", { detached: true }));
      },
      { args: IDLE },
    );
    expect([code, told.iterations[0].error]).toEqual([0, 'ended by idle-timeout']);
    expect([pids.length, left]).toEqual([2, []]);
  });

  test('because it was stopped (SIGSTOP) is woken up to be ended, and so is its stopped child', async () => {
    const { code, told, left, pids } = await run(
      async (turn, mine) => {
        mine(await turn.background('kill -STOP $$; sleep 1000', { detached: true }));
        process.kill(turn.pid, 'SIGSTOP');
      },
      { args: IDLE },
    );
    expect([code, told.iterations[0].error]).toEqual([0, 'ended by idle-timeout']);
    expect([pids.length, left]).toEqual([2, []]);
  });

  test('again and again ends the run with what to do', async () => {
    const project = repo();
    project.settings({ maxFailures: 2 });
    const agent = await fakeAgent('worker', () => {});
    const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', 'worker', '--json', ...IDLE], {
      cwd: project.dir,
      path: [agent.bin],
    });
    const told = JSON.parse(stdout);
    expect([code, told.stopReason, agent.calls.length]).toEqual([1, 'agent_failed', 2]);
    expect(told.detail).toContain('the agent showed no sign of life. To fix it: raise --idle-timeout');
    expect(agent.calls.map(call => call.pid).filter(isThere)).toEqual([]);
  });
});

describe('an agent that has said that its turn is over', () => {
  const ends = async (turn: FakeTurn) => {
    for (const record of [init, text(DONE), result()]) await turn.line(record);
  };

  test('and does not go is ended after a grace, which is said, and its turn counts', async () => {
    const { code, left, notices, agent } = await run(ends, {
      name: 'claude',
      settings: { lingerTimeout: 0.3 },
    });
    expect([code, left, agent.calls.length]).toEqual([0, [], 1]);
    expect(notices).toContain('The agent reported its result and did not exit: it was ended.');
  });

  test.each([
    ['in its group', false],
    ['in a session of its own', true],
  ])('and leaves a child %s that holds its output open is not waited for', async (_, detached) => {
    const { code, left, pids, notices, agent } = await run(
      async (turn, mine) => {
        await ends(turn);
        mine(
          await turn.background("trap '' TERM; while :; do sleep 1000; done", { detached, stdio: 'inherit' }),
        );
        turn.exit();
      },
      { name: 'claude' },
    );
    expect([code, pids.length, left, agent.calls.length]).toEqual([0, 2, [], 1]);
    expect(notices).toEqual(
      expect.arrayContaining([expect.stringMatching(/^The agent left \d process\(es\) behind: ended\.$/)]),
    );
  });

  test('and waits for a child that holds its output open is ended with it', async () => {
    const { code, left, pids, notices } = await run(
      async (turn, mine) => {
        await ends(turn);
        await turn.ignore('SIGINT');
        mine(await turn.background('sleep 1000', { stdio: 'inherit' }));
      },
      { name: 'claude', settings: { lingerTimeout: 0.3 } },
    );
    expect([code, pids.length, left]).toEqual([0, 2, []]);
    expect(notices).toContain('The agent reported its result and did not exit: it was ended.');
  });
});

describe('stdin', () => {
  test('is at its end for whoever reads it after the agent', async () => {
    const { code, left, project } = await run(async (turn, mine) => {
      mine(await turn.background('cat; echo over > over', { stdio: 'inherit' }));
      while ((await turn.shell('cat over 2>/dev/null')) !== 'over\n');
      await turn.print(DONE);
      turn.exit();
    });
    expect([code, left, project.read('over')]).toEqual([0, [], 'over\n']);
  });

  test('that an agent never reads does not hold up a prompt of a megabyte', async () => {
    const { code, left } = await run(
      async turn => {
        await turn.print(DONE);
        turn.exit();
      },
      { env: { FAKE_AGENT_SKIPS_STDIN: '1' }, prompt: 'x'.repeat(1_000_000) },
    );
    expect([code, left]).toEqual([0, []]);
  });
});
