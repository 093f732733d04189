/** `--plain`: for somebody who hears the screen. Lines come once, in order, without colours, pictures or anything that is drawn again. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { joinWords } from '../../src/platform/shell.ts';
import { speaks } from '../rig/claude-stream.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const run = promisify(execFile);
const PICTURE = /\p{Extended_Pictographic}/u;

/** In a terminal of its own, with every byte that is sent to it. */
async function shown(...flags: readonly string[]): Promise<string> {
  const project = repo({ 'a.txt': 'a\n' });
  const agent = await fakeAgent('claude', async turn => {
    await turn.write('made.txt', 'made\n');
    return speaks('<promise>COMPLETE</promise>')(turn);
  });
  const words = [
    process.execPath,
    BIN,
    'loop',
    'Make it',
    '--agent',
    'claude',
    '--check',
    'test -e made.txt',
  ];
  const { stdout } = await run('script', ['-qec', joinWords([...words, ...flags]), '/dev/null'], {
    cwd: project.dir,
    env: { ...testEnv({ path: [agent.bin] }), TERM: 'xterm-256color' },
  });
  return stdout;
}

test('nothing is drawn again', { tags: 'P-plain' }, async () => {
  const text = await shown('--plain');
  expect(text).toContain('Done');
  expect(text).not.toContain('\x1b');
  expect(text.replaceAll('\r\n', '\n')).not.toContain('\r');
  expect(text).not.toMatch(PICTURE);
});

test('without it a terminal gets colours and a line that changes', async () => {
  const text = await shown();
  expect(text).toContain('\x1b');
  expect(text).toMatch(PICTURE);
});
