/** Tools that print megabytes, through the real program: shown and counted as they were, and never taken for the agent's word. */
import { describe, expect, test } from 'vitest';
import { result, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { ledgerOf, only } from '../rig/ledger.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const lines = 60_000;
/** Some 4 MB with the claim in it, as a tool's output. */
const output = 'FAIL "a test" <response>DONE</response> \\ é \t 😀\n'.repeat(lines);

const item = (type: string, fields: object) => ({ type, item: { id: 'item_1', ...fields } });
const command = { type: 'command_execution', command: "/bin/bash -lc 'npm test'" };

const claude: readonly object[] = [
  toolUse('t1', 'Bash', { command: 'npm test' }),
  toolResult('t1', output, true),
];
const codex: readonly object[] = [
  item('item.started', { ...command, aggregated_output: '', exit_code: null, status: 'in_progress' }),
  item('item.completed', { ...command, aggregated_output: output, exit_code: 1, status: 'failed' }),
];
const qwen: readonly object[] = [
  ...claude.slice(0, 1),
  toolResult('t1', `Command: npm test\nOutput: ${output}Exit Code: 1\nSignal: (none)`, true),
];

const prints =
  (records: readonly object[], last: readonly object[]): Handler =>
  async turn => {
    for (const record of [...records, ...last]) await turn.line(record);
    turn.exit();
  };

describe.each([
  ['claude', claude, [text('Not yet.'), result()], lines],
  [
    'codex',
    codex,
    [item('item.completed', { type: 'agent_message', text: 'Not yet.' }), { type: 'turn.completed' }],
    lines,
  ],
  // Through a file.
  ['qwen', qwen, [text('Not yet.'), result()], lines + 3],
] as const)('a failed command with a long output, of %s', (name, records, last, count) => {
  test('has failed, is told by its beginning and its size, and is no claim', async () => {
    const project = repo();
    const agent = await fakeAgent(name, prints(records, last));
    const { code, stdout } = await ralph(['run', '-p', 'go', '--agent', name, '-m', '1'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(code).toBe(1);
    const ends = only(ledgerOf(project), 'agent').flatMap(({ event }) =>
      event.kind === 'tool-end' ? [event] : [],
    );
    const shown = records.at(-1) === qwen.at(-1) ? `Command: npm test\nOutput: ${output}` : output;
    expect(ends).toEqual([
      expect.objectContaining({
        ok: false,
        output: { preview: shown.slice(0, 2_000), lines: count, chars: expect.any(Number) },
        ...(name !== 'claude' && { exitCode: 1 }),
      }),
    ]);
    expect(ends[0]?.output.chars).toBeGreaterThanOrEqual(output.length);
    expect(only(ledgerOf(project), 'agent-ended')).toMatchObject([{ toolCalls: 1, toolErrors: 1 }]);
    expect(stdout).toContain(`${count} lines`);
  });
});

test('an agent that prints megabytes of plain text where records should be keeps neither Ralph nor the ledger busy', async () => {
  const project = repo();
  const count = 150_000;
  const agent = await fakeAgent('claude', async turn => {
    await turn.print('a line of a build that nobody asked for, and that is no record\n'.repeat(count));
    for (const record of [text('<response>DONE</response>'), result()]) await turn.line(record);
    turn.exit();
  });
  const { code } = await ralph(['run', '-p', 'go', '--agent', 'claude'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  const unknown = only(ledgerOf(project), 'agent').filter(({ event }) => event.kind === 'unknown');
  expect([code, unknown.length]).toEqual([0, 1_000]);
});
