/** The loop as a person uses it: the real CLI in a real terminal, typed into, interrupted, cancelled, closed and opened again. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseState } from '../../src/store/session-file.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import { openTerminal } from '../rig/hosts/terminal.ts';
import { TERMINALS, type TerminalHost } from '../rig/hosts/terminals.ts';
import type { Step } from '../rig/model-server/script.ts';
import { PATIENCE, type Terminal } from '../rig/terminal.ts';
import { DONE, ralphIn, work } from './in-session.ts';
import { withoutInstalling } from './opencode-offline.ts';
import { expectColumn, NEXT_PROMPT, type Seen } from './terminal-page.ts';

const inTool: Step = { tools: [{ do: 'shell', command: 'echo $$ > tool.pid; exec tail -f /dev/null' }] };

/** In the order in which the agent is asked. */
function stepsFor(name: TerminalHost): readonly Step[] {
  const { nudges, strays } = TERMINALS[name];
  const nudged: readonly Step[] = nudges ? [{ text: 'I was asked once more.' }] : [];
  return [
    ...[work, { text: 'busy', gate: 'first' }, ...nudged, { text: 'The answer is 42.' }],
    ...[inTool, { text: 'The answer is 43.' }],
    ...[{ text: 'not yet' }, { text: 'busy', gate: 'cancelled' }, { text: 'The answer is 44.' }],
    ...[work, { text: 'busy', gate: 'second' }, ...nudged],
    ...[{ ...work, text: 'Let me look.' }, { text: 'busy', gate: 'third' }, ...nudged],
    { text: 'Hello, other session.' },
    ...(strays
      ? [work, { text: DONE, repeat: 'forever' } as const]
      : [work, { text: DONE }, { text: 'Hello without Ralph.' }]),
  ];
}

const TASK = 'Do it --completion-promise DONE';

export function describeTerminal(name: TerminalHost): void {
  test(`a loop in the terminal of ${name}`, async () => {
    const steps = stepsFor(name);
    const session = await hostSession(name, { steps });
    onTestFinished(() => session.close());
    expect(await ralphIn(session, ['plugin', 'install', name])).toMatchObject({ code: 0 });
    if (name === 'opencode') await withoutInstalling(session);
    const player = createPlayer(session, name);
    onTestFinished(() => player.close());
    const seen: Seen = {
      ...(await playInterrupts(player)),
      ...(await playCancels(player)),
      ...(await playSessions(player)),
    };
    expect(session.server.problems).toEqual([]);
    if (!TERMINALS[name].strays) expect(player.asked()).toBe(steps.length);
    expectColumn(name, seen);
  });
}

type Player = ReturnType<typeof createPlayer>;

/** Milliseconds after which a key is pressed again: completions take the first one, a busy screen loses it. */
const AGAIN = 1_500;
/** A second Esc too soon means something else to some of them. */
const LATER = 10_000;

function createPlayer(session: HostSession, name: TerminalHost) {
  const { prefix } = TERMINALS[name];
  const { place, server } = session;
  let terminal: Terminal | undefined;
  const asked = () => server.requests.filter(request => request.kind === 'step').length;
  const file = join(place.repo, '.claude/ralph-loop.local.md');
  const state = () => (existsSync(file) ? parseState(readFileSync(file, 'utf8')) : undefined);
  const here = () => {
    if (!terminal) throw new Error('no terminal is open');
    return terminal;
  };
  /** Presses the key until it has had its effect. */
  const press = async (key: string, isDone: () => boolean, times = 1) => {
    for (let at = 0; at < PATIENCE; at += TICK) {
      if (at % (key === 'Escape' ? LATER : AGAIN) < times * TICK) here().press(key);
      await new Promise(resolve => setTimeout(resolve, TICK));
      if (isDone()) return;
    }
    throw new Error(`${key} had no effect (${asked()} requests)\n${here().screen()}`);
  };
  const { escapes = 1, nudges, interrupted, offers, busy } = TERMINALS[name];
  const step = (at: number) => server.requests.filter(request => request.kind === 'step').at(at);
  const isActive = () => {
    const now = state();
    return now !== undefined && 'active' in now && now.active;
  };
  /** Types a line and sends it, until it has had its effect. */
  const submit = async (text: string, isDone: () => boolean) => {
    if (busy !== undefined) await within(PATIENCE, () => !here().screen().includes(busy));
    here().press('C-u');
    here().type(text);
    await here().until(text.slice(0, 40));
    await press('Enter', isDone);
  };
  return {
    session,
    name,
    asked,
    state,
    isActive,
    submit,
    command: (words: string) => `${prefix}${words}`,
    screen: () => here().screen(),
    async open(...more: readonly string[]) {
      terminal = await openTerminal(session, more);
      await terminal.until(TERMINALS[name].ready);
      if (offers === undefined) return;
      terminal.type(`${prefix}ralph-l`);
      await terminal.until(offers);
      terminal.press('C-u');
    },
    close() {
      terminal?.close();
      terminal = undefined;
    },
    /** Types a line to the agent, until it was asked so many times for it. */
    async ask(text: string, times: number) {
      const before = asked();
      await submit(text, () => asked() >= before + times);
    },
    /** Presses Esc until the turn is broken off. Says when the loop went to sleep. */
    async interrupt(toolIsGone?: () => boolean) {
      const isOver = toolIsGone ?? hasEnded(step(-1));
      const before = asked();
      const shown = () => (interrupted === undefined ? 0 : here().screen().split(interrupted).length);
      const was = shown();
      await press('Escape', () => isOver() || shown() > was, escapes);
      const slept = await within(2_000, () => !isActive());
      if (nudges && !toolIsGone) await within(PATIENCE, () => asked() > before);
      return slept ? 'sleeps at once' : NEXT_PROMPT;
    },
    /** A prompt of the user's own: answered once, and nobody is sent back. */
    async own(text: string, answer: string) {
      const before = asked();
      await submit(text, () => asked() > before);
      await here().until(answer);
      const last = server.requests
        .slice(-4)
        .map(({ kind, lastUserText }) => [kind, lastUserText.slice(-200)]);
      expect(step(-1)?.body.includes(text), JSON.stringify(last)).toBe(true);
      expect(await within(5_000, () => !isActive())).toBe(true);
      expect(asked()).toBe(before + 1);
    },
  };
}

