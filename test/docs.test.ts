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

test('the README is one that is read: at most 700 words, and five links to pages', () => {
  const readme = read('README.md');
  expect(readme.split(/\s+/).filter(word => word !== '').length).toBeLessThanOrEqual(700);
  expect([...readme.matchAll(/\]\(docs\/[^)]*\.md\)/g)]).toHaveLength(5);
});

const decisions = readdirSync(join(ROOT, 'docs/adr')).map(name => ({
  name,
  number: Number(name.slice(0, 4)),
  text: read(join('docs/adr', name)),
}));

test('each decision has a number of its own, and says it', () => {
  const numbers = decisions.map(({ number }) => number);
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
  expect(decisions.filter(({ number, text }) => !text.startsWith(`# ${number}. `))).toEqual([]);
});

/** A decision that binds nothing any more is removed; its number is not used again. */
test('every decision that source or page names by its number is there', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => join('src', name));
  const known = decisions.map(({ number }) => number);
  const gone = [...pages, ...sources].flatMap(page =>
    [...read(page).matchAll(/\bADR (\d+)|\badr\/(\d{4})/g)]
      .map(([, short, long]) => Number(short ?? long))
      .filter(number => !known.includes(number))
      .map(number => `${page}: ${number}`),
  );
  expect(gone).toEqual([]);
});

test('each decision has a status', () => {
  const status = /^# .*\n\nStatus: accepted\n/;
  const without = decisions.filter(({ text }) => !status.test(text)).map(({ number }) => number);
  expect(without).toEqual([]);
});

/** `domain/run/next.ts`, `test/rig/thorough.ts`: from the root, or from `src`. */
const PATH = /`((?:[\w.-]+\/)+[\w.-]+\.(?:tsx?|mjs|css|sh))`/g;

test('every file of the source that a page names is there', () => {
  const rooms = readdirSync(join(ROOT, 'src'));
  const own = [...rooms, 'src', 'test', 'scripts', 'bench', 'plugins', 'templates', 'examples'];
  // These speak of the source alone, so a folder that is gone is a mistake there, too.
  const isOfSource = (page: string) => /^(AGENTS|CONTEXT|docs\/architecture|docs\/adr\/.*)\.md$/.test(page);
  const gone = pages
    .filter(page => page !== 'CHANGELOG.md')
    .flatMap(page =>
      [...read(page).matchAll(PATH)]
        .map(([, path = '']) => path)
        .filter(path => isOfSource(page) || own.includes(path.split('/')[0] ?? ''))
        .filter(path => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, 'src', path)))
        .map(path => `${page}: ${path}`),
    );
  expect(gone).toEqual([]);
});

test('a decision names a file of the source by its path', () => {
  const bare = decisions.flatMap(({ name, text }) =>
    [...text.matchAll(/`([\w.-]+\.tsx?)`/g)].map(([, file]) => `${name}: ${file}`),
  );
  expect(bare).toEqual([]);
});

/** Each bench has a section of its own, which it can write anew. */
test('the page about performance says of each figure which program it is of, and of each target that is missed why', () => {
  const page = read('docs/reference/performance.md');
  const [, list = ''] = /^const benches = \{([^}]*)\}/m.exec(read('bench/run.mjs')) ?? [];
  const benches = [...list.matchAll(/^ {2}(\w+)/gm)]
    .map(([, name = '']) => name)
    .filter(name => name !== 'fleet');
  const sections = page.split(/^#+ /m).filter(section => section.includes('<!-- bench '));
  const named = sections.map(
    section => /<!-- bench (\w+) -->\n[\s\S]*<!-- \/bench \1 -->/.exec(section)?.[1],
  );
  expect(named.toSorted()).toEqual(benches.toSorted());
  const isMeasured = (text: string) => text.includes('|--:|');
  const { version } = JSON.parse(read('package.json'));
  const measured = sections.filter(isMeasured);
  expect(measured.filter(text => text.includes('✗') !== text.includes('\n**Missed: '))).toEqual([]);
  expect(measured.filter(text => !text.includes(`-->\nRalph ${version} (`))).toEqual([]);
  expect(sections.filter(text => isMeasured(text) === text.includes('Not measured'))).toEqual([]);
});

test('every page is in the sidebar of the site', async () => {
  const config = join(ROOT, 'docs/.vitepress/config.mjs');
  await expect(import(config)).resolves.toHaveProperty('default.themeConfig.sidebar');
});
