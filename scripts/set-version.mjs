// Writes a version into every file that holds it. `npm run set-version 0.3.0`, then `npm run check` and a commit: docs/releasing.md.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.env.RALPH_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), '..');
const [version = ''] = process.argv.slice(2);

if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) {
  console.error(`"${version}" is no version: npm run set-version 0.3.0`);
  process.exit(2);
}

const VERSION = /("version": ")[^"]+/;
edit('package.json', VERSION, `$1${version}`);
edit('package-lock.json', /("name": "@ralph-loop\/ralph",\s+"version": ")[^"]+/g, `$1${version}`);
edit('src/platform/version.ts', /(VERSION = ')[^']+/, `$1${version}`);
edit('plugins/claude/.claude-plugin/plugin.json', VERSION, `$1${version}`);
edit('plugins/gemini/gemini-extension.json', VERSION, `$1${version}`);
edit('CHANGELOG.md', /^## \S+ \(unreleased\)$/m, `## ${version} (${new Date().toISOString().slice(0, 10)})`);
if (!process.env.RALPH_ROOT) execFileSync('npm', ['run', 'generate'], { cwd: root, stdio: 'inherit' });

function edit(name, pattern, replacement) {
  const path = join(root, name);
  const text = readFileSync(path, 'utf8');
  if (text.search(pattern) === -1) {
    console.error(`${name} has no place for a version (${pattern}): nothing was written there`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(path, text.replace(pattern, replacement));
}
