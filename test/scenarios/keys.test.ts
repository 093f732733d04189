/** Keys in the terminal that a run runs in: the real binary, in a real terminal, below a shell that repairs nothing. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { fakeAgent, finish, held } from '../rig/fake-agent.ts';
import { ledgerOf, runsOf } from '../rig/ledger.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, UNCHANGED, works } from '../rig/stories.ts';
import { hasTerminal, startTerminal, type Terminal } from '../rig/terminal.ts';

const DONE = '<response>DONE</response>';
const RUN = `sh -c 'echo $$ >pid; exec "$NODE" "$BIN" run -p go --agent worker'`;

interface Desk {
  readonly project: Repo;
  readonly terminal: Terminal;
  /** Types a command into the shell. */
  enter(command: string): void;
}

/** dash, not bash: it leaves the terminal as the program left it. */
function desk(
  agent: { readonly bin: string },
  env: Record<string, string> = {},
  columns = 120,
  project = repo(),
): Desk {
  const all = testEnv({ path: [agent.bin], env: { NODE: process.execPath, BIN, PS1: '$ ', ...env } });
  const terminal = startTerminal({ cwd: project.dir, env: all, argv: ['dash', '-i'], columns });
  onTestFinished(terminal.close);
  const enter = (command: string) => {
    terminal.type(command);
    terminal.press('Enter');
  };
  return { project, terminal, enter };
}

/** The run has ended, with that exit code, and the terminal is as it was. */
async function restored({ terminal, enter }: Desk, code: number): Promise<void> {
  await terminal.until(`exit code was ${code}`);
  enter(
    'clear; stty -a | tr " ;" "\\n" | grep -xE -e "-?(icanon|echo|isig|icrnl|iexten)" | xargs echo modes',
  );
  expect(await terminal.until(/^modes .*$/m)).toMatch(/^modes icrnl isig icanon iexten echo$/m);
}

const AND_SAY = '; echo "exit code was" $?';

