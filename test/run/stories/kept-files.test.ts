/** The files around the list: what the agent breaks, deletes or makes a link of is there again. */
import { symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { story } from '../../domain/stories/stories.ts';
import { handIn } from '../../rig/stories.ts';
import { FAIR, keeping } from './world.ts';

describe('a turn', () => {
  test.each<[string, (world: ReturnType<typeof keeping>) => void, string]>([
    [
      'deletes the list',
      world => world.removeFile('ralph/tasks.json'),
      'tasks.json cannot be read any more.',
    ],
    [
      'breaks the list',
      world => world.place.write('ralph/tasks.json', '{"a":'),
      'tasks.json cannot be read any more.',
    ],
    [
      'empties the list',
      world => world.place.write('ralph/tasks.json', '[]'),
      'tasks.json is no story list any more.',
    ],
  ])('that %s finds it again in the next turn', (_, spoil, what) => {
    const world = keeping([story('US-001'), story('US-002')]);
    world.keeper.begin();
    spoil(world);
    const { violations } = world.keeper.applyTurn(1, FAIR);
    expect(violations).toEqual([{ what, restored: true, isSentence: true }]);
    expect(world.onDisk('US-002')).toMatchObject({ title: 'Title of US-002' });
  });

  test('that makes a link of the folder of the list is not read through it, and nothing is written through it', () => {
    const world = keeping([story('US-001')]);
    world.keeper.begin();
    world.leaves(handIn());
    const elsewhere = world.place.read('ralph/tasks.json');
    world.place.write('elsewhere/tasks.json', elsewhere);
    world.removeFile('ralph');
    symlinkSync(world.place.path('elsewhere'), world.place.path('ralph'));
    const { violations } = world.keeper.applyTurn(1, FAIR);
    expect(violations[0]).toMatchObject({ what: 'tasks.json cannot be read any more.', restored: true });
    expect(world.onDisk('US-001')?.reviewStatus).toBeNull();
    expect(world.place.read('elsewhere/tasks.json')).toBe(elsewhere);
  });
});

describe('what is not the agent’s', () => {
  test.each<[string, string, string]>([
    ['ralph/prd.md', '# Something easier\n', 'ralph/prd.md was changed'],
    ['.ralph-active', '{}', ".ralph-active was changed; it is Ralph's own"],
  ])('%s is told', (file, text, what) => {
    const world = keeping([story('US-001')]);
    world.keeper.begin();
    world.place.write(file, text);
    const { violations } = world.keeper.applyTurn(1, FAIR);
    expect(violations).toEqual([
      expect.objectContaining({ what: expect.stringContaining(what), restored: true }),
    ]);
  });

  test('a document that was changed or deleted is put back', () => {
    const world = keeping([story('US-001')]);
    world.keeper.begin();
    world.removeFile('ralph/prd.md');
    world.keeper.applyTurn(1, FAIR);
    expect(world.place.read('ralph/prd.md')).toBe('# Demo\n');
  });

  test.each<[string, string, boolean]>([
    ['an entry is added', '# Log\n\n---\n- first\n- second\n', true],
    ['the top is edited', '# Log\n## Patterns\n- use tabs\n\n---\n- first\n', true],
    ['blanks change', '# Log\n---\n\n-  first\n', true],
    ['an entry is lost', '# Log\n\n---\n- second\n', false],
    ['all is lost', '', false],
  ])('the log is only added to: %s', (_, text, isFine) => {
    const world = keeping([story('US-001')]);
    world.place.write('ralph/progress.txt', '# Log\n\n---\n- first\n');
    world.keeper.acceptUserEdits();
    world.keeper.begin();
    world.place.write('ralph/progress.txt', text);
    const { violations } = world.keeper.applyTurn(1, FAIR);
    expect(violations.map(({ what }) => what)).toEqual(
      isFine ? [] : [expect.stringContaining('progress.txt')],
    );
    expect(world.place.read('ralph/progress.txt')).toBe(isFine ? text : '# Log\n\n---\n- first\n');
  });
});
