/** Getting nowhere, through the real bin: the agent is told first, then the run stops with the evidence. */
import { describe, expect, test } from 'vitest';
import { init, result, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { type Repo, repo } from '../rig/repo.ts';

const writes =
  (content: string, cost = 0.01): Handler =>
  async turn => {
    await turn.write('file', content);
    for (const record of [
      init,
      toolUse('t', 'Write', {}),
      toolResult('t', 'ok'),
      text('tried'),
      result({ total_cost_usd: cost }),
    ])
      await turn.line(record);
    turn.exit();
  };

/** Fails with other words each time, so that it is never the same failure. */
const RED = 'date +%N | tr 0-9 a-j; false';

async function loop(project: Repo, handlers: readonly Handler[], settings: Record<string, number>) {
  project.settings({ agent: 'claude', maximumIterations: 20, ...settings });
  const agent = await fakeAgent('claude', ...handlers);
  const { code, stdout } = await ralph(['loop', 'x', '--check', RED, '--json'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  return { code, told: JSON.parse(stdout), prompts: agent.calls.map(call => call.input) };
}

const firstWith = (prompts: readonly string[], words: string) =>
  prompts.findIndex(prompt => prompt.includes(words)) + 1;

describe('a loop that gets nowhere', () => {
  test('because no file changes', async () => {
    const { code, told, prompts } = await loop(repo(), [writes('same')], { unchangedAfter: 2 });
    expect([code, told.stopReason]).toEqual([1, 'stuck']);
    expect(told.detail).toBe(`5 iterations in a row changed no file. Still red: \`${RED}\`.`);
    expect(firstWith(prompts, 'Your last 2 turns changed no file')).toBe(4);
    expect(told.iterations.length).toBe(6);
  });

  test('because each turn undoes the one before', async () => {
    const flip = Array.from({ length: 20 }, (_, at) => writes(at % 2 === 0 ? 'tabs' : 'spaces'));
    const { told, prompts } = await loop(repo(), flip, { thrashingAfter: 4 });
    expect([told.stopReason, told.iterations.length]).toEqual(['stuck', 6]);
    expect(told.detail).toContain(
      '6 iterations in a row brought the files back and forth between the same two states.',
    );
    expect(firstWith(prompts, 'each undid the one before')).toBe(5);
  });

  test('because it costs more and more', async () => {
    const dear = Array.from({ length: 20 }, (_, at) => writes(String(at), 2 ** at / 100));
    const { told, prompts } = await loop(repo(), dear, { costlyAfter: 3 });
    expect([told.stopReason, told.iterations.length]).toEqual(['stuck', 9]);
    expect(told.detail).toContain('8 iterations made no further check pass, and the cost rose');
    expect(firstWith(prompts, 'made no further check pass')).toBe(5);
  });

  test('goes on to its last iteration when being stuck is no reason to stop', async () => {
    const { told } = await loop(repo(), [writes('same')], { stuckAfter: 0, maximumIterations: 10 });
    expect([told.stopReason, told.iterations.length]).toEqual(['max_iterations', 10]);
  });

  test('stops for the one reason that is given', async () => {
    const { told } = await loop(repo(), [writes('same')], { stuckAfter: 0, unchangedAfter: 2 });
    expect([told.stopReason, told.iterations.length]).toEqual(['stuck', 6]);
  });

  test('is not a slow and honest one', async () => {
    const steady = Array.from({ length: 20 }, (_, at) => writes(String(at)));
    const { told } = await loop(repo(), steady, {});
    expect([told.stopReason, told.iterations.length]).toEqual(['max_iterations', 20]);
  });
});
