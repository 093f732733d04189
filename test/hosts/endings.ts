/** Turns that Ralph ends: nothing of the agent may be left, whatever it was doing. */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { identify, isAlive, type ProcessId } from '../../src/platform/process-table.ts';
import { appears } from '../rig/hosts/appears.ts';
import { agentEvents, outcomes, runLoop, startLoop } from '../rig/hosts/loop.ts';
import { processesIn } from '../rig/hosts/processes.ts';
import { processWith } from '../rig/processes.ts';
import { CASES } from './cases.ts';
import type { Rig } from './conformance.ts';

/** `turnTime`: the seconds that a whole turn of this agent takes on this machine. */
export function endingCases(rig: Rig, turnTime: () => Promise<number>): void {
  rig.sees('budget', () => budget(rig));
  rig.sees('hang', async () => hang(rig, await turnTime()));
  rig.sees('sigint', () => signalled(rig, 'SIGINT'));
  rig.sees('sigterm', () => signalled(rig, 'SIGTERM'));
}

const LAST_WORDS = 'All three have answered.';

/** An agent that tells its tokens as it goes is left hanging: only the budget can end it. */
async function budget(rig: Rig): Promise<string> {
  const atOnce = (rig.differs.budget ?? CASES.budget[1]) === CASES.budget[1];
  const session = await rig.open({
    steps: [
      { text: 'One.', tools: [{ do: 'shell', command: 'echo one' }] },
      atOnce ? { hang: true } : { text: 'Two.', tools: [{ do: 'shell', command: 'echo two' }] },
      { text: LAST_WORDS },
    ],
  });
  const { code, result, ledger, stderr } = await runLoop(session, {
    args: ['-m', '2', '--max-tokens', '500'],
  });
  if (code === 2) {
    expect(stderr).toContain('does not report its tokens, so the limit could not be kept');
    return 'refused: it tells no tokens';
  }
  expect([result.stopReason, processesIn(session.place)]).toEqual(['budget_exhausted', []]);
  const said = agentEvents(ledger).map(event => (event.kind === 'text' ? event.text : ''));
  if (said.join('').includes(LAST_WORDS)) return 'ends the run after the turn';
  expect(outcomes(ledger)).toEqual([{ kind: 'ended', by: 'max-tokens' }]);
  return 'ends the turn at once';
}

/** The limit is longer than a whole turn takes, so that it cannot end an agent that only starts slowly. */
async function hang(rig: Rig, turnTime: number): Promise<string> {
  const session = await rig.open({ steps: [{ hang: true }] });
  const limit = String(Math.ceil(2 * turnTime) + 2);
  const { result, ledger } = await runLoop(session, { args: ['-m', '1', '--idle-timeout', limit] });
  const [request] = session.server.requests.filter(({ kind }) => kind === 'step');
  expect([result.stopReason, outcomes(ledger), await request?.ended, processesIn(session.place)]).toEqual([
    'max_iterations',
    [{ kind: 'ended', by: 'idle-timeout' }],
    'gone',
    [],
  ]);
  return '--idle-timeout ends it';
}

/** Leaves its number in a file that is whole as soon as it is there, and stays. */
const WAIT = 'echo $$ > starting; mv starting started; exec tail -f "$PWD/started"';

/** Behind a wall it has a number of its own, and some hosts start it in a shell below the one that wrote its number: it is found by what it follows. */
async function findTool(started: string): Promise<ProcessId> {
  for (;;) {
    const tool = identify(processWith(realpathSync(started)));
    if (tool) return tool;
    await new Promise(setImmediate);
  }
}

async function signalled(rig: Rig, signal: 'SIGINT' | 'SIGTERM'): Promise<string> {
  const session = await rig.open({
    steps: [{ text: 'I wait.', tools: [{ do: 'shell', command: WAIT }] }, { text: 'This is never said.' }],
  });
  const loop = startLoop(session, { args: ['-m', '2'] });
  const started = join(session.place.repo, 'started');
  await appears(started, loop.finished);
  const tool = await findTool(started);
  loop.process.kill(signal);
  await loop.until('Received signal, shutting down...');
  loop.process.kill(signal);
  const { code, result, ledger } = await loop.finished;
  expect([code, result.stopReason, outcomes(ledger)]).toEqual([
    130,
    'interrupted',
    [{ kind: 'ended', by: 'interrupt' }],
  ]);
  expect(isAlive(tool)).toBe(false);
  const left = processesIn(session.place);
  return left.length === 0 ? 'nothing left' : `left: ${left.join('; ')}`;
}
