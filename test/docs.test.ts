/** The documents: every link leads somewhere, every decision has a status and a number of its own. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const pages = [
  ...['README.md', 'CONTEXT.md', 'CHANGELOG.md', 'AGENTS.md', 'CONTRIBUTING.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
];
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');

/** As GitHub makes them of headings. */
function anchorsOf(page: string): readonly string[] {
  const headings = [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map(heading =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

test('every link to a file of ours leads to it, and to a heading in it', () => {
  const broken = pages.flatMap(page =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].flatMap(
      ([, file = '', anchor]) => {
        const target = file === '' ? page : join(dirname(page), file);
        if (!existsSync(join(ROOT, target))) return [`${page}: ${file}`];
        return anchor === undefined || anchorsOf(target).includes(anchor)
          ? []
          : [`${page}: ${file}#${anchor}`];
      },
    ),
  );
  expect(broken).toEqual([]);
});

const decisions = readdirSync(join(ROOT, 'docs/adr')).map(name => ({
  name,
  number: Number(name.slice(0, 4)),
  text: read(join('docs/adr', name)),
}));

test('decisions are numbered without gaps, and each says its number', () => {
  const last = Math.max(...decisions.map(({ number }) => number));
  const missing = Array.from({ length: last }, (_, at) => at + 1).filter(
    wanted => decisions.filter(({ number }) => number === wanted).length !== 1,
  );
  expect(missing).toEqual([]);
  expect(decisions.filter(({ number, text }) => !text.startsWith(`# ${number}. `))).toEqual([]);
});

test('each decision has a status', () => {
  const status = /^# .*\n\nStatus: (accepted, \d+\.\d+|superseded by \d+)\b/;
  const without = decisions.filter(({ text }) => !status.test(text)).map(({ number }) => number);
  expect(without).toEqual([]);
});
