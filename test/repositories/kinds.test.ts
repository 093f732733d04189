/** Each kind of repository, worked in each way: it works, or it is refused before anything is spent; and nothing is lost. */
import { describe, expect, test } from 'vitest';
import type { Repo } from '../rig/repo.ts';
import { contents, KINDS, outcomeOf, WAYS, type Way } from './kinds.ts';
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

describe.for(Object.entries(KINDS))('%s', ([, kind]) => {
  test.for(WAYS)('%s', async (way, { skip }) => {
    const impossible = kind.impossible?.();
    if (impossible !== undefined) return skip(impossible);
    const project = kind.make();
    project.settings({ scm: { command: 'git', tasks: ['commit'] } });
    const before = state(project);
    const check = ['ls made-*', ...(kind.check ? [kind.check] : [])].join(' && ');
    const flags = [...FLAGS[way], ...(kind.flags ?? []), '--check', check, '--max-iterations', '6'];
    const { code, said, stdout, turns } = await loop(project, WRITES, flags);
    const outcome = outcomeOf(kind, way);
    if (outcome === 'works') {
      expect(code, said + stdout.slice(-2000)).toBe(0);
      expect(stdout).toContain('"success":true');
    } else {
      expect(said).toContain(outcome);
      expect([code, turns]).toEqual([2, []]);
    }
    expect(state(project)).toEqual(before);
  });
});
