/** Where the words of a prompt come from: a flag or a file, and never both. */
import { describe, expect, test } from 'vitest';
import { isProblem } from '../../../src/domain/text/problem.ts';
import { promptSource, specSource } from '../../../src/run/turns/prompt-source.ts';
import { folder } from '../../rig/repo.ts';

function sourceOf(options: Readonly<Record<string, unknown>>, files: Readonly<Record<string, string>> = {}) {
  const place = folder();
  for (const [name, text] of Object.entries(files)) place.write(name, text);
  const source = promptSource(options, place.dir);
  return { place, source };
}

/** Its text, or what is wrong. */
function read(...given: Parameters<typeof sourceOf>): string {
  const { source } = sourceOf(...given);
  if (isProblem(source)) return `${source.where}: ${source.what}`;
  const text = source.read();
  return isProblem(text) ? `${text.where}: ${text.what}` : text;
}

test.each<[string, Parameters<typeof sourceOf>, string]>([
  ['a flag', [{ prompt: 'Fix it' }], 'Fix it'],
  ['a file', [{ promptFile: 'p.md' }, { 'p.md': 'Fix it\n' }], 'Fix it\n'],
  ['a file in a folder', [{ promptFile: './a/p.md' }, { 'a/p.md': 'Fix it' }], 'Fix it'],
  ['a file with a byte order mark', [{ promptFile: 'p.md' }, { 'p.md': '\uFEFFFix it' }], 'Fix it'],
  [
    'both',
    [{ prompt: 'Fix it', promptFile: 'p.md' }, { 'p.md': 'x' }],
    '--prompt, --prompt-file: only one of the two can be given',
  ],
  ['an empty flag', [{ prompt: ' \n' }], '--prompt: the prompt is empty'],
  ['an empty file', [{ promptFile: 'p.md' }, { 'p.md': ' \n' }], 'prompt file p.md: it is empty'],
  ['no such file', [{ promptFile: 'p.md' }], 'prompt file p.md: it cannot be read: it does not exist'],
])('%s', (_, given, text) => {
  expect(read(...given)).toBe(text);
});

describe('a prompt file', () => {
  test('is read anew each time', () => {
    const { source, place } = sourceOf({ promptFile: 'p.md' }, { 'p.md': 'first' });
    if (isProblem(source)) throw new Error(source.what);
    place.write('p.md', 'second');
    expect(source.read()).toBe('second');
    place.write('p.md', '');
    expect(source.read()).toMatchObject({ what: 'it is empty' });
  });

  test('of a task is called a spec file', () => {
    expect(specSource('spec.md', folder().dir).read()).toMatchObject({ where: 'spec file spec.md' });
  });
});
