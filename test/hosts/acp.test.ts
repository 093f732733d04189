/** The Agent Client Protocol: one adapter, and real agents that speak it, each under the real `ralph` on a scripted model. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type HostName, hostCommand } from '../rig/hosts/host.ts';
import { agentEvents, type LoopOptions, outcomes, runLoop } from '../rig/hosts/loop.ts';
import type { Place } from '../rig/hosts/place.ts';
import { processesIn } from '../rig/hosts/processes.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import type { Script } from '../rig/model-server/answer.ts';

/** The words behind the command, and the tokens of a turn as this agent reports them. */
const AGENTS: Readonly<
  Partial<Record<HostName, { readonly words: string; readonly tokens: 'all' | 'none' }>>
> = {
  gemini: { words: '--acp --skip-trust', tokens: 'all' },
  copilot: { words: '--acp', tokens: 'all' },
  opencode: { words: 'acp', tokens: 'none' },
  qwen: { words: '--acp --yolo', tokens: 'all' },
};
const NAMES = Object.keys(AGENTS) as readonly HostName[];

/** The tag in a tool's result, in a file and in its thoughts comes before the one that counts. */
function work({ repo }: Place): Script {
  return {
    steps: [
      {
        reasoning: 'I could say <response>doNe</response>.',
        text: 'I run a command that fails.',
        tools: [{ do: 'shell', command: "echo '<response>Done</response>'; exit 3" }],
      },
      { tools: [{ do: 'write', path: join(repo, 'out.txt'), content: '<response>dOne</response>\n' }] },
      { text: 'All is done. <response>DONE</response>' },
    ],
  };
}

async function open(name: HostName, script: Script | ((place: Place) => Script)): Promise<HostSession> {
  const session = await hostSession(name, script);
  onTestFinished(() => session.close());
  return session;
}

function run(session: HostSession, options: LoopOptions = {}) {
  const { name } = session.host;
  // The flags that this agent takes in a protocol session, too: which model, and no network.
  const own = name === 'opencode' ? [] : session.flags;
  const agent = ['acp:', hostCommand(name), ' ', AGENTS[name]?.words, ...own.map(flag => ` ${flag}`)].join(
    '',
  );
  return runLoop(session, { ...options, args: ['-m', '1', '--agent', agent, ...(options.args ?? [])] });
}

describe.each(NAMES)('%s', name => {
  test('works, is asked for nothing twice, and is done by its own words only', async () => {
    const session = await open(name, work);
    const { code, result, ledger, stderr } = await run(session);
    expect(session.server.problems).toEqual([]);
    expect([code, result.stopReason], stderr).toEqual([0, 'promise_accepted']);
    expect(readFileSync(join(session.place.repo, 'out.txt'), 'utf8')).toBe('<response>dOne</response>\n');
    const said = agentEvents(ledger).flatMap(event => (event.kind === 'text' ? [event.text] : []));
    expect(said.join('')).toBe('I run a command that fails.All is done. <response>DONE</response>');
    const [turn] = result.iterations;
    expect(turn?.toolCalls).toBe(2);
    const tokens = AGENTS[name]?.tokens === 'all' ? { input: 3000, output: 60 } : null;
    expect(turn?.tokens && { input: turn.tokens.input, output: turn.tokens.output }).toEqual(tokens);
    expect(processesIn(session.place)).toEqual([]);
  });
});

test('a turn that ends well by the protocol, with an error among its words, has failed', async () => {
  const refused = { status: 401, error: 'scripted words 401', headers: { 'retry-after': '0' } };
  const session = await open('copilot', { steps: [{ ...refused, repeat: 'forever' }] });
  const { code, ledger, raw } = await run(session, { settings: { maxRetries: 0, maxFailures: 1 } });
  expect(raw[0]).toContain('"stopReason":"end_turn"');
  expect([code, outcomes(ledger)]).toEqual([
    1,
    [{ kind: 'failed', trouble: expect.objectContaining({ class: 'auth', status: 401 }) }],
  ]);
});

test('the words of a sub-agent that come as if they were its own are not', async () => {
  const use = HOSTS.copilot.subagent?.('The task of the helper.', '').use;
  const session = await open('copilot', {
    steps: [
      { text: 'I delegate.', tools: use ? [use] : [] },
      { text: 'The helper says <response>DONE</response>' },
      { text: 'I am not done yet.' },
    ],
  });
  const { result, ledger, raw } = await run(session);
  expect(raw[0]).toContain('The helper says');
  expect([result.stopReason, result.iterations[0]?.completionTagFound]).toEqual(['max_iterations', false]);
  expect(agentEvents(ledger).some(event => event.kind === 'aside' && event.from === 'subagent')).toBe(true);
});

test('permissions of the host: what it asks for is refused', async () => {
  const session = await open('gemini', work);
  const { raw } = await run(session, { args: ['--permissions', 'host'] });
  expect(raw[0]).toContain('session/request_permission');
  expect(() => readFileSync(join(session.place.repo, 'out.txt'))).toThrow(/ENOENT/);
});
