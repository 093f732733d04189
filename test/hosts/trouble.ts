/** What Ralph makes of a model that refuses, limits, breaks or falls silent in the middle of a word. */
import { expect } from 'vitest';
import type { Trouble } from '../../src/domain/turn/trouble.ts';
import type { Limit } from '../rig/hosts/host.ts';
import { type LoopEnd, outcomes, runLoop } from '../rig/hosts/loop.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import type { Step } from '../rig/model-server/script.ts';
import { RETRIES } from './cases.ts';
import type { Rig } from './conformance.ts';

/** Clients that obey these headers need not be waited for. */
const AT_ONCE = { 'retry-after': '0', 'retry-after-ms': '1' };
const REFUSED: Step = { status: 401, error: 'scripted words 401', headers: AT_ONCE };
const BROKEN: Step = { status: 500, error: 'scripted words 500', headers: AT_ONCE };
const CUT: Step = { text: 'These words are cut in the middle.', cut: { events: 4 } };
const LIMITED: Limit = {
  resetsIn: 3600,
  step: { status: 429, error: 'scripted words 429', headers: { 'retry-after': '3600' } },
};
const FIRST_FAILURE_ENDS = { settings: { maxFailures: 1, maxRetries: 0, maxWait: 0 }, args: ['-m', '2'] };

export function troubleCases(rig: Rig): void {
  rig.sees('refused', async () => {
    const session = await rig.open({ steps: [{ ...REFUSED, repeat: 'forever' }] });
    const { code, result, ledger } = await runLoop(session, { args: ['-m', '2'] });
    const atOnce = result.stopReason === 'agent_failed' && result.iterations.length === 1;
    expect([code, session.server.problems]).toEqual([1, []]);
    if (atOnce) expect(result.detail).toMatch(/To fix it: log in with .+, or set [A-Z_]+/);
    return `${troubleIn({ ledger }).class}${atOnce ? ': stops at once' : ''}`;
  });

  rig.sees('limited', async () => {
    const { step, resetsIn, env = {} } = HOSTS[rig.name].limit?.() ?? LIMITED;
    const session = await rig.open({ steps: [{ ...step, repeat: 'forever' }] });
    const expected = Date.now() + resetsIn * 1000;
    const end = await runLoop(session, { ...FIRST_FAILURE_ENDS, env });
    const { class: kind, resetAt } = troubleIn(end);
    expect(end.result.stopReason).toBe(kind === 'crash' ? 'agent_failed' : 'rate_limited');
    if (resetAt === undefined) return `${kind}, no reset time`;
    expect(Math.abs(resetAt - expected)).toBeLessThan(60_000);
    return `${kind}, reset time reported`;
  });

  rig.sees('broken', () => trouble(rig, BROKEN, rig.differs.broken));
  rig.sees('cut', () => trouble(rig, CUT, rig.differs.cut));
}

/** An agent that tries for minutes is given one failure and must get over it; the others must give up. */
async function trouble(rig: Rig, step: Step, differs: string | undefined): Promise<string> {
  if (differs === RETRIES) {
    const session = await rig.open({ steps: [step, { text: 'Recovered. <response>DONE</response>' }] });
    const { result } = await runLoop(session, { args: ['-m', '1'] });
    const asked = session.server.requests.filter(request => request.kind === 'step').length;
    return result.success && asked === 2 ? RETRIES : `${result.stopReason} after ${asked} requests`;
  }
  const session = await rig.open({ steps: [{ ...step, repeat: 'forever' }] });
  const end = await runLoop(session, FIRST_FAILURE_ENDS);
  expect(end.result.stopReason).toBe('agent_failed');
  return troubleIn(end).class;
}

function troubleIn({ ledger }: Pick<LoopEnd, 'ledger'>): Trouble {
  const [outcome] = outcomes(ledger);
  if (outcome?.kind !== 'failed') throw new Error(`the turn did not fail: ${JSON.stringify(outcome)}`);
  return outcome.trouble;
}
