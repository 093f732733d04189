/**
 * Fills the code cache that all programs of the tests share, before the first of them runs. What is cached is what the first run of a command
 * has compiled: left to chance, that is one that was refused at once, and thousands of others compile the rest anew.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { story, storyList } from '../domain/stories/stories.ts';
import { BIN, CODE_CACHE } from './ralph.ts';
import { gitEnv, repoAt, writeScript } from './repo.ts';

const BUNDLE = join(BIN, '../main.cjs');
const LOOP = ['loop', 'Work', '--check', 'cat work.txt', '--check', 'grep -q 2 work.txt', '--json'];
/** Several iterations, a red check, protected files, a clean checkout and a commit. */
const RICH = ['--strict', '--protect', 'README.md', '--proof', 'clean'];

export default async function fillCodeCache(): Promise<void> {
  if (!existsSync(BUNDLE) || isFilled()) return;
  const place = mkdtempSync(join(tmpdir(), 'ralph-test-compiled-'));
  try {
    const agent = writeScript(
      join(place, 'agent'),
      `cat > /dev/null\n[ -e work.txt ] && echo 2 >> work.txt || echo 1 > work.txt\necho '<promise>COMPLETE</promise> <response>DONE</response>'`,
    );
    const play = (name: string, ...commands: readonly (readonly string[])[]) =>
      runIn(join(place, name), commands, agent);
    await Promise.all([
      play('loop', [...LOOP, ...RICH, '--max-iterations', '3']),
      play('run', ['run', '-p', 'Work', '-m', '2']),
      play('prd', ['prd', 'run', '-n', '2']),
      // Its loop ends first: what that has written is replaced by the other one.
      play('resume', [...LOOP, '--max-iterations', '1'], ['resume', '--max-iterations', '3']),
    ]);
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** With what was built last, on this version of Node. */
function isFilled(): boolean {
  const built = `${process.version}-${process.arch}-${statSync(BUNDLE).size}-${Math.trunc(statSync(BUNDLE).mtimeMs)}.bin`;
  const names = existsSync(CODE_CACHE) ? readdirSync(CODE_CACHE) : [];
  return ['loop', 'run', 'prd', 'resume'].every(command => names.includes(`${command}@${built}`));
}

/** What they come to is for the tests to say. */
async function runIn(dir: string, commands: readonly (readonly string[])[], agent: string): Promise<void> {
  mkdirSync(dir);
  const project = repoAt(dir);
  project.git('init', '--quiet', '--initial-branch', 'main');
  project.write('README.md', '# test\n');
  project.write('.gitignore', '.ralph/\n');
  project.write('ralph/prd.md', '# Demo\n');
  project.write('ralph/tasks.json', JSON.stringify(storyList(story('US-001', { notes: '' }))));
  project.settings({ guardrails: [{ command: 'true' }], scm: { command: 'git', tasks: ['commit'] } });
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message', 'start');
  const env = { ...gitEnv(), HOME: dir, XDG_STATE_HOME: `${dir}-state`, RALPH_CACHE_DIR: CODE_CACHE };
  for (const args of commands) {
    const more = args[0] === 'resume' ? [] : ['--agent', agent];
    const child = spawn(process.execPath, [BIN, ...args, ...more], { cwd: dir, env, stdio: 'ignore' });
    await new Promise(resolve => child.on('close', resolve));
  }
}
