/** `ralph land` is killed at each of its steps: called again, it finishes, and nothing of the user's is lost. */
import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loopEnded } from '../rig/ended-run.ts';
import { createGate } from '../rig/gate.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { type HeldGit, holdGit } from './hold-git.ts';

const STEPS: readonly HeldGit[] = [
  { git: 'merge-tree', when: 'after' },
  { git: 'read-tree -m -u', when: 'before' },
  { git: 'read-tree -m -u', when: 'after' },
  { git: 'update-ref -m', when: 'after' },
  { git: 'update-index -z --index-info', when: 'before' },
  { git: 'worktree remove', when: 'before' },
];

test.each(STEPS)('SIGKILL $when git $git', async moment => {
  const work = repo({ 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': '.ralph/\n' });
  await loopEnded(work, { script: 'echo new > new.txt; echo theirs > a.txt' });
  work.git('commit', '--quiet', '--allow-empty', '--message', 'meanwhile');
  work.write('b.txt', 'mine\n');
  const bin = folder('ralph git ').path('bin');
  mkdirSync(bin);
  const before = work.git('rev-parse', 'main');
  const { open: reached, opened: isThere } = createGate();
  const held = holdGit({ bin, project: work }, moment, reached);
  const land = startRalph(['land'], { cwd: work.dir, path: [bin] });
  await Promise.race([isThere, land.finished]);
  land.process.kill('SIGKILL');
  expect((await land.finished).signal, 'git came by there').toBe('SIGKILL');
  held.release();
  const tip = work.git('rev-parse', 'main');
  expect(tip === before || work.git('show', 'main:new.txt') === 'new\n').toBe(true);
  await expect
    .poll(async () => (await ralph(['land'], { cwd: work.dir })).code, { timeout: 240_000 })
    .toBe(0);
  expect(work.git('show', 'main:a.txt') + work.git('show', 'main:new.txt')).toBe('theirs\nnew\n');
  expect(work.git('status', '--porcelain')).toBe(' M b.txt\n');
  expect([work.read('a.txt'), work.read('b.txt')]).toEqual(['theirs\n', 'mine\n']);
  expect(work.git('branch', '--format=%(refname:short)')).toBe('main\n');
});
