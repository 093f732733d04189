/** What the version of Node means: too old is said in one sentence, and nothing of Node's reaches a check. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tooOldNode } from '../../src/platform/node-version.ts';
import { srt } from '../../src/sandbox/srt.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const ROOT = join(import.meta.dirname, '../..');
const SENTENCE =
  'Ralph needs Node 20.11 or later, and this is Node 18.20.8: install a newer one from https://nodejs.org.';

test('engines says what is true', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(engines.node).toBe('>=20.11');
  const answers = ['18.20.8', '20.10.0', '20.11.0', '22.0.0', '100.0.0'].map(version =>
    tooOldNode(version) === undefined ? 'yes' : 'no',
  );
  expect(answers).toEqual(['no', 'no', 'yes', 'yes', 'yes']);
});

test.each([
  ['the command line', [join(ROOT, 'dist/bin/ralph.cjs'), 'status'], 2, `${SENTENCE}\n`],
  ['the library', [join(ROOT, 'dist/lib/index.js')], 1, expect.stringContaining(`Error: ${SENTENCE}`)],
])('%s says in one sentence that Node 18 is too old', (_, args, code, stderr) => {
  const older = join(folder().dir, 'older.cjs');
  writeFileSync(older, "Object.defineProperty(process, 'versions', { value: { node: '18.20.8' } });");
  const ended = spawnSync(process.execPath, ['--require', older, ...args], { encoding: 'utf8' });
  expect([ended.status, ended.stdout, ended.stderr]).toEqual([code, '', stderr]);
});

test.each(['--no-sandbox', ...((await hasSrt()) ? ['--sandbox=srt'] : [])])(
  'a check gets no variable of Node’s that the user has not set, and prints no warning (%s)',
  async sandbox => {
    const project = repo();
    const agent = join(folder().dir, 'agent');
    writeFileSync(agent, '#!/bin/sh\ncat >made\necho "<promise>COMPLETE</promise>"\n', { mode: 0o755 });
    const look = `node -e "const names = Object.keys(process.env).filter(name => name.startsWith('NODE_')); fetch('http://127.0.0.1:9/').catch(() => {}); console.log('[' + names + ']'); process.exit(1)"`;
    const args = ['loop', 'x', '--agent', agent, '--check', look, sandbox, '--max-iterations', '1', '--json'];
    const env = { HTTP_PROXY: 'http://127.0.0.1:9', NODE_ENV: 'test' };
    const { stdout } = await ralph(args, { cwd: project.dir, env });
    const [iteration] = JSON.parse(stdout).iterations;
    expect(iteration.checkResults[0].output.trim()).toBe('[NODE_ENV]');
  },
);

async function hasSrt(): Promise<boolean> {
  return (await srt.probe({ cwd: '/', env: process.env, container: { args: [] } })).ok;
}

test('nothing of Ralph’s own prints a warning of Node', () => {
  const out = spawnSync(
    process.execPath,
    ['--throw-deprecation', join(ROOT, 'dist/bin/ralph.cjs'), 'doctor'],
    {
      cwd: repo().dir,
      encoding: 'utf8',
    },
  );
  expect(out.stderr).not.toMatch(/Warning|DEP\d/);
  const imported = ['--throw-deprecation', '--input-type=module', '-e', "import '@ralph-loop/ralph'"];
  expect(execFileSync(process.execPath, imported, { cwd: ROOT, encoding: 'utf8' })).toBe('');
});
