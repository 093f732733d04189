/** What every host must do when it is called directly: the same cases for all, with what differs as data. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HostName } from '../rig/hosts/host.ts';
import type { Place } from '../rig/hosts/place.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import type { Script } from '../rig/model-server/answer.ts';

/** How a host shows a model error that does not go away. */
export interface Shown {
  readonly exit: number;
  /** How often it asks the model before it gives up. */
  readonly requests: number;
  /** The type of the event that carries the words. */
  readonly event: string;
  /** A part of that event's JSON. */
  readonly says: string;
}

export interface Expected {
  readonly errors: Readonly<Partial<Record<401 | 429 | 500, Shown>>>;
  /** What the large prompt is made of; all kinds of letters unless told. */
  readonly letters?: 'ascii';
}

export async function open(
  name: HostName,
  script: Script | ((place: Place) => Script),
): Promise<HostSession> {
  const session = await hostSession(name, script);
  onTestFinished(() => session.close());
  return session;
}

export function hostSuite(name: HostName, expected: Expected): void {
  describe(name, () => {
    test('gives the answer of the model and its tokens', async ({ signal }) => {
      const answer = 'The scripted answer: 🙂 “done”.';
      const session = await open(name, { steps: [{ text: answer, usage: { input: 1234, output: 56 } }] });
      const { code, events } = await session.run('Do the scripted task.', signal);
      expect({
        code,
        reply: session.host.reply(events),
        usage: session.host.usage(events, session.place),
        turns: turns(session),
        problems: session.server.problems,
      }).toEqual({ code: 0, reply: answer, usage: { input: 1234, output: 56 }, turns: 1, problems: [] });
    });

    test('really runs a command and really writes a file', async ({ signal }) => {
      const session = await open(name, toolScript);
      const { code, events } = await session.run('Do the scripted task.', signal);
      const file = (path: string) => readFile(join(session.place.repo, path), 'utf8');
      expect({
        code,
        reply: session.host.reply(events),
        ran: await file('ran.txt'),
        wrote: await file('wrote.txt'),
        usage: session.host.usage(events, session.place),
        problems: session.server.problems,
      }).toEqual({
        code: 0,
        reply: 'All done.',
        ran: 'hello from the shell\n',
        wrote: 'one `x`\n$HOME "two"\n',
        usage: { input: 3400, output: 70 },
        problems: [],
      });
    });

    test('passes 1 MB of prompt on byte for byte', async ({ signal }) => {
      const session = await open(name, { steps: [{ text: 'Read.' }] });
      const prompt = largePrompt(expected.letters ?? 'all');
      const run = session.run(prompt, signal);
      const { userTexts } = await session.server.request(1, 'step');
      await run;
      const arrived = userTexts.map(text => session.host.prompt?.(text) ?? text);
      // Not toContain: a failure would print megabytes.
      expect(arrived.map(text => text === prompt)).toContain(true);
    });

    for (const [status, shown] of Object.entries(expected.errors)) {
      test(`shows a model error ${status}`, async ({ signal }) => {
        const session = await open(name, { steps: [errorStep(Number(status))] });
        const { code, events } = await session.run('Do the scripted task.', signal);
        const said = events.filter(event => (event as { type?: unknown }).type === shown.event);
        expect({ exit: code, requests: turns(session), said: JSON.stringify(said) }).toEqual({
          exit: shown.exit,
          requests: shown.requests,
          said: expect.stringContaining(shown.says),
        });
      });
    }
  });
}

export function toolScript(place: Place): Script {
  return {
    steps: [
      {
        text: 'First a command.',
        reasoning: 'A command comes first.',
        tools: [{ do: 'shell', command: 'echo "hello from the shell" > ran.txt && cat ran.txt' }],
      },
      { tools: [{ do: 'write', path: join(place.repo, 'wrote.txt'), content: 'one `x`\n$HOME "two"\n' }] },
      { text: 'All done.', usage: { input: 1400, output: 30, cached: 1200 } },
    ],
  };
}

/** Clients that obey the header need not be waited for. */
export function errorStep(status: number) {
  const headers = { 'retry-after': '0', 'retry-after-ms': '1' };
  return { status, error: `scripted words ${status}`, headers, repeat: 'forever' } as const;
}

function turns(session: HostSession): number {
  return session.server.requests.filter(request => request.kind !== 'side').length;
}

/** No "@" and no "/" in front: some clients give them a meaning of their own. */
function largePrompt(letters: 'all' | 'ascii'): string {
  const ascii = `"double" 'single' $HOME $(id) \`id\` \\ \\n %s {{x}} <tag> & | ; # ! \t\x1b[31m\x01\x7f \r\n\n`;
  const line = letters === 'ascii' ? ascii : `${ascii}🙂 é 漢 \u2028 \u2029 \ufeff `;
  return `Start: ${line.repeat(Math.ceil(1_000_000 / Buffer.byteLength(line)))}end.`;
}
