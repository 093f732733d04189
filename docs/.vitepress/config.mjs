/** `npm run docs`: the same Markdown as a site with search. A link that leads nowhere fails the build. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '..');

/** Folders in which there are no pages. */
const others = readdirSync(join(DOCS, '..'), { withFileTypes: true })
  .filter(entry => entry.isDirectory() && !['docs', 'examples'].includes(entry.name))
  .map(({ name }) => name);

/** Every page of a folder, by its own title. */
function pagesIn(folder) {
  return readdirSync(join(DOCS, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => {
      const [title = name] = /(?<=^# ).*/m.exec(readFileSync(join(DOCS, folder, name), 'utf8')) ?? [];
      return { text: title.replaceAll('`', ''), link: `/${join('docs', folder, name.replace(/\.md$/, ''))}` };
    });
}

export default {
  title: 'Ralph',
  description: 'Keeps a coding agent working until the work is provably done.',
  srcDir: '..',
  outDir: '../site',
  cacheDir: '../node_modules/.cache/vitepress',
  srcExclude: ['AGENTS.md', ...others.map(name => `${name}/**`)],
  rewrites: { 'README.md': 'index.md' },
  // Folders and files of the repository, and no pages.
  ignoreDeadLinks: [/^\.\/(docs\/)?adr$/, /\/examples(\/.*\.service)?$/],
  cleanUrls: true,
  lastUpdated: false,
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      { text: 'Start', items: [{ text: 'Ralph', link: '/' }] },
      { text: 'Guide', items: pagesIn('.') },
      { text: 'Reference', items: pagesIn('reference') },
      { text: 'Decisions', collapsed: true, items: pagesIn('adr') },
      {
        text: 'Project',
        items: ['CONTEXT', 'CONTRIBUTING', 'CHANGELOG'].map(name => ({
          text: name.charAt(0) + name.slice(1).toLowerCase(),
          link: `/${name}`,
        })),
      },
    ],
  },
};
