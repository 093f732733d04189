/** What failed is found in what a check printed, and is the same in prompt, terminal, `explain` and report. */
import { expect, test } from 'vitest';
import { init, result, text } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { repo } from '../rig/repo.ts';

const talks =
  (words: string, cost = 0.01): Handler =>
  async turn => {
    await turn.line(init);
    await turn.shell('date +%N >> notes');
    await turn.line(text(words));
    await turn.line(result({ total_cost_usd: cost }));
    turn.exit();
  };

/** 200 tests, of which one in the middle fails. */
const SUITE = `import test from 'node:test';
import assert from 'node:assert';
const pass = () => {};
for (let at = 0; at < 100; at++) test('early ' + at, pass);
test('counts quantities', () => assert.strictEqual(1 + 1, 3));
for (let at = 0; at < 100; at++) test('late ' + at, pass);
`;
const CHECK = 'node --test --test-reporter=tap suite.test.mjs';
const CAUSE = ['not ok 101 - counts quantities', 'suite.test.mjs:5:1', '2 !== 3'];

test.each([
  ['run', ['run', '-p', 'Fix it'], { guardrails: [{ command: CHECK }], outputTruncateChars: 1_500 }],
  ['loop', ['loop', 'Fix it', '--check', CHECK], {}],
] as const)('in `ralph %s`', async (_, args, settings) => {
  const project = repo({ 'suite.test.mjs': SUITE });
  project.settings({ ...settings, stuckAfter: 0 });
  const agent = await fakeAgent('claude', talks('Trying.'));
  const world = { cwd: project.dir, path: [agent.bin] };
  const flag = args[0] === 'run' ? '-m' : '--max-iterations';
  const { stderr, stdout } = await ralph([...args, '--agent', 'claude', flag, '2'], world);
  expect(agent.calls[1]?.input).not.toContain('late 50');
  for (const where of [agent.calls[1]?.input ?? '', stdout + stderr])
    for (const words of CAUSE) expect(where).toContain(words);
  if (args[0] === 'run') return;
  const explained = await ralph(['explain'], world);
  const markdown = await ralph(['report'], world);
  const html = await ralph(['report', '--format', 'html'], world);
  for (const where of [explained.stdout, markdown.stdout, html.stdout])
    for (const words of CAUSE) expect(where).toContain(words);
  expect(explained.stdout).not.toContain('early 3');
});

test('`explain` has a cause for every ending, and says what each iteration cost', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', talks('Working on it.', 0.6));
  const world = { cwd: project.dir, path: [agent.bin] };
  await ralph(
    ['loop', 'Do it', '--check', 'true', '--agent', 'claude', '--max-iterations', '4', '--stuck-after', '0'],
    world,
  );
  const { evidence, spent } = JSON.parse((await ralph(['explain', '--json'], world)).stdout);
  expect(evidence).toEqual([
    '1 check passed.',
    'The agent has not said that it is done.',
    'The limit `--max-iterations` was reached: 4 of 4 used.',
  ]);
  expect(spent.join()).toContain('Cost: $2.40, about $0.60 per iteration.');
});

test('a claim that the checks contradict is not shown as evidence for the result', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', talks('<promise>COMPLETE</promise>'));
  const world = { cwd: project.dir, path: [agent.bin] };
  await ralph(['loop', 'Do it', '--check', 'false', '--agent', 'claude', '--max-iterations', '1'], world);
  const { stdout } = await ralph(['report', '--format', 'html'], world);
  expect(stdout).toContain('✗ The agent says that it is done, and it is not');
  expect(stdout).not.toContain('✓ The agent says');
});
