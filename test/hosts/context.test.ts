/** The context monitor in the real Claude Code and Codex: a scripted model whose usage grows, and what it is told. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type HostName, hostCommand } from '../rig/hosts/host.ts';
import { hostSession } from '../rig/hosts/session.ts';
import type { Step } from '../rig/model-server/script.ts';
import { startRalph } from '../rig/ralph.ts';

const COMPLETE = '<promise>COMPLETE</promise>';

/** A tool call in a reply that has cost so many tokens. */
const work = (input: number, command = 'true'): Step => ({
  tools: [{ do: 'shell', command }],
  usage: { input, output: 100 },
});

async function bodies(name: HostName, steps: readonly Step[], contextMonitor: object) {
  const session = await hostSession(name, { steps });
  onTestFinished(() => session.close());
  const { repo, env } = session.place;
  const agent = { command: hostCommand(name), adapter: name, flags: session.flags };
  mkdirSync(join(repo, '.ralph'));
  writeFileSync(join(repo, '.ralph/settings.json'), JSON.stringify({ agent, contextMonitor }));
  const args = ['loop', 'Go on', '--check', 'true', '--max-iterations', '1', '--json'];
  const { code } = await startRalph(args, { cwd: repo, env: { ...env, ...session.env } }).finished;
  expect(code).toBe(0);
  return session.server.requests.filter(request => request.kind === 'step').map(request => request.body);
}

const count = (body: string | undefined, text: string) => (body ?? '').split(text).length - 1;

test.each(['claude', 'codex'] as const)(
  '%s is told at each threshold once, and only when it is on',
  async name => {
    const steps = [
      work(20_000),
      work(55_000),
      work(56_000),
      work(75_000),
      work(95_000),
      work(96_000),
      { text: COMPLETE },
    ];
    const sent = await bodies(name, steps, { enabled: true, window: 100_000 });
    const last = sent.at(-1);
    expect(count(last, '[NOTICE] Your context is about')).toBe(1);
    expect(count(last, '[WARNING] Your context is about')).toBe(1);
    expect(count(last, '[CRITICAL] Your context is about')).toBe(1);
    expect(last).toContain('Finish your current task and commit soon.');
    expect(count(sent[1], 'Your context is about')).toBe(0);
    const quiet = await bodies(name, [work(95_000), { text: COMPLETE }], { enabled: false, window: 100_000 });
    expect(count(quiet.at(-1), 'Your context is about')).toBe(0);
  },
);
