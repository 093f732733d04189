/** Tries a way to work: it works, or it is refused before anything is spent; and nothing is lost. */
import { expect } from 'vitest';
import type { RalphOptions } from '../rig/ralph.ts';
import type { Repo } from '../rig/repo.ts';
import { contents, type Kind, outcomeOf, type Way } from './kinds.ts';
import { loop, WRITES } from './rig.ts';

const FLAGS: Readonly<Record<Way, readonly string[]>> = {
  'in place': ['Add one'],
  '--worktree': ['Add one', '--worktree=w'],
  '--proof clean': ['Add one', '--proof', 'clean'],
  '--parallel': ['--tasks', 'tasks.md', '--parallel', '2'],
};

/** What is the user's in it: files, index, and what git says of them. */
function state(project: Repo) {
  const ask = (...args: string[]) => {
    try {
      return project.git(...args, '--', ':!made-*', ':!tasks.md', ':!.ralph');
    } catch {
      return 'refused';
    }
  };
  return {
    files: contents(project.dir),
    index: ask('ls-files', '--stage', '-v'),
    status: ask('status', '--porcelain'),
  };
}

export interface Trial extends Pick<Kind, 'outcome' | 'flags'> {
  /** How Ralph is started. */
  readonly options?: Partial<RalphOptions>;
  /** What the agent does before its work. */
  readonly script?: string | undefined;
  /** Just before Ralph is started, and when it has ended. */
  begin?(): void;
  end?(): void;
}

export async function tryWay(project: Repo, way: Way, trial: Trial): Promise<void> {
  project.settings({ scm: { command: 'git', tasks: ['commit'] } });
  const before = state(project);
  const flags = [...FLAGS[way], ...(trial.flags ?? []), '--max-iterations', '6'];
  const script = [trial.script ?? ':', WRITES].join('; ');
  trial.begin?.();
  const { code, said, stdout, turns } = await loop(project, script, flags, trial.options);
  trial.end?.();
  const outcome = outcomeOf(trial, way);
  if (outcome === 'works') {
    expect(code, said + stdout.slice(-2000)).toBe(0);
    expect(stdout).toContain('"success":true');
  } else {
    expect(said).toContain(outcome);
    expect([code, turns]).toEqual([2, []]);
  }
  expect(state(project)).toEqual(before);
}
