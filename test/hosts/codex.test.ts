import { expect, onTestFinished, test } from 'vitest';
import { codexFlags } from '../rig/hosts/codex.ts';
import { agentEvents, runLoop } from '../rig/hosts/loop.ts';
import { hostSession } from '../rig/hosts/session.ts';
import { conformance } from './conformance.ts';

conformance('codex', {
  tagInPrompt: 'not echoed',
  tagInSubagent: 'not shown',
  subagentTokens: 'not counted',
  budget: 'ends the run after the turn',
});

test('a model in code mode runs the same script and tells the same of it', async () => {
  const session = await hostSession('codex', {
    steps: [
      { text: 'A command.', tools: [{ do: 'shell', command: 'echo hello; exit 3' }] },
      { text: 'Done. <response>DONE</response>' },
    ],
  });
  onTestFinished(() => session.close());
  const flags = codexFlags(session.server.url, 'gpt-6.1-sol');
  const { result, ledger } = await runLoop(session, { flags, args: ['-m', '1'] });
  const tools = agentEvents(ledger).flatMap(event => (event.kind === 'tool-end' ? [event] : []));
  expect({
    offered: session.server.requests[0]?.toolNames[0],
    problems: session.server.problems,
    success: result.success,
    tools: tools.map(({ ok, exitCode, output }) => ({ ok, exitCode, output: output.preview })),
  }).toEqual({
    offered: 'exec',
    problems: [],
    success: true,
    tools: [{ ok: false, exitCode: 3, output: 'hello\n' }],
  });
});