describe.skipIf(!hasTerminal())('in a terminal', () => {
  test('p pauses and continues, h sends a hint, ? explains; the live line names them', {
    tags: 'promise',
  }, async () => {
    const [first, second] = [held(), held()];
    const agent = await fakeAgent('worker', first.handler, second.handler);
    const at = desk(agent);
    const { terminal, enter, project } = at;
    enter(RUN + AND_SAY);
    const turn = await first.begun;
    await terminal.until('p pause h hint s stop q quit ? keys');
    terminal.press('?');
    await terminal.until('h a hint for the agent, in its next prompt');
    terminal.press('h');
    await terminal.until('Hint:');
    terminal.type('Look at ünder src, not srx');
    terminal.press('BSpace');
    terminal.type('c');
    await terminal.until('Hint: Look at ünder src, not src');
    terminal.press('Enter');
    await terminal.until('A hint has arrived: it is in the next prompt');
    terminal.press('p');
    await terminal.until('will pause after this turn');
    await finish(turn, 'not yet');
    await terminal.until('p continue h hint');
    expect(agent.calls).toHaveLength(1);
    terminal.press('p');
    await finish(await second.begun, DONE);
    expect(agent.calls[1]?.input).toContain('Look at ünder src, not src');
    await restored(at, 0);
    expect(ledgerOf(project).filter(({ type }) => type === 'paused' || type === 'continued')).toHaveLength(2);
  });

  test('while a story waits for an answer the live line says so, and a answers it', async () => {
    const project = prdRepo();
    const question = 'Which date format?';
    const agent = await fakeAgent(
      'claude',
      works(project, UNCHANGED, { words: `<question>${question}</question>` }),
      works(project, handIn()),
      works(project, approve()),
    );
    const at = desk(agent, {}, 160, project);
    at.enter(`"$NODE" "$BIN" prd run --agent claude${AND_SAY}`);
    await at.terminal.until(`waiting for your answer: US-001 asks: ${question}`);
    await at.terminal.until('a answer p pause h hint');
    at.terminal.press('a');
    await at.terminal.until('Answer to US-001:');
    at.terminal.type('ISO 8601');
    at.terminal.press('Enter');
    await restored(at, 0);
    expect(agent.calls[1]?.input).toContain('Answer: ISO 8601');
  });

  test('s stops after this turn; what is pasted for the shell steers nothing', async () => {
    const first = held();
    const agent = await fakeAgent('worker', first.handler);
    const at = desk(agent, {}, 60);
    const { terminal, enter, project } = at;
    enter(RUN + AND_SAY);
    const turn = await first.begun;
    await terminal.until('? keys');
    terminal.type('ls -a; ps');
    terminal.press('h');
    await terminal.until('Hint:');
    terminal.press('Escape');
    await terminal.until(/· \? keys\s*$/);
    terminal.press('s');
    await terminal.until('stops after this step. Its work is kept.');
    await finish(turn, 'half');
    await restored(at, 1);
    expect(runsOf(project)).toHaveLength(1);
    expect(ledgerOf(project).at(-1)).toMatchObject({
      type: 'run-ended',
      result: { stopReason: 'cancelled' },
    });
    expect(ledgerOf(project).some(({ type }) => type === 'paused')).toBe(false);
  });

  test('q asks first: no other answer than y ends the run', async () => {
    const first = held();
    const agent = await fakeAgent('worker', first.handler);
    const at = desk(agent);
    const { terminal, enter } = at;
    enter(RUN + AND_SAY);
    await first.begun;
    for (const answer of ['n', 'y']) {
      await terminal.until(/\? keys\s*$/);
      terminal.press('q');
      await terminal.until('Stop now? What the agent has done so far is kept. y/n');
      terminal.press(answer);
    }
    await terminal.until('Stop reason: cancelled');
    await restored(at, 1);
  });

  test.each([
    ['Ctrl-C, twice', 130],
    ['SIGTERM, twice', 130],
    ['an error that nobody catches', 1],
    ['Ctrl-\\', 131],
  ])('the terminal is as it was after %s', async (how, code) => {
    const first = held();
    const agent = await fakeAgent('worker', first.handler);
    const at = desk(agent, { NODE_OPTIONS: '--require ./crash.cjs' });
    const { terminal, enter, project } = at;
    project.write('crash.cjs', 'process.on("SIGUSR2", () => { throw new Error("crashed"); });');
    enter(RUN + AND_SAY);
    await first.begun;
    await terminal.until('? keys');
    const end = {
      'Ctrl-C, twice': () => terminal.press('C-c'),
      'SIGTERM, twice': () => process.kill(Number(project.read('pid')), 'SIGTERM'),
      'an error that nobody catches': () => process.kill(Number(project.read('pid')), 'SIGUSR2'),
      'Ctrl-\\': () => terminal.press('C-\\'),
    }[how];
    end?.();
    if (how.endsWith('twice')) {
      await terminal.until('Received signal, shutting down...');
      end?.();
    }
    await restored(at, code);
  });

  test('Ctrl-Z stops it with the terminal as it was; in the foreground again it has its keys', async () => {
    const first = held();
    const agent = await fakeAgent('worker', first.handler);
    const at = desk(agent);
    const { terminal, enter } = at;
    enter(RUN);
    await first.begun;
    await terminal.until('? keys');
    terminal.press('C-z');
    await terminal.until(/Stopped/);
    enter('echo "exit code was" 0');
    await restored(at, 0);
    enter('clear; fg; echo "exit code was" $?');
    await terminal.until('? keys');
    terminal.press('q');
    await terminal.until('Stop now?');
    terminal.press('y');
    await restored(at, 1);
  });

  test('in the background and in a pipe there are no keys, and nothing stops the run', async () => {
    const agent = await fakeAgent('worker', turn => finish(turn, DONE));
    const at = desk(agent);
    const { terminal, enter } = at;
    enter(`${RUN} & wait $!${AND_SAY}`);
    await restored(at, 0);
    enter(`clear; ${RUN} | cat${AND_SAY}`);
    await restored(at, 0);
    expect(terminal.screen()).not.toContain('? keys');
  });
});
