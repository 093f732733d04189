/** Runs that have ended, each with an agent that is a shell script. */
import { expect } from 'vitest';
import { ralph } from './commands.ts';
import { type Repo, scriptedAgent } from './repo.ts';

export function agentOf(script: string): string {
  return scriptedAgent(`${script}\necho "<promise>COMPLETE</promise>"\necho "<response>DONE</response>"`);
}

export interface Work {
  readonly script?: string;
  readonly check?: string;
  readonly args?: readonly string[];
}

const NEW = 'echo new > new.txt';

/** `ralph loop`, done; with `--worktree login` unless told. Returns what it printed. */
export async function loopEnded(work: Repo, { script = NEW, check = 'test -f new.txt', args }: Work = {}) {
  const where = args ?? ['--worktree', 'login'];
  const words = [
    'loop',
    'Make it new',
    '--max-iterations',
    '2',
    '--agent',
    agentOf(script),
    '--check',
    check,
  ];
  const { code, stdout, stderr } = await ralph([...words, ...where], { cwd: work.dir });
  expect(code, stdout + stderr).toBe(0);
  return stdout;
}

/** Everything that a refusal must leave as it is. */
export function everything(work: Repo) {
  return {
    refs: work.git('for-each-ref', '--format=%(refname) %(objectname)'),
    head: work.git('rev-parse', '--symbolic-full-name', 'HEAD'),
    index: work.git('ls-files', '--stage'),
    status: work.git('status', '--porcelain=v1', '--untracked-files=all'),
    diff: work.git('diff', 'HEAD'),
    worktrees: work.git('worktree', 'list', '--porcelain'),
  };
}
