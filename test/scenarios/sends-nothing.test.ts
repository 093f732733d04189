/** Ralph sends nothing: no command opens a socket to anywhere that it was not asked to. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { speaks } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { receiver } from '../rig/otlp.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

/** Loaded into every Node program that is started: writes down each name that is looked up and each address that is called. */
const WATCH = `
const { appendFileSync } = require('node:fs');
const CALLS = new Set(['TCPCONNECTWRAP', 'UDPSENDWRAP', 'GETADDRINFOREQWRAP', 'GETNAMEINFOREQWRAP', 'QUERYWRAP']);
require('node:async_hooks').createHook({
  init(id, type) { if (CALLS.has(type)) appendFileSync(process.env.RALPH_TEST_CALLS, type + ' ' + process.argv.slice(1, 4).join(' ') + '\\n'); },
}).enable();
`;

async function watched() {
  const place = folder();
  place.write('watch.cjs', WATCH);
  const calls = place.path('calls');
  const project = repo({ 'a.txt': 'a\n', 'test/a.test.js': 'x\n' });
  project.settings({ scm: { command: 'git', tasks: ['commit'] } });
  let turns = 0;
  const works: Handler = async turn => {
    await turn.write('made.txt', `made ${turns++}\n`);
    return speaks('<promise>COMPLETE</promise>')(turn);
  };
  const agent = await fakeAgent('claude', ...Array.from({ length: 12 }, () => works));
  const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    ralph(args, {
      cwd: project.dir,
      path: [agent.bin],
      env: { NODE_OPTIONS: `--require "${place.path('watch.cjs')}"`, RALPH_TEST_CALLS: calls, ...more },
    });
  const called = () => (existsSync(calls) ? readFileSync(calls, 'utf8') : '');
  return { project, run, called };
}

const WORK = ['--agent', 'claude', '--check', 'test -e made.txt', '--quiet'];

test('whatever the command', { tags: 'P-sends-nothing' }, async () => {
  const { project, run, called } = await watched();
  const commands = [
    ['loop', 'Make it', ...WORK],
    ['loop', 'Make it again', ...WORK, '--worktree=w', '--proof', 'clean'],
    ['run', '-p', 'Make it. Say <promise>COMPLETE</promise> when it is made.', ...WORK, '-m', '2'],
    ...[['status'], ['explain'], ['show'], ['log'], ['report', '-o', 'run.html'], ['land'], ['doctor']],
    ...[['init', '--yes'], ['simulate'], ['prune', '--keep', '1'], ['support'], ['uninstall', '--dry-run']],
    ...[['plugin', 'check', 'claude'], ['--version'], ['--help'], ['completion', 'bash']],
  ];
  for (const command of commands) {
    const { code, stderr } = await run(command);
    // Some find something to complain about; none fails for want of a network.
    expect(stderr).not.toContain('a bug in Ralph');
    expect(code, `${command.join(' ')}: ${stderr}`).toBeLessThan(3);
    expect(called(), command.join(' ')).toBe('');
  }
  expect(project.git('log', '--oneline').trim().split('\n').length).toBeGreaterThan(1);
});

test('what it was asked to send is seen by the same look', async () => {
  const { run, called } = await watched();
  const collector = await receiver();
  const { code, stderr } = await run(['loop', 'Make it', ...WORK], {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  expect(code, stderr).toBe(0);
  expect(called()).toContain('TCPCONNECTWRAP');
});
