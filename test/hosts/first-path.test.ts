/** The README's first path with the real Claude Code: from an empty home, with what `ralph init` proposes, to Done. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hostSession } from '../rig/hosts/session.ts';
import type { Step } from '../rig/model-server/script.ts';
import { startRalph } from '../rig/ralph.ts';

const ADDS = 'exports.add = (a, b) => a + b;\n';
const FILES = {
  'package.json': '{ "private": true, "scripts": { "test": "node test.js" } }',
  'add.js': 'exports.add = (a, b) => a - b;\n',
  'test.js': "require('node:assert').equal(require('./add.js').add(1, 2), 3);\n",
};

/** What the README calls PROMPT.md. */
function readmePrompt(): string {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  return /```text\n([\s\S]*?<promise>COMPLETE<\/promise>[\s\S]*?)```/.exec(readme)?.[1] ?? '';
}

async function project(steps: (repo: string) => readonly Step[]) {
  const session = await hostSession('claude', ({ repo }) => ({ steps: steps(repo) }));
  onTestFinished(() => session.close());
  const { repo, env } = session.place;
  for (const [file, content] of Object.entries(FILES)) writeFileSync(join(repo, file), content);
  writeFileSync(join(repo, 'PROMPT.md'), readmePrompt());
  const ralph = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const done = await startRalph(args, { cwd: repo, env: { ...env, ...session.env, ...more } }).finished;
    return { ...done, said: `${done.stdout}\n${done.stderr}`.replace(/\s+/g, ' ') };
  };
  const init = await ralph(['init', '--yes']);
  expect(init.code, init.said).toBe(0);
  return { ralph, repo, requests: () => session.server.requests.filter(({ kind }) => kind === 'step') };
}

const writes = (repo: string): Step => ({
  tools: [
    { name: 'Read', input: { file_path: join(repo, 'add.js') } },
    { name: 'Write', input: { file_path: join(repo, 'add.js'), content: ADDS } },
  ],
});

test('it ends with Done, and says once what the agent may do', async () => {
  const { ralph, repo } = await project(place => [
    { tools: [{ name: 'Read', input: { file_path: join(place, 'add.js') } }] },
    writes(place),
    { text: 'It adds now. <promise>COMPLETE</promise>' },
  ]);
  const { code, said } = await ralph(['run', '-f', 'PROMPT.md']);
  expect(code, said).toBe(0);
  expect(readFileSync(join(repo, 'add.js'), 'utf8')).toBe(ADDS);
  expect(said).toContain('Done: the agent says so and every check passes.');
  expect(said.split('The agent may do everything without asking')).toHaveLength(2);
});

test('with its permissions left to itself it is stopped after two turns, and told why', async () => {
  const turn = (place: string): Step[] => [
    { tools: [{ name: 'Read', input: { file_path: join(place, 'add.js') } }] },
    { tools: [{ name: 'Write', input: { file_path: join(place, 'add.js'), content: ADDS } }] },
    { text: 'I am not permitted to.' },
  ];
  const { ralph, requests } = await project(place => [...turn(place), ...turn(place), ...turn(place)]);
  const { code, said } = await ralph(['run', '-f', 'PROMPT.md', '--permissions', 'host']);
  expect(code, said).toBe(1);
  expect(requests()).toHaveLength(6);
  expect(said).toContain('Stopped: the agent is not permitted to do its work.');
  expect(said).toContain("the agent's own permissions refused its calls of Write");
  expect(said).toContain('--permissions skip');
  const explained = await ralph(['explain']);
  expect(explained.said).toContain('permission_denied');
  expect(explained.said).not.toContain('max-iterations');
});

test.runIf(process.getuid?.() === 0)('as root it is said before the first turn what to do', async () => {
  const { ralph, requests } = await project(() => [{ text: 'never asked' }]);
  const { code, said } = await ralph(['run', '-f', 'PROMPT.md'], { IS_SANDBOX: '' });
  expect([code, requests().length]).toEqual([1, 0]);
  const told = said.indexOf('set IS_SANDBOX=1 if this machine is a sandbox, or give --permissions host');
  expect(told).toBeGreaterThan(-1);
  expect(told).toBeLessThan(said.indexOf('cannot be used with root/sudo privileges'));
});
