import { describe, expect, test } from 'vitest';
import { story } from '../domain/stories/stories.ts';
import { speaks, toolResult, toolUse } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { prdRepo } from '../rig/stories.ts';

const HINT = 'Touch a file named guarded.';
const GUARDRAILS = [{ command: 'test -e guarded', failAction: 'PREPEND', hint: HINT }];
const DONE = '<promise>COMPLETE</promise> <response>DONE</response>';

/** Writes a file, and says that it is done. */
const makes =
  (file: string): Handler =>
  async turn => {
    await turn.write(file, '1');
    await turn.line(toolUse('t', 'Write', { file_path: file }));
    await turn.line(toolResult('t', 'written'));
    return speaks(DONE)(turn);
  };

async function result(project: Repo, agent: { readonly bin: string }, args: readonly string[]) {
  const { code, stdout, stderr } = await ralph([...args, '--agent', 'claude', '--json'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  expect(stdout, stderr).toMatch(/^{/);
  return { code, ...JSON.parse(stdout) };
}

const commands = (iteration: { readonly checkResults: readonly { readonly name: string }[] }) =>
  iteration.checkResults.map(({ name }) => name);

describe('guardrails of the settings and --check are one list', () => {
  test.each([
    ['loop', ['loop', 'Make it']],
    ['run', ['run', '-p', 'Make it']],
  ])('for %s', { tags: ['promise', 'P-one-list'] }, async (_, args) => {
    const project = repo();
    project.settings({ guardrails: GUARDRAILS });
    const agent = await fakeAgent('claude', makes('other'), makes('guarded'));
    const told = await result(project, agent, [...args, '--check', 'test -e other']);
    expect([told.code, told.iterations.length]).toEqual([0, 2]);
    expect(told.iterations.map(commands)).toEqual([
      ['test -e guarded', 'test -e other'],
      ['test -e guarded', 'test -e other'],
    ]);
    expect(agent.calls[1]?.input).toContain(`Hint: ${HINT}`);
  });

  test('and enough for a loop, which needs a check', async () => {
    const project = repo();
    project.settings({ guardrails: GUARDRAILS });
    const agent = await fakeAgent('claude', makes('guarded'));
    const told = await result(project, agent, ['loop', 'Make it']);
    expect([told.code, told.stopReason, commands(told.iterations[0])]).toEqual([
      0,
      'all_checks_passed',
      ['test -e guarded'],
    ]);
  });

  test('a command in both is run once, as the guardrails have it', async () => {
    const project = repo();
    project.settings({ guardrails: GUARDRAILS, checks: ['test -e guarded'] });
    const agent = await fakeAgent('claude', makes('guarded'));
    const told = await result(project, agent, ['run', '-p', 'Make it', '--check', 'test -e guarded']);
    expect([told.code, commands(told.iterations[0])]).toEqual([0, ['test -e guarded']]);
  });

  test('a story is checked by them', async () => {
    const project = prdRepo(story('US-001', { notes: '' }));
    project.settings({ guardrails: GUARDRAILS });
    const agent = await fakeAgent('claude', speaks('x'));
    const args = ['prd', 'run', '--dry-run', '--agent', 'claude'];
    const { stdout, code } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
    expect([code, stdout]).toEqual([0, expect.stringContaining('only if all pass: `test -e guarded`')]);
  });
});
