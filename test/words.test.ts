/** The words of STYLE's "Plain English" that no reader should have to decode: not in code, comments, documents or exported names. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** What a person may read, on the screen or in the source. Bundles are generated from `src`. */
const READ = [
  ...['src', 'docs', 'templates', 'schema', 'plugins', 'examples', 'scripts', 'bench'],
  ...[
    'README.md',
    'CONTEXT.md',
    'CHANGELOG.md',
    'AGENTS.md',
    'CONTRIBUTING.md',
    'action.yml',
    'package.json',
  ],
];

const FORBIDDEN = new RegExp(
  [
    'mend(s|ed|ing)?',
    '(go|goes|going|gone|went) on', // continue, resume, still running
    'dearer',
    'at work', // running
    '(use|uses|using|used) up',
    '(come|comes|coming|came) to',
    'told', // says, hears, reports
    'settle(s|d|ment)?',
  ]
    .map(words => `\\b${words}\\b`)
    .join('|'),
  'gi',
);

/** Sentences that may use them, word by word; a seed that says one is a reason. */
const EXEMPT: readonly string[] = [
  'a problem has `fix` where it had `mend`',
  'do not settle for a partial one', // a seed
  'agent_settled', // pi's own event
  'settle, validate, sync', // words to avoid
];

/** Files whose words are still to be changed. Empty is the aim; a file that is clean must be taken off. */
const TO_BE_CLEANED: readonly string[] = [];

function filesBelow(path: string): readonly string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
    .map(name => join(path, name))
    .filter(name => /\.(tsx?|mjs|js|sh|css|md|json|toml|txt|ya?ml)$/.test(name));
}

/** A phrase may be broken over two lines of prose or of a comment, or be one name in camel case. */
function found(text: string): readonly string[] {
  const prose = EXEMPT.reduce((rest, sentence) => rest.replaceAll(sentence, ''), text)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .replace(/\s*\n\s*(?:\/\/+|\*+(?!\/)|#|>)?\s*/g, ' ');
  return prose.match(FORBIDDEN) ?? [];
}

const offending = READ.flatMap(filesBelow)
  .map(file => ({ file, words: found(readFileSync(join(ROOT, file), 'utf8')) }))
  .filter(({ words }) => words.length > 0);

test('no text or name uses the words that plain English replaces', () => {
  expect(offending.filter(({ file }) => !TO_BE_CLEANED.includes(file))).toEqual([]);
});

test('a file that is clean is not listed as to be cleaned', () => {
  const dirty = offending.map(({ file }) => file);
  expect(TO_BE_CLEANED.filter(file => !dirty.includes(file))).toEqual([]);
});

test.each([
  ['2 things to mend', 1],
  ['the run goes\n * on, and was going on', 2],
  ['const DEARER = isUsedUp(cameTo)', 3],
  ['recommended amendments cost more; go once; at workspace', 0],
])('%j holds %i of them', (text, count) => {
  expect(found(text)).toHaveLength(count);
});
