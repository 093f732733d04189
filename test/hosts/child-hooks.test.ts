/** Hooks for one process in the real CLIs: they act once, the user's own still run, and nothing of his is changed. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findAdapter } from '../../src/agents/registry.ts';
import { hostCommand } from '../rig/hosts/host.ts';
import { runHost } from '../rig/hosts/run.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';

/** Writes down that it was called, and refuses a tool when it is the run's. */
const RECORDER = `
const fs = require('node:fs');
const [, , log, who, ...words] = process.argv;
const input = JSON.parse(fs.readFileSync(0, 'utf8'));
fs.appendFileSync(log, who + ' ' + words.slice(1).join(' ') + '\\n');
const reason = 'THE RUN SAYS NO';
const output = { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason };
if (who === 'run' && input.hook_event_name === 'PreToolUse') console.log(JSON.stringify({ hookSpecificOutput: output }));
`;

/** Where the user keeps hooks of his own. Copilot reads a file beside its settings. */
const USERS: Readonly<Record<string, string>> = {
  claude: '.claude/settings.json',
  qwen: '.qwen/settings.json',
  copilot: '.copilot/hooks/mine.json',
  codex: '.codex/hooks.json',
};

function usersHooks({ place, host }: HostSession, command: string): string | undefined {
  const name = USERS[host.name];
  if (name === undefined) return undefined;
  const path = join(place.home, name);
  const before = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  const hooks = { PreToolUse: [{ hooks: [{ type: 'command', command, timeout: 20 }] }] };
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ ...before, ...(host.name !== 'codex' && { version: 1 }), hooks }));
  if (host.name === 'codex') trust(place.home, path, command);
  return path;
}

/** What Codex writes when its user trusts a hook of his. */
function trust(home: string, path: string, command: string): void {
  const handler = { async: false, command, timeout: 20, type: 'command' };
  const identity = JSON.stringify({ event_name: 'pre_tool_use', hooks: [handler] });
  const hash = createHash('sha256').update(identity).digest('hex');
  const table = `[hooks.state."${path}:pre_tool_use:0:0"]\ntrusted_hash = "sha256:${hash}"\n`;
  writeFileSync(join(home, '.codex/config.toml'), table);
}

test.each(['claude', 'codex', 'qwen', 'copilot'] as const)(
  '%s: a hook of the run refuses a tool, once, and the stop is told, beside the hooks of the user',
  async name => {
    const session = await hostSession(name, {
      steps: [{ tools: [{ do: 'shell', command: 'echo hi > made.txt' }] }, { text: 'I see.' }],
    });
    onTestFinished(() => session.close());
    const { place, env } = session;
    const recorder = join(place.root, 'rec order.cjs');
    const log = join(place.root, 'calls.log');
    writeFileSync(recorder, RECORDER);
    const path = usersHooks(session, `node '${recorder}' '${log}' user`);
    const settings = path && readFileSync(path, 'utf8');

    const invocation = findAdapter(name).invocation({
      command: hostCommand(name),
      flags: session.flags,
      mode: 'stream',
      permissions: 'skip',
      scratch: join(place.root, 'scratch'),
      hooks: { points: ['before-tool', 'stop'], program: [process.execPath, recorder, log, 'run'] },
    });
    for (const [file, content] of Object.entries(invocation.folder?.files ?? {})) {
      const target = join(invocation.folder?.path ?? '', file);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, content);
    }
    await runHost(invocation.argv, { place, env: { ...env, ...invocation.env }, stdin: 'Do it' });

    expect(existsSync(join(place.repo, 'made.txt'))).toBe(false);
    const last = session.server.requests.findLast(request => request.kind === 'step');
    expect(last?.body).toContain('THE RUN SAYS NO');
    const calls = readFileSync(log, 'utf8').trimEnd().split('\n').sort();
    expect(calls).toEqual(['run PreToolUse run', 'run Stop run', ...(path ? ['user '] : [])]);
    // Qwen Code itself adds the number of its format.
    if (path) expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject(JSON.parse(settings ?? ''));
    expect(readdirSync(place.repo).filter(file => file.startsWith('.'))).toEqual(['.git']);
  },
);

test('claude: a hook of the run that dies without an answer refuses the tool', async () => {
  const session = await hostSession('claude', {
    steps: [{ tools: [{ do: 'shell', command: 'echo hi > made.txt' }] }, { text: 'I see.' }],
  });
  onTestFinished(() => session.close());
  const { place, env } = session;
  const invocation = findAdapter('claude').invocation({
    command: hostCommand('claude'),
    flags: session.flags,
    mode: 'stream',
    permissions: 'skip',
    scratch: join(place.root, 'scratch'),
    hooks: { points: ['before-tool'], program: ['sh', '-c', 'exit 3'] },
  });
  for (const [file, content] of Object.entries(invocation.folder?.files ?? {})) {
    const target = join(invocation.folder?.path ?? '', file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }
  await runHost(invocation.argv, { place, env: { ...env, ...invocation.env }, stdin: 'Do it' });
  expect(existsSync(join(place.repo, 'made.txt'))).toBe(false);
});
