/** When the hooks of an agent are answered by the run itself, and when they are programs again. */
import { describe, expect, test } from 'vitest';
import { findAdapter } from '../../../src/agents/registry.ts';
import { createHookDoor, type ServedHooks } from '../../../src/run/turns/hook-door.ts';
import { recorder } from './world.ts';

const adapter = { ...findAdapter('claude'), callsHooksSince: '2.1.0' };
const CLAUDE = { command: 'claude', prefix: [], adapter };
const URL = 'http://127.0.0.1:1/hooks';

function door(serve?: () => Promise<ServedHooks>) {
  const { emit, notices } = recorder();
  const state = { calls: 0, served: 0, isClosed: false };
  const own = async (): Promise<ServedHooks> => {
    state.served++;
    return {
      url: URL,
      calls: () => state.calls,
      close: async () => {
        state.isClosed = true;
      },
    };
  };
  const made = createHookDoor(serve ?? own, emit);
  const version = (text: string) => made.hear(CLAUDE, { kind: 'session', version: text });
  const usesTool = () =>
    made.hear(CLAUDE, { kind: 'tool-end', id: 't', ok: true, output: { preview: '', lines: 0, chars: 0 } });
  return { ...made, version, usesTool, state, notices };
}

describe('an agent gets the address', () => {
  test('when it has told a version that can make requests', async () => {
    const { urlFor, version } = door();
    version('2.1.0');
    expect(await urlFor(CLAUDE, {})).toBe(URL);
  });

  test('of one server, however often it asks', async () => {
    const { urlFor, version, state } = door();
    version('2.1.0');
    await urlFor(CLAUDE, {});
    await urlFor(CLAUDE, {});
    expect(state.served).toBe(1);
  });

  test.each<[string, (its: ReturnType<typeof door>) => void, typeof CLAUDE, Record<string, string>]>([
    ['before it has told its version', () => {}, CLAUDE, {}],
    ['when its version is too old', its => its.version('2.0.99'), CLAUDE, {}],
    [
      'when another of the same kind told its version',
      its => its.version('2.1.0'),
      { ...CLAUDE, command: '/opt/claude' },
      {},
    ],
    ['behind a proxy', its => its.version('2.1.0'), CLAUDE, { HTTPS_PROXY: 'http://proxy:1' }],
  ])('not %s', async (_, prepare, who, env) => {
    const its = door();
    prepare(its);
    expect(await its.urlFor(who, env)).toBeUndefined();
    expect(its.state.served).toBe(0);
  });
});

describe('programs again', () => {
  test('when tools ran and no hook was called: the agent does not reach us', async () => {
    const { urlFor, version, usesTool, notices, state } = door();
    version('2.1.0');
    await urlFor(CLAUDE, {});
    usesTool();
    expect(await urlFor(CLAUDE, {})).toBeUndefined();
    expect(notices()).toEqual([
      'claude did not reach the hooks of this run: from now on each hook is a process of its own.',
    ]);
    state.calls = 1;
    expect(await urlFor(CLAUDE, {})).toBeUndefined();
  });

  test('not when they were called, or no tool ran', async () => {
    const { urlFor, version, usesTool, state } = door();
    version('2.1.0');
    usesTool(); // before it had the address
    await urlFor(CLAUDE, {});
    expect(await urlFor(CLAUDE, {})).toBe(URL);
    usesTool();
    state.calls = 1;
    expect(await urlFor(CLAUDE, {})).toBe(URL);
  });

  test('when there can be no server', async () => {
    const { urlFor, version, notices } = door(() => Promise.reject(new Error('no port')));
    version('2.1.0');
    expect(await urlFor(CLAUDE, {})).toBeUndefined();
    expect(notices()).toEqual([expect.stringContaining('The hooks cannot be served (no port)')]);
  });
});

test('the server is closed with the run, where there is one', async () => {
  const { urlFor, version, close, state } = door();
  await close();
  expect(state.isClosed).toBe(false);
  version('2.1.0');
  await urlFor(CLAUDE, {});
  await close();
  expect(state.isClosed).toBe(true);
});
