/** What is said is what is so: models, sums, violations. */
import { expect, test } from 'vitest';
import { init, result, text } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { repo } from '../rig/repo.ts';

test('a model that the command never sees is not shown as its model', async () => {
  const project = repo();
  const agent = await fakeAgent('mybot', says('<response>DONE</response>'));
  const world = { cwd: project.dir, path: [agent.bin] };
  const { stdout } = await ralph(['run', '-p', 'x <response>', '--agent', 'mybot', '--model', 'opus'], world);
  expect(agent.calls[0]?.argv).toEqual([]);
  expect(stdout).not.toContain('mybot (opus)');
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'The model opus is not used: Ralph does not know how mybot takes one. Put its own flag into agent.flags.',
  );
});

test("nor is one that the user's own flags replace", async () => {
  const project = repo();
  project.settings({ agent: { command: 'claude', flags: ['--model sonnet'] } });
  const agent = await fakeAgent('claude', async turn => {
    await turn.line(init);
    await turn.line(text('<response>DONE</response>'));
    await turn.line(result());
    turn.exit();
  });
  const world = { cwd: project.dir, path: [agent.bin] };
  const { stdout } = await ralph(['run', '-p', 'x <response>', '--model', 'opus'], world);
  expect(stdout).not.toContain('(opus)');
  expect(stdout).toContain('The model opus is not used: agent.flags choose another.');
});

test('money is said in dollars and cents, in every place', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', async turn => {
    await turn.line(init);
    await turn.shell('date +%N >> made');
    await turn.line(text('working'));
    await turn.line(result({ total_cost_usd: 1.2 }));
    turn.exit();
  });
  const args = ['loop', 'x', '--check', 'test -e never', '--agent', 'claude', '--max-cost', '1'];
  const { code, stdout } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
  expect(code).toBe(1);
  const said = stdout.replace(/\s+/g, ' ');
  expect(said).toContain('Stopped: the budget is spent. $1.20 of $1.00 spent.');
  expect(said).toMatch(/Resume: `ralph resume --max-cost 2.4` \(\$1\.20 of \$1\.00 used\)/);
  expect(said).not.toMatch(/\$1\.2000|of \$1 |APPEND/);
});

test('what was changed and may not be is said in one sentence', async () => {
  const project = repo({ 'test/a.test': 'x\n' });
  const agent = await fakeAgent('mybot', async turn => {
    await turn.write('test/a.test', 'y\n');
    await turn.print('done');
    turn.exit();
  });
  const args = [
    'loop',
    'x',
    '--check',
    'true',
    '--agent',
    'mybot',
    '--protect',
    'test/**',
    '--max-iterations',
    '1',
  ];
  const { stdout } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
  expect(stdout).toContain("test/a.test is protected: the agent's change was undone");
  expect(stdout).not.toContain('was changed must not be changed');
});
