import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiEntries, apiReference } from '../scripts/api-reference.mjs';
import { COMMANDS } from '../src/cli/command-list.ts';
import { defaultSettings, SETTINGS } from '../src/config/settings.ts';
import { TROUBLES } from '../src/domain/turn/trouble.ts';
import { VERSION } from '../src/platform/version.ts';
import { bundleSchema } from '../src/proof/bundle/format.ts';
import { readTemplate } from '../src/store/prd-paths.ts';
import { findHoldings, type Holding, PROMISE_IDS, PROMISES } from './promises.ts';
import { repositoriesPage } from './repositories/page.ts';
import { answerTo } from './rig/commands.ts';
import { expectGenerated, expectTable } from './rig/generated.ts';
import { testEnv } from './rig/ralph.ts';
import { folder } from './rig/repo.ts';
import { buildReference, buildSchema } from './rig/settings-pages.ts';

const ROOT = join(import.meta.dirname, '..');

test('the settings reference is what the table says', { tags: 'promise' }, () => {
  expectGenerated('docs/reference/settings.md', buildReference());
});

test('the table of trouble in the docs is the one that the loop goes by', { tags: 'promise' }, () => {
  const rows = Object.entries(TROUBLES).map(
    ([name, { recognised, happens, counted }]) =>
      `| **${name}** | ${recognised} | ${happens} | ${counted} |\n`,
  );
  const table = `| class | recognised by | what happens | counted |\n|---|---|---|---|\n${rows.join('')}`;
  expectTable('docs/reference/trouble.md', table);
});

test('the JSON schema is what the table says', { tags: 'promise' }, () => {
  expectGenerated('schema/settings.schema.json', `${JSON.stringify(buildSchema(), null, 2)}\n`);
});

test('the JSON schema of bundles is the format', { tags: 'promise' }, () => {
  expectGenerated('schema/proof.schema.json', `${JSON.stringify(bundleSchema(), null, 2)}\n`);
});

test('the skill of the plugin is the text of ralph prd plan', { tags: ['promise', 'P-prd-plan'] }, () => {
  const head = `---
name: ralph-plan
description: 'Plan a feature for a Ralph loop together with the user: writes ralph/prd.md and ralph/tasks.json. Use it for /ralph-plan, "plan this feature for ralph", "create a ralph prd", "generate tasks for ralph".'
---

`;
  expectGenerated(
    'plugins/claude/skills/ralph-plan/SKILL.md',
    head + readTemplate('plan.md', { RALPH_DIR: 'ralph' }),
  );
});

test('the plugin and the marketplace have the version of the package', { tags: 'promise' }, () => {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
  expect(read('plugins/claude/.claude-plugin/plugin.json').version).toBe(VERSION);
  expect(read('.claude-plugin/marketplace.json').plugins[0].version).toBe(VERSION);
});

test('the command reference is what the help says', async () => {
  const { dir } = folder();
  const env = testEnv({});
  const help = async (...args: string[]) => {
    const { code, stdout } = await answerTo([...args, '--help', 'all'], dir, env);
    expect(code).toBe(0);
    return `\`\`\`\n${stdout.trimEnd()}\n\`\`\`\n`;
  };
  const parts = [
    `# Commands\n\nGenerated from \`ralph --help all\`; \`npm run generate\` writes it.\n\n${await help()}`,
  ];
  for (const { name, load } of COMMANDS) {
    parts.push(`\n## ralph ${name}\n\n${await help(name)}`);
    const loaded = await load();
    for (const action of 'actions' in loaded ? loaded.actions : [])
      parts.push(`\n### ralph ${name} ${action.name}\n\n${await help(name, action.name)}`);
  }
  expectGenerated('docs/reference/commands.md', parts.join(''));
});

test.each(['run', 'loop', 'prd'] as const)('every default of ralph %s passes its own check', command => {
  const defaults = defaultSettings(command) as unknown as Record<string, unknown>;
  const problems = SETTINGS.flatMap(row =>
    row.key in defaults ? row.kind.check(defaults[row.key], row.key) : [],
  );
  expect(problems).toEqual([]);
});

test('the version is that of package.json', { tags: 'promise' }, () => {
  expect(VERSION).toBe(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
});

test('the library reference is what the doc comments say, and every export has one', {
  tags: ['promise', 'P-library'],
}, () => {
  expect(apiEntries().filter(({ doc }) => doc === '')).toEqual([]);
  expectGenerated('docs/reference/library.md', apiReference());
});

test('every promise has a test that names it, and no test names another', { tags: 'promise' }, () => {
  const ids = new Set(holdings().map(({ id }) => id));
  expect(PROMISE_IDS.filter(id => !ids.has(id))).toEqual([]);
  expect([...ids].filter(id => !PROMISE_IDS.includes(id))).toEqual([]);
});

test('the table of promises is what the tests hold', { tags: 'promise' }, () => {
  const cell = (text: string) => text.replaceAll('<', '&lt;').replaceAll('|', '\\|');
  const found = holdings();
  const rows = Object.entries(PROMISES).flatMap(([group, promises]) =>
    Object.entries(promises).map(([id, words]) => {
      const tests = found.filter(each => each.id === id);
      const held = tests.map(({ file, title }) => `\`test/${file}\`: ${cell(title)}`).join('<br>');
      return `| ${id} | ${group} | ${cell(words)} | ${held} |\n`;
    }),
  );
  const head = '| id | about | promise | held by |\n|---|---|---|---|\n';
  expectTable('docs/reference/stability.md', `${head}${rows.join('')}`);
});

function holdings(): readonly Holding[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts'))
    .sort()
    .flatMap(name => findHoldings(name, readFileSync(join(ROOT, 'test', name), 'utf8')));
}

test('the page of repositories is what the tests try', () => {
  expectGenerated('docs/repositories.md', repositoriesPage());
});
