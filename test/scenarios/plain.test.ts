/** `--plain`: for somebody who hears the screen. Lines come once, in order, without colours, pictures or anything that is drawn again. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { joinWords } from '../../src/platform/shell.ts';
import { speaks } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const run = promisify(execFile);
const PICTURE = /\p{Extended_Pictographic}/u;

const LOOP = ['loop', 'Make it'];

/** In a terminal of its own, with every byte that is sent to it. */
async function shown(command: readonly string[], ...flags: readonly string[]): Promise<string> {
  const project = repo({ 'a.txt': 'a\n', 'tasks.md': '- [ ] one\n- [ ] two\n' });
  let turns = 0;
  const works: Handler = async turn => {
    await turn.write(`made-${turns++}.txt`, 'made\n');
    return speaks('<promise>COMPLETE</promise>')(turn);
  };
  const agent = await fakeAgent('claude', works, works);
  const own = ['--agent', 'claude', '--check', 'ls made-*.txt'];
  const words = [process.execPath, BIN, ...command, ...own];
  const { stdout } = await run('script', ['-qec', joinWords([...words, ...flags]), '/dev/null'], {
    cwd: project.dir,
    env: { ...testEnv({ path: [agent.bin] }), TERM: 'xterm-256color' },
  });
  return stdout;
}

test.each([
  [LOOP],
  [['run', '-p', 'Make it. Say <promise>COMPLETE</promise>.']],
  [['loop', '--tasks', 'tasks.md', '--parallel', '2']],
])('nothing is drawn again: %j', { tags: 'P-plain' }, async command => {
  const text = await shown(command, '--plain');
  expect(text).toContain('Done');
  expect(text).not.toContain('\x1b');
  expect(text.replaceAll('\r\n', '\n')).not.toContain('\r');
  expect(text).not.toMatch(PICTURE);
});

test('without it a terminal gets colours and a line that changes', async () => {
  const text = await shown(LOOP);
  expect(text).toContain('\x1b');
  expect(text).toMatch(PICTURE);
});
