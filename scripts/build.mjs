// Builds the library (tsc: modules and types) and the bin (CommonJS bundles, so that it starts fast).
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
await bundle({
  ralph: join(root, 'src/cli/bin.ts'),
  main: join(root, 'src/cli/main.ts'),
  'scripted-agent': join(root, 'src/sim/scripted-agent.ts'),
  // Apart from the rest: it is required when it is needed, not imported.
  'string-width': 'string-width',
});
chmodSync(join(root, 'dist/bin/ralph.cjs'), 0o755);
writeFileSync(join(root, 'dist/THIRD-PARTY-LICENSES.txt'), bundled.map(license).join('\n\n'));

/** A file each, so that the main one can be loaded through a code cache. */
async function bundle(inputs) {
  for (const [name, input] of Object.entries(inputs)) {
    // The way in knows the commands by name only; the main bundle has them.
    const external = name === 'ralph' ? [/\/commands\//] : [];
    const build = await rolldown({ input, external, platform: 'node', cwd: root, logLevel: 'warn' });
    await build.write({ file: join(root, `dist/bin/${name}.cjs`), format: 'cjs', codeSplitting: false });
    await build.close();
  }
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
