/** A lane that others can reach: what they write between its turns is undone, kept and said; what Ralph wrote itself stays. */
import { expect, test } from 'vitest';
import { baseSteps } from '../../../src/run/turns/base-steps.ts';
import { createProver } from '../../../src/run/turns/prover.ts';
import { createTreeWatch } from '../../../src/workspace/tree-watch.ts';
import { repo } from '../../rig/repo.ts';
import { functionAgent, turnWorld } from './world.ts';

function lane(isExposed = true) {
  const work = repo({ 'a.txt': 'a\n', 'list/tasks': 'open\n' });
  const { parts, notices } = turnWorld({ agents: [functionAgent('one', async () => 'done')] });
  const context = { ...parts, cwd: work.dir, env: { PATH: process.env.PATH }, isExposed };
  const tree = createTreeWatch(context);
  const prover = createProver(context, { commands: [], checks: () => [] });
  const steps = baseSteps(context, { tree, prover, userChars: () => 0, apart: 'list' });
  return { work, steps, notices, tree };
}

test('what was written since the last look is put back, kept and said, and the next look sees nothing of it', async () => {
  const { work, steps, notices, tree } = lane();
  work.write('own.txt', 'own\n');
  await steps.look();
  work.write('a.txt', 'theirs\n');
  work.write('new.txt', 'theirs\n');
  work.write('list/tasks', 'done\n');
  await steps.undoOthers?.();
  expect([work.read('a.txt'), work.read('own.txt'), work.read('list/tasks')]).toEqual([
    'a\n',
    'own\n',
    'done\n',
  ]);
  expect(work.git('status', '--porcelain', 'new.txt')).toBe('');
  expect(notices()).toEqual([
    expect.stringContaining('while none of its turns ran: a.txt, new.txt. It is as it was before'),
  ]);
  const [ref = ''] = work
    .git('for-each-ref', '--format=%(refname)', 'refs/ralph/kept/r1/_others')
    .split('\n');
  expect(work.git('show', `${ref}:a.txt`)).toBe('theirs\n');
  expect(work.git('show', `${ref}:new.txt`)).toBe('theirs\n');
  const seen = tree.checked();
  await steps.look();
  expect(tree.checked()).not.toBe(seen); // the list is not theirs
});

test('nothing is looked at before the first look, nor said where nothing has changed', async () => {
  const { work, steps, notices } = lane();
  work.write('a.txt', 'mine\n');
  await steps.undoOthers?.();
  await steps.look();
  await steps.undoOthers?.();
  expect([work.read('a.txt'), notices()]).toEqual(['mine\n', []]);
});

test('a run that nobody reaches looks no more often than before', () => {
  expect(lane(false).steps.undoOthers).toBeUndefined();
});
