/** `ralph support`: one file for a bug report, with nothing in it that is nobody's business. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { speaks } from '../rig/claude-stream.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const TASK = 'Make the login of the secret customer Umbrella work again';
const KEY = 'sk-ant-abcdefghijklmnopqrstuvwxyz012345';
const SAID = `I have found the key ${KEY} of customer Umbrella.\n<promise>COMPLETE</promise>`;

async function afterRun() {
  const project = repo({ 'a.txt': 'a\n' });
  // Settings are read again when the file is made: nothing has looked for secrets in them before.
  project.settings({ guardrails: [{ command: `test ${KEY} != x` }] });
  const agent = await fakeAgent('claude', async turn => {
    await turn.write('made.txt', 'made\n');
    return speaks(SAID)(turn);
  });
  const run = (...args: readonly string[]) => ralph(args, { cwd: project.dir, path: [agent.bin] });
  const { code, stderr } = await run(
    'loop',
    TASK,
    '--agent',
    'claude',
    '--check',
    'test -e made.txt',
    '--quiet',
  );
  expect(code, stderr).toBe(0);
  const unpacked = (file: string, name: string) =>
    execFileSync('tar', ['-xzf', project.path(file), '-O', name], { encoding: 'utf8' });
  return { project, run, unpacked };
}

test('holds what happened, and neither words nor secrets', { tags: ['promise', 'P-support'] }, async () => {
  const { project, run, unpacked } = await afterRun();
  const dry = await run('support', '--dry-run');
  expect(dry.code, dry.stderr).toBe(0);
  expect(dry.stdout).toContain('events.jsonl');
  expect(existsSync(project.path('ralph-support.tar.gz'))).toBe(false);
  const written = await run('support');
  expect(written.code, written.stderr).toBe(0);
  // What is in it is said before it is written.
  expect(written.stdout.indexOf('events.jsonl')).toBeLessThan(written.stdout.indexOf('Written:'));
  const all = ['versions.json', 'doctor.json', 'settings.json', 'run.json', 'events.jsonl']
    .map(name => unpacked('ralph-support.tar.gz', name))
    .join('');
  expect(all).not.toContain('Umbrella');
  expect(all).not.toContain(KEY);
  expect(all).toContain('run-ended');
  expect(all).toContain(process.version);
  const twice = await run('support');
  expect(twice.code).toBe(2);
  expect(twice.stderr).toContain('-o');
});

test('with --words also what was said, still without secrets', async () => {
  const { project, run, unpacked } = await afterRun();
  expect((await run('support', '--words', '-o', 'all.tar.gz')).code).toBe(0);
  const events = unpacked('all.tar.gz', 'events.jsonl');
  expect(events).toContain('Umbrella');
  expect(events).not.toContain(KEY);
  const settings = unpacked('all.tar.gz', 'settings.json');
  expect(settings).toContain('!= x');
  expect(settings).not.toContain(KEY);
  expect(readFileSync(project.path('all.tar.gz')).length).toBeGreaterThan(100);
});

test('outside of any run it tells of the machine', async () => {
  const project = repo();
  const { code, stdout } = await ralph(['support', '--dry-run', '--json'], { cwd: project.dir });
  expect(code).toBe(0);
  expect(JSON.parse(stdout).parts.map(({ name }: { name: string }) => name)).toEqual([
    'versions.json',
    'doctor.json',
    'settings.json',
  ]);
  const missing = await ralph(['support', 'no-such-run'], { cwd: project.dir });
  expect(missing.code).toBe(2);
});
