// Run by `npm publish`, before anything is packed: what would be published must be what was released.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.env.RALPH_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), '..');
const read = name => readFileSync(join(root, name), 'utf8');
const { version, repository } = JSON.parse(read('package.json'));
const problems = [
  ...(repository
    ? []
    : [
        'package.json has no repository, and the links of the README would lead nowhere: npm pkg set repository=github:OWNER/REPO',
      ]),
  ...(new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(\\d`, 'm').test(read('CHANGELOG.md'))
    ? []
    : [`CHANGELOG.md has no section for ${version} with a date: npm run set-version ${version}`]),
  ...(existsSync(join(root, 'dist/lib/index.js')) ? [] : ['dist is not built: npm run build']),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