const TICK = 100;

/** Start, Esc while it generates, a prompt of the user's own, wake, Esc in a tool. */
async function playInterrupts(player: Player): Promise<Partial<Seen>> {
  const { session, state, command, isActive } = player;
  await player.open();
  await player.ask(command(`ralph-loop ${TASK}`), 2);
  expect(isActive()).toBe(true);
  const esc = await player.interrupt();
  await player.own('Say what six times seven is.', 'The answer is 42.');
  await player.ask(command('ralph-loop'), 1);
  expect(isActive()).toBe(true);
  const pidFile = join(session.place.repo, 'tool.pid');
  const isRunning = () => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n');
  expect(await within(PATIENCE, isRunning), player.screen()).toBe(true);
  const pid = readFileSync(pidFile, 'utf8').trim();
  const escInTool = await player.interrupt(() => !existsSync(`/proc/${pid}`));
  await player.own('Say it once more.', 'The answer is 43.');
  expect(state()).toMatchObject({ iteration: 1 });
  return { start: 'yes', esc, own: 'answered, not sent back', wake: 'yes', escInTool };
}

/** Cancelled from outside while it generates, and by command. */
async function playCancels(player: Player): Promise<Partial<Seen>> {
  const { session, state, submit, command } = player;
  await player.ask(command('ralph-loop'), 2);
  expect(state()).toMatchObject({ iteration: 2 });
  expect((await ralphIn(session, ['session', 'cancel'])).output).toContain('was at iteration 2');
  session.server.release('cancelled');
  await player.own('Say that you are there.', 'The answer is 44.');
  expect(state()).toBeUndefined();
  await player.ask(command(`ralph-loop ${TASK}`), 2);
  await player.interrupt();
  await submit(command('cancel-ralph'), () => state() === undefined);
  expect(await endings(session)).toEqual(['cancelled', 'cancelled']);
  return { cancelOutside: 'ends, for good', cancel: 'ends, for good' };
}

/** A second session beside it, the host closed and resumed, the plugin removed. */
async function playSessions(player: Player): Promise<Partial<Seen>> {
  const { session, name, asked, state, submit, command } = player;
  await player.ask(command(`ralph-loop ${TASK}`), 2);
  await player.interrupt();
  // Also behind words and a tool call of the same turn: nobody is sent back, and no iteration is counted.
  expect(state()).toMatchObject({ iteration: 1 });
  player.close();
  await player.open(...TERMINALS[name].resume);
  const [before, count] = [state(), asked()];
  await session.run('Hello');
  expect([asked(), state()]).toEqual([count + 1, before]);
  await submit(command('ralph-loop'), () => state() === undefined);
  expect((await endings(session)).at(-1)).toBe('promise_accepted');
  player.close();
  expect(await ralphIn(session, ['plugin', 'remove', name])).toMatchObject({ code: 0 });
  await session.run('Hello');
  expect(session.server.requests.at(-1)?.body).not.toContain('Ralph loop');
  return { second: 'untouched', resume: 'continues', uninstall: 'removed' };
}

/** How the runs ended. The hook removes the file of a loop first, and writes the end of its ledger a moment later. */
async function endings(session: HostSession): Promise<readonly (string | null)[]> {
  for (let looks = 0; ; looks++) {
    const { runs } = JSON.parse((await ralphIn(session, ['status', '--json'])).output);
    const found = runs.map(({ stopReason }: { stopReason: string | null }) => stopReason);
    if (!found.includes(null) || looks === 20) return found;
  }
}

interface Asked {
  readonly ended: Promise<unknown>;
}

/** Whether the client has hung up, or has had its answer. */
function hasEnded(request: Asked | undefined): () => boolean {
  let isOver = request === undefined;
  void request?.ended.then(() => {
    isOver = true;
  });
  return () => isOver;
}

async function within(ms: number, isSo: () => boolean): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise(resolve => setTimeout(resolve, TICK)))
    if (isSo()) return true;
  return isSo();
}
