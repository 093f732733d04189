/** `npm run docs`: the same Markdown as a site with search. A link that leads nowhere, or a page in no list of the sidebar, fails the build. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '..');

/** Folders in which there are no pages. */
const others = readdirSync(join(DOCS, '..'), { withFileTypes: true })
  .filter(entry => entry.isDirectory() && !['docs', 'examples'].includes(entry.name))
  .map(({ name }) => name);

/** The pages of a folder, in a reader's order. */
const ORDER = {
  'how-to': [
    'index',
    ...['rely-on-the-result', 'limit-a-run', 'choose-an-agent', 'take-the-work-over', 'open-a-pull-request'],
    ...['watch-a-run', 'steer-a-run', 'resume-a-run'],
    ...['build-a-feature', 'run-several-at-once', 'loop-in-a-session', 'work-in-a-monorepo'],
    ...['confine-the-agent', 'find-what-checks-miss', 'hand-on-the-proof'],
    ...['run-in-ci', 'use-many-machines', 'use-the-library'],
  ],
  explanation: ['how-it-works', 'proof', 'which-command', 'comparison'],
  reference: [
    'index',
    ...['commands', 'settings', 'agents', 'acp'],
    ...['loop', 'checks', 'limits', 'best-state', 'trouble', 'prd', 'parallel'],
    ...['in-session', 'in-session-hosts', 'fleet'],
    ...['resume', 'git', 'pull-requests', 'watch', 'state', 'secrets'],
    ...['containment', 'sandbox', 'guard', 'hooks', 'cheats'],
    ...['steering', 'report', 'dashboard', 'notifications', 'traces'],
    ...['simulate', 'mutate', 'verify', 'action', 'library', 'performance', 'stability'],
  ],
  '.': ['repositories', 'architecture', 'development', 'adding-an-agent', 'releasing', 'out-of-scope'],
};

/** They stand by themselves in the sidebar. */
const ALONE = ['tutorial', 'tutorial-issue', 'trouble'];

/** A page by its own title. */
function page(path) {
  const [title = path] = /(?<=^# ).*/m.exec(readFileSync(join(DOCS, `${path}.md`), 'utf8')) ?? [];
  return { text: title.replaceAll('`', ''), link: `/${join('docs', path.replace(/index$/, ''))}` };
}

function namesIn(folder) {
  return readdirSync(join(DOCS, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => name.replace(/\.md$/, ''));
}

function pagesOf(folder) {
  const placed = folder === '.' ? [...ORDER[folder], ...ALONE] : ORDER[folder];
  const left = namesIn(folder).filter(name => !placed.includes(name));
  if (left.length > 0) throw new Error(`docs/${folder}: not in the sidebar: ${left.join(', ')}`);
  return ORDER[folder].map(name => page(join(folder, name)));
}

export default {
  title: 'Ralph',
  description: 'Keeps a coding agent working until the work is provably done.',
  srcDir: '..',
  outDir: '../site',
  cacheDir: '../node_modules/.cache/vitepress',
  srcExclude: ['AGENTS.md', ...others.map(name => `${name}/**`)],
  rewrites: { 'README.md': 'index.md' },
  // Files of the repository that are no pages.
  ignoreDeadLinks: [/\/examples(\/.*\.service)?$/],
  cleanUrls: true,
  lastUpdated: false,
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      { text: 'Start', items: [{ text: 'Ralph', link: '/' }, ...ALONE.map(page)] },
      { text: 'How to', items: pagesOf('how-to') },
      { text: 'Explanation', items: pagesOf('explanation') },
      { text: 'Reference', items: pagesOf('reference') },
      {
        text: 'The project',
        collapsed: true,
        items: [
          ...pagesOf('.'),
          ...['CONTEXT', 'CONTRIBUTING', 'CHANGELOG'].map(name => ({
            text: name.charAt(0) + name.slice(1).toLowerCase(),
            link: `/${name}`,
          })),
        ],
      },
      {
        text: 'Decisions',
        collapsed: true,
        items: namesIn('adr').map(name => page(join('adr', name))),
      },
    ],
  },
};
