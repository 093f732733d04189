/** One run of three iterations: an answer; commands, files, a failure and thinking; the end and its commit. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { agentEvents, type LoopEnd, runLoop } from '../rig/hosts/loop.ts';
import type { Place } from '../rig/hosts/place.ts';
import type { HostSession } from '../rig/hosts/session.ts';
import type { Script } from '../rig/model-server/answer.ts';
import type { Rig } from './conformance.ts';

const ANSWER = 'A plain answer: 🙂 “done”.';
/** Upper and lower case make no difference to the tag, and tell us where one came from. */
const IN_RESULT = '<response>Done</response>';
const IN_FILE = '<response>dOne</response>';
const IN_THINKING = '<response>doNe</response>';

/** In dollars for a million tokens. */
const PRICES = { '*': { input: 1, output: 2 } };

/** The guardrail stays red until the last iteration, so that a false claim would end nothing before its time. */
const SETTINGS = {
  prices: PRICES,
  guardrails: [{ command: 'test -e finished' }],
  scm: { command: 'git', tasks: ['commit'] },
};

function script({ repo }: Place): Script {
  const file = join(repo, 'wrote.txt');
  return {
    steps: [
      { text: ANSWER, usage: { input: 1234, output: 56, cached: 1000 } },

      {
        text: 'I run a command.',
        tools: [{ do: 'shell', command: `echo '${IN_RESULT}' > ran.txt && cat ran.txt` }],
      },
      { tools: [{ do: 'write', path: file, content: `one \`x\`\n$HOME "two"\n${IN_FILE}\n` }] },
      { text: 'I print it and fail.', tools: [{ do: 'shell', command: 'cat wrote.txt; exit 3' }] },
      { reasoning: `Now I could say ${IN_THINKING}.`, text: 'I have thought.' },

      { tools: [{ do: 'shell', command: 'touch finished' }] },
      { text: 'All is done. <response>DONE</response>' },

      { text: 'Add the scripted work' }, // asked for a commit message
    ],
  };
}
/** The steps that begin an iteration. */
const FIRST_STEPS = [0, 1, 5];

interface Work extends LoopEnd {
  readonly session: HostSession;
}

/** Returns how many seconds the first turn took. */
export function workCases(rig: Rig): () => Promise<number> {
  let running: Promise<Work> | undefined;
  const work = () => {
    running ??= (async () => {
      const session = await rig.open(script);
      return { session, ...(await runLoop(session, { settings: SETTINGS, args: ['-m', '3'] })) };
    })();
    return running;
  };
  /** The tag came in the agent's stream, and is in none of what counts as its own words. */
  const tagCase =
    (iteration: number, tag: string, where = 'shown') =>
    async () => {
      const { ledger, raw } = await work();
      expect(ownWords(ledger, iteration)).not.toContain(tag);
      return raw[iteration - 1]?.includes(tag) ? 'never done' : `not ${where}`;
    };

  rig.sees('plain', async () => {
    const said = ownWords((await work()).ledger, 1);
    return said.trim() === ANSWER ? 'yes' : `said ${JSON.stringify(said)}`;
  });
  rig.sees('tools', async () => filesWereMade(await work()));
  rig.sees('toolCalls', async () =>
    counted(
      (await work()).result.iterations.map(each => each.toolCalls),
      [0, 3, 1],
    ),
  );
  rig.sees('toolErrors', async () =>
    counted(
      (await work()).ledger.flatMap(event =>
        event.type === 'agent-ended' && event.purpose === 'work' ? [event.toolErrors] : [],
      ),
      [0, 1, 0],
    ),
  );
  rig.sees('fresh', async () => startedAfresh(await work()));
  rig.sees('done', async () => {
    const { code, result, session } = await work();
    expect(session.server.problems).toEqual([]);
    expect([code, result.stopReason]).toEqual([0, 'promise_accepted']);
    const found = result.iterations.map(each => each.completionTagFound);
    return found.join() === 'false,false,true' ? 'yes' : `found: ${found.join(', ')}`;
  });
  rig.sees('tagInToolResult', tagCase(2, IN_RESULT));
  rig.sees('tagInFile', tagCase(2, IN_FILE));
  rig.sees('tagInPrompt', tagCase(1, 'say <response>DONE</response>', 'echoed'));
  rig.sees('tagInThinking', tagCase(2, IN_THINKING));
  rig.sees('tokens', async () => {
    const tokens = (await work()).result.iterations.map(each => each.tokens);
    if (tokens.every(each => each === null)) return 'not reported';
    expect([tokens[0], tokens[1]]).toEqual([
      { input: 1234, output: 56, cacheRead: 1000, cacheWrite: 0 },
      { input: 4000, output: 80, cacheRead: 0, cacheWrite: 0 },
    ]);
    return 'reported';
  });
  rig.sees('cost', async () => costOf(await work()));
  rig.sees('commit', async () => {
    const { session } = await work();
    const subject = git(session.place, 'log', '-1', '--format=%s');
    return subject === 'Add the scripted work' ? 'yes' : `committed "${subject}"`;
  });
  return async () => (await work()).result.iterations[0]?.duration ?? 0;
}

function ownWords(ledger: readonly RunEvent[], iteration: number): string {
  const from = ledger.findIndex(event => event.type === 'iteration-started' && event.iteration === iteration);
  const to = ledger.findIndex(event => event.type === 'iteration-ended' && event.iteration === iteration);
  const events = agentEvents(ledger.slice(from, to));
  return events.map(event => (event.kind === 'text' ? event.text : '')).join('');
}

function filesWereMade({ session }: Work): string {
  const file = (name: string) => readFileSync(join(session.place.repo, name), 'utf8');
  expect({ ran: file('ran.txt'), wrote: file('wrote.txt'), finished: file('finished') }).toEqual({
    ran: `${IN_RESULT}\n`,
    wrote: `one \`x\`\n$HOME "two"\n${IN_FILE}\n`,
    finished: '',
  });
  return 'yes';
}

function counted(told: readonly (number | null)[], wanted: readonly number[]): string {
  if (told.join() === wanted.join()) return 'yes';
  if (told.every(count => count === null)) return 'not reported';
  return told.every(count => count === 0) ? 'no: reported as successes' : `reported as ${told.join(', ')}`;
}

/** Nothing of the conversation before, but what its guardrail said. */
function startedAfresh({ session }: Work): string {
  const first = FIRST_STEPS.map(step => session.server.requests.find(request => request.step === step));
  expect(first.map(request => request?.body.includes('A plain answer'))).toEqual(first.map(() => false));
  const told = first.map(request =>
    request?.userTexts.some(text => text.includes('Guardrail "test -e finished" failed with exit code 1.')),
  );
  expect(told).toEqual([false, true, true]);
  return 'yes';
}

function costOf({ result }: Work): string {
  const { cost = null, costSource } = result.iterations[0] ?? {};
  if (costSource === 'unknown') return 'not reported';
  if (costSource === 'agent') return cost !== null && cost > 0 ? 'reported' : `reported as ${cost}`;
  expect(cost).toBeCloseTo((1234 * PRICES['*'].input + 56 * PRICES['*'].output) / 1e6, 9);
  return 'from the price table';
}

function git({ repo, env }: Place, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: repo, env, encoding: 'utf8' }).trim();
}
