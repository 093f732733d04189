#!/usr/bin/env node
// Commits what a plugin host installs and what the GitHub Action runs, built, to the branch `release`. Users add the plugin by the
// repository's address, ADDRESS#release, and use the Action by its tag.
//   node scripts/release.mjs [--built]
// --built takes what the last build has left. It pushes nothing; it prints the commands that do.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const BRANCH = 'refs/heads/release';
/** All that the branch holds: whoever adds the address downloads this and nothing else. */
const RELEASED = [
  ...['.claude-plugin', 'plugins', 'README.md', 'LICENSE', 'CHANGELOG.md'],
  ...[
    'action.yml',
    'scripts/action.mjs',
    'templates',
    'dist/bin',
    'dist/page',
    'dist/THIRD-PARTY-LICENSES.txt',
  ],
];
const BUILT = [
  '.claude-plugin/marketplace.json',
  'dist/bin/ralph.cjs',
  ...['ralph-hook', 'ralph-hook-main', 'ralph-hook-more', 'ralph-guard'].map(
    name => `plugins/claude/bin/${name}.cjs`,
  ),
];

process.exitCode = main();

function main() {
  const { values } = parseArgs({ options: { built: { type: 'boolean', default: false } } });
  const { version, repository } = json('package.json');
  const problems = [
    ...(repository ? [] : ['package.json has no repository: npm pkg set repository=github:OWNER/REPO']),
    ...uncommitted(),
    ...otherVersions(version),
    ...changelog(version),
    ...released(version),
  ];
  if (problems.length > 0) return refuse(problems);
  if (!values.built)
    execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs')], { cwd: ROOT, stdio: 'inherit' });
  const unbuilt = notBuilt(version);
  if (unbuilt.length > 0) return refuse(unbuilt);

  const commit = commitRelease(version);
  console.log(`Committed Ralph ${version} to the branch release: ${commit}`);
  console.log(`Publish it: git tag v${version} release && git push origin release v${version}`);
  return 0;
}

function refuse(problems) {
  console.error(
    `Nothing was released. ${problems.length === 1 ? '1 problem' : `${problems.length} problems`}:`,
  );
  for (const problem of problems) console.error(`  ${problem}`);
  return 2;
}

function uncommitted() {
  return git('status', '--porcelain') === '' ? [] : ['there are uncommitted changes: git status'];
}

/** Every manifest says the version that the package has. */
function otherVersions(version) {
  const said = {
    'plugins/claude/.claude-plugin/plugin.json': json('plugins/claude/.claude-plugin/plugin.json').version,
    'plugins/gemini/gemini-extension.json': json('plugins/gemini/gemini-extension.json').version,
  };
  return Object.entries(said)
    .filter(([, other]) => other !== version)
    .map(([file, other]) => `${file} has version ${other}, package.json has ${version}`);
}

/** The latest section is that of the version, with a date. */
function changelog(version) {
  const heading = /^## .*$/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))?.[0] ?? '';
  if (heading.split(' ')[1] !== version) return [`the first section of CHANGELOG.md is not "## ${version}"`];
  if (/unreleased/i.test(heading)) return [`CHANGELOG.md calls ${version} unreleased: put the date there`];
  return [];
}

function released(version) {
  const before = head();
  if (before === undefined) return [];
  const there = JSON.parse(git('show', `${before}:plugins/claude/.claude-plugin/plugin.json`)).version;
  return there === version ? [`the branch release has version ${version} already`] : [];
}

function notBuilt(version) {
  const missing = BUILT.filter(name => !existsSync(join(ROOT, name)));
  if (missing.length > 0) return missing.map(name => `${name} was not built: npm run build`);
  const built = json(BUILT[0]).plugins[0].version;
  return built === version ? [] : [`version ${built} was built, package.json has ${version}: npm run build`];
}

/** In an index of its own, so that neither the work tree nor what is staged changes. */
function commitRelease(version) {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-release-'));
  try {
    const env = { ...process.env, GIT_INDEX_FILE: join(folder, 'index') };
    const staged = (...args) => execFileSync('git', args, { cwd: ROOT, env, encoding: 'utf8' }).trim();
    // --force: what is built is ignored everywhere else.
    staged('add', '--force', '--', ...RELEASED);
    const tree = staged('write-tree');
    // The first parent is the release before, the last one is the source that was built.
    const before = head();
    const parents = [...(before === undefined ? [] : [before]), git('rev-parse', 'HEAD')];
    const message = `Release ${version}`;
    const commit = git('commit-tree', tree, ...parents.flatMap(parent => ['-p', parent]), '-m', message);
    git('update-ref', '-m', message, BRANCH, commit, before ?? '');
    return commit;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function head() {
  try {
    return git('rev-parse', '--verify', '--quiet', BRANCH);
  } catch {
    return undefined;
  }
}

function json(name) {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
}

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
