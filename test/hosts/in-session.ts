/** The in-session loop in a real host: the plugin installed as a user installs it, a command typed, a script played. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HostName } from '../rig/hosts/host.ts';
import { runHost } from '../rig/hosts/run.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import type { Step } from '../rig/model-server/script.ts';
import { BIN, CODE_CACHE } from '../rig/ralph.ts';

export const DONE = '<promise>DONE</promise>';
export const work: Step = { tools: [{ do: 'shell', command: 'echo worked >> work.txt' }] };

export interface Ended {
  readonly session: HostSession;
  /** Calls of the model, also those that the script did not foresee. */
  readonly turns: number;
  /** What the model was sent last, each time. */
  readonly sent: readonly string[];
  /** Whether a loop is still there. */
  readonly left: boolean;
  /** Everything the host printed. */
  readonly printed: string;
}

export interface How {
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of the host for this run, instead of those that let hooks run unasked. */
  readonly flags?: readonly string[];
  /** Runs after the plugin is installed. */
  readonly before?: (session: HostSession) => Promise<unknown>;
}

export async function loopIn(
  name: HostName,
  command: string,
  steps: readonly Step[],
  how: How = {},
): Promise<Ended> {
  const session = await hostSession(name, { steps });
  onTestFinished(() => session.close());
  expect(await ralphIn(session, ['plugin', 'install', name])).toMatchObject({ code: 0 });
  await how.before?.(session);
  const { stdout, stderr } = await runHost(argvOf(session, how.flags), {
    place: session.place,
    env: { ...session.env, ...how.env },
    stdin: command,
  });
  const requests = session.server.requests.filter(request => request.kind !== 'side');
  return {
    session,
    turns: requests.length,
    sent: requests.map(request => request.lastUserText),
    left: states(session).length > 0,
    printed: stdout + stderr,
  };
}

/** The rig switches Codex's plugins off, and Codex runs no hook that nobody has trusted. */
function argvOf({ host, place, flags }: HostSession, instead?: readonly string[]): readonly string[] {
  if (host.name !== 'codex') return host.argv(place, [...flags, ...(instead ?? [])]);
  const on = flags.filter((flag, at) => flag !== '--disable' && flags[at - 1] !== '--disable');
  return host.argv(place, [...on, ...(instead ?? ['--dangerously-bypass-hook-trust'])]);
}

function states({ place }: HostSession): readonly string[] {
  const folder = join(place.repo, '.claude');
  return existsSync(folder) ? readdirSync(folder).filter(name => name.startsWith('ralph-loop')) : [];
}

/** Ralph's own program where the host is, with the host on its path. */
export function ralphIn(
  { place, env }: HostSession,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: place.repo,
    env: { ...place.env, ...env, RALPH_CACHE_DIR: CODE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', chunk => {
      output += chunk;
    });
  }
  return new Promise(resolve => child.on('close', code => resolve({ code, output })));
}

export function ledgerOf({ place }: HostSession): readonly Readonly<Record<string, unknown>>[] {
  const runs = join(place.repo, '.ralph/runs');
  return readdirSync(runs).flatMap(id =>
    readFileSync(join(runs, id, 'events.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
  );
}

/** What must be so in every host. */
export function describeLoop(name: HostName, how: How = {}): void {
  const loop = (command: string, steps: readonly Step[]) => loopIn(name, command, steps, how);
  describe(`the loop in ${name}`, () => {
    test('an empty promise is rejected, a missing one sent back, an earned one accepted', async () => {
      const task = `Don't $(touch pwned) \`touch pwned\` ; touch pwned # "quoted"`;
      const { turns, sent, left, session } = await loop(`/ralph-loop ${task} --completion-promise DONE`, [
        { text: `At once: ${DONE}` },
        work,
        { text: 'I am done' },
        { text: DONE },
        { text: 'never asked' },
      ]);
      expect([turns, left]).toEqual([4, false]);
      expect(session.server.requests[0]?.body).toContain('This is a Ralph loop');
      expect(sent[1]).toContain('Promise detected, but no tool calls/work were performed');
      expect(sent[1]).toContain(`Original task:\n${task}`);
      expect(sent[3]).toContain('you did not output the completion promise');
      expect(existsSync(join(session.place.repo, 'pwned'))).toBe(false);
      expect(ledgerOf(session).at(-1)).toMatchObject({
        type: 'run-ended',
        result: { stopReason: 'promise_accepted' },
      });
    });

    test('never a promise: it ends after the maximum', async () => {
      const { turns, left, session } = await loop(
        '/ralph-loop Do it --completion-promise DONE --max-iterations 3',
        [{ text: 'still at it', repeat: 'forever' }],
      );
      expect([turns, left]).toEqual([3, false]);
      expect(ledgerOf(session).at(-1)).toMatchObject({ result: { stopReason: 'max_iterations' } });
    });

    test('a promise with a red check is sent back with its output, and let go when it is green', async () => {
      const { turns, sent, left } = await loop(
        '/ralph-loop Do it --completion-promise DONE --check "cat made.txt"',
        [work, { text: DONE }, { tools: [{ do: 'shell', command: 'echo made > made.txt' }] }, { text: DONE }],
      );
      expect([turns, left]).toEqual([4, false]);
      expect(sent[2]).toContain('`cat made.txt` failed (exit code 1)');
    });

    test('/cancel-ralph and a mistake in the flags are answered without the model', async () => {
      const cancelled = await loop('/cancel-ralph', [{ text: 'never' }]);
      expect(cancelled.turns).toBe(0);
      const mistaken = await loop('/ralph-loop Do it --max-iteration 5', [{ text: 'never' }]);
      expect([mistaken.turns, mistaken.left]).toEqual([0, false]);
    });

    test('an ordinary prompt is none of its business', async () => {
      const { turns, left } = await loop('What does /ralph-loop do?', [{ text: 'It loops.' }]);
      expect([turns, left]).toEqual([1, false]);
    });
  });
}
