/** The agents without Ralph: what the suites of hooks and plugins, which run inside them, can build on. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HOST_NAMES } from '../rig/hosts/host.ts';
import { hostSession } from '../rig/hosts/session.ts';

test.each(HOST_NAMES)('%s runs a command, writes a file and tells its tokens', async name => {
  const session = await hostSession(name, ({ repo }) => ({
    steps: [
      {
        text: 'First a command.',
        tools: [{ do: 'shell', command: 'echo "hello from the shell" > ran.txt' }],
      },
      { tools: [{ do: 'write', path: join(repo, 'wrote.txt'), content: 'one `x`\n$HOME "two"\n' }] },
      { text: 'All done.', usage: { input: 1400, output: 30, cached: 1200 } },
    ],
  }));
  onTestFinished(() => session.close());
  const { code, events } = await session.run('Do the scripted task.');
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
