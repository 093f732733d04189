// Builds the library (tsc: modules and types) and the bin (one lazy CommonJS bundle, so that it starts fast).
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bundled = ['commander', 'yaml', 'string-width', 'get-east-asian-width', 'strip-ansi', 'ansi-regex'];

rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.lib.json'], {
  cwd: root,
  stdio: 'inherit',
});
await bundle();
chmodSync(join(root, 'dist/bin/ralph.cjs'), 0o755);
writeFileSync(join(root, 'dist/THIRD-PARTY-LICENSES.txt'), bundled.map(license).join('\n\n'));

async function bundle() {
  const build = await rolldown({
    input: { ralph: join(root, 'src/cli/bin.ts'), 'scripted-agent': join(root, 'src/sim/scripted-agent.ts') },
    platform: 'node',
    cwd: root,
    logLevel: 'warn',
  });
  await build.write({
    dir: join(root, 'dist/bin'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    minify: false,
  });
  await build.close();
}

function license(name) {
  const folder = join(root, 'node_modules', name);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const text = ['license', 'LICENSE'].map(file => read(join(folder, file))).find(Boolean);
  return `${name} ${version}\n\n${text}`;
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
