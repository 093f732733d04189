/** The real Claude Code and Codex in a sandbox: through the real bin, against a scripted model behind a proxy that knows its name. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hostCommand } from '../rig/hosts/host.ts';
import { processesIn } from '../rig/hosts/processes.ts';
import { hostSession } from '../rig/hosts/session.ts';
import { internet } from '../rig/internet.ts';
import type { Step } from '../rig/model-server/script.ts';
import { startRalph } from '../rig/ralph.ts';

const COMPLETE = '<promise>COMPLETE</promise>';
const shell = (command: string): Step => ({ tools: [{ do: 'shell', command }] });

async function sandboxed(name: 'claude' | 'codex', steps: readonly Step[], ...args: string[]) {
  const session = await hostSession(name, { steps });
  onTestFinished(() => session.close());
  const { repo, home, env } = session.place;
  const net = await internet({ 'model.test': session.server.port });
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh/id'), 'the private key');
  // By name: what is on loopback is asked for without a proxy, and inside that is another loopback.
  const byName = (text: string) => text.replace(session.server.url, 'http://model.test');
  const agent = { command: hostCommand(name), adapter: name, flags: session.flags.map(byName) };
  const settings = { agent, sandbox: { allowDomains: ['model.test'] }, keepEnv: ['LAB_API_KEY'] };
  mkdirSync(join(repo, '.ralph'), { recursive: true });
  writeFileSync(join(repo, '.ralph/settings.json'), JSON.stringify(settings));
  const run = startRalph(['loop', 'Make feature.txt', '--sandbox=srt', ...args, '--json'], {
    cwd: repo,
    env: {
      ...env,
      ...Object.fromEntries(Object.entries(session.env).map(([key, value]) => [key, byName(value)])),
      IS_SANDBOX: '',
      HTTP_PROXY: net.url,
      CHECK_PASSWORD: 'hunter2hunter2',
    },
  });
  const { code, stdout, stderr } = await run.finished;
  const requests = session.server.requests.filter(request => request.kind === 'step');
  return {
    code,
    result: stdout.startsWith('{') ? JSON.parse(stdout) : stderr,
    stderr,
    requests,
    net,
    ...session.place,
  };
}

test('works, commits, is kept in, and is told what it ran against', async () => {
  const steps = [
    shell(
      'touch /etc/ralph-was-here; cat ~/.ssh/id; echo evil > .git/hooks/pre-commit; echo x > .ralph/settings.json',
    ),
    shell(
      'curl -sS -m 5 http://evil.test/ | head -c 100; echo made > feature.txt; git add -A && git commit -qm feature && git status --short && echo COMMITTED',
    ),
    { text: 'Not done yet.' },
    { text: `Done. ${COMPLETE}` },
  ];
  const { code, result, stderr, requests, net, repo, root } = await sandboxed(
    'claude',
    steps,
    '--check',
    'cat feature.txt && test -z "$ANTHROPIC_API_KEY$CHECK_PASSWORD" && ! touch /etc/ralph-check-was-here',
  );
  expect([code, result.stopReason ?? result]).toEqual([0, 'all_checks_passed']);
  const seen = requests.map(request => request.body).join('\n');
  expect(seen).toContain('COMMITTED');
  expect(seen).not.toContain('the private key');
  expect(seen).not.toContain('hunter2hunter2');
  expect([existsSync('/etc/ralph-was-here'), existsSync('/etc/ralph-check-was-here')]).toEqual([
    false,
    false,
  ]);
  expect(existsSync(join(repo, '.git/hooks/pre-commit'))).toBe(false);
  expect(readFileSync(join(repo, '.ralph/settings.json'), 'utf8')).toContain('"adapter":"claude"');
  const second = requests[3]?.userTexts.join('\n') ?? '';
  expect(second).toMatch(
    /The sandbox stopped this in the last turn or its checks.*write \/etc\/ralph-was-here/,
  );
  expect(second).toContain('connect to evil.test:80');
  expect(stderr).toContain('Blocked by the sandbox: write /etc/ralph-was-here');
  expect(new Set(net.asked)).toEqual(new Set(['model.test:80']));
  expect(processesIn({ root } as never)).toEqual([]);
});

test('is ended by a deadline as it is outside: asked first, and its cost is told', async () => {
  const steps: Step[] = [shell('echo kept > work.txt'), { text: 'never heard', gate: 'never' }];
  const { code, result, repo, root } = await sandboxed(
    'claude',
    steps,
    '--check',
    'true',
    '--max-time',
    '60', // longer than an agent takes to begin on a busy machine
  );
  expect([code, result.stopReason ?? result]).toEqual([1, 'timeout']);
  expect(result.totalCost).not.toBeNull();
  expect(readFileSync(join(repo, 'work.txt'), 'utf8')).toBe('kept\n');
  expect(processesIn({ root } as never)).toEqual([]);
});

test('Codex, with its own sandbox switched off, works in ours', async () => {
  const steps = [
    shell(
      'touch /etc/ralph-was-here; echo made > feature.txt; git add -A && git commit -qm feature && echo COMMITTED',
    ),
    { text: `Done. ${COMPLETE}` },
  ];
  const { code, result, requests, net } = await sandboxed('codex', steps, '--check', 'cat feature.txt');
  expect([code, result.stopReason ?? result]).toEqual([0, 'all_checks_passed']);
  expect(requests.map(request => request.body).join('\n')).toContain('COMMITTED');
  expect(existsSync('/etc/ralph-was-here')).toBe(false);
  expect(new Set(net.asked)).toEqual(new Set(['model.test:80']));
});
