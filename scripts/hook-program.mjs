// The program that host plugins carry. One file with nothing to install: a plain clone must be a working plugin, so it is
// committed (`npm run generate` writes it, a test compares it with the source).
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { lazyBuiltins } from './lazy-builtins.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

export async function hookProgram() {
  const input = join(root, 'src/hooks/bin.ts');
  const build = await rolldown({
    input,
    platform: 'node',
    cwd: root,
    logLevel: 'warn',
    plugins: [lazyBuiltins],
  });
  const { output } = await build.generate({ format: 'cjs', codeSplitting: false, comments: false });
  await build.close();
  return output[0].code;
}
