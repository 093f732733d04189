/** What a later Ralph has written is refused in one sentence that says what to do, and stays as it is. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listRuns, openRun } from '../../src/index.ts';
import { BIN, ralph } from '../rig/ralph.ts';
import { writeLedger } from '../rig/recorded-run.ts';
import { folder } from '../rig/repo.ts';
import { placeRun, RELEASES } from './formats.ts';

const [RELEASE = ''] = RELEASES;
const KNOWN =
  'has version 2 of the format, and this Ralph knows version 1 (update Ralph: npm install -g @ralph-loop/ralph)';

test('the ledger of a run', { tags: ['promise', 'P-formats-later'] }, async () => {
  const { id, dir: cwd, env, events } = placeRun(RELEASE);
  const [first, ...rest] = readFileSync(events, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(first.format).toBe(1);
  writeLedger(events, [{ ...first, format: 2 }, ...rest]);
  const before = readFileSync(events, 'utf8');
  const orders = [
    ['log'],
    ['show'],
    ['explain'],
    ['report'],
    ['replay'],
    ['resume', id],
    ['land'],
    ['discard'],
  ];
  for (const args of [...orders, ['fork', id, '--at', '1'], ['pr', id], ['status', id]]) {
    const { code, stderr } = await ralph(args, { cwd, env });
    expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(`ralph: ${id}: ${KNOWN}\n`)]);
  }
  await expect(openRun(cwd, id, { env })).rejects.toThrow('update Ralph');
  const listed = await ralph(['status', '--json'], { cwd, env });
  expect([listed.code, JSON.parse(listed.stdout).runs]).toMatchObject([0, [{ id, state: 'unverified' }]]);
  expect(readFileSync(events, 'utf8')).toBe(before);
});

test('the state folder', { tags: ['promise', 'P-formats-later'] }, async () => {
  const { dir: cwd, env, id } = placeRun(RELEASE);
  const state = folder();
  const later = { ...env, XDG_STATE_HOME: state.dir };
  state.write('ralph/format', '2\n');
  state.write('ralph/anything', 'of a later Ralph');
  const agent = ['--agent', 'cat'];
  const orders = [['status'], ['log', id], ['doctor'], ['prune', '--keep', '0'], ['uninstall', '--all']];
  for (const args of [
    ...orders,
    ['run', '-p', 'x', ...agent],
    ['loop', 'x', ...agent],
    ['demo'],
    ['session', 'status'],
  ]) {
    const { code, stderr } = await ralph(args, { cwd, env: later });
    expect([args, code, stderr]).toEqual([args, 2, `ralph: ${state.path('ralph')}: ${KNOWN}\n`]);
  }
  await expect(listRuns(cwd, { env: later })).rejects.toThrow('update Ralph');
  expect(readdirSync(state.path('ralph')).sort()).toEqual(['anything', 'format']);
  expect((await ralph(['status', '--help'], { cwd, env: later })).code).toBe(0);
});

test('a hook lets the agent pass, and says why', async () => {
  const { dir: cwd, env } = placeRun(RELEASE);
  const input = {
    session_id: 's1',
    prompt_id: 'p1',
    cwd,
    hook_event_name: 'Stop',
    last_assistant_message: 'x',
  };
  const options = { cwd, bin: BIN, input: JSON.stringify(input) };
  const state = folder();
  state.write('ralph/format', '2\n');
  const more = { ...env, CLAUDE_PROJECT_DIR: cwd, XDG_STATE_HOME: state.dir };
  const { code, stdout } = await ralph(['hook', 'claude', 'Stop'], { ...options, env: more });
  expect([code, JSON.parse(stdout).systemMessage]).toEqual([0, expect.stringContaining('update Ralph')]);
});
