// The programs that host plugins carry: built with the rest, never committed.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { ascii } from './ascii.mjs';
import { lazyBuiltins } from './lazy-builtins.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The way in, and what it loads through the code cache. */
export const hookProgram = () => bundled('src/hooks/bin.ts');
export const hookMain = () => bundled('src/hooks/main.ts');
export const hookMore = () => bundled('src/hooks/heavy.ts');

/** The rules of the guard and its parser of shell: as small as can be, since every tool call waits for it to be read. */
export async function guardProgram() {
  const license = readFileSync(join(root, 'node_modules/unbash/LICENSE'), 'utf8').trim();
  const code = await bundled('src/guard/guard.ts', { minify: true });
  return `/*\nSource: src/guard. It holds unbash, under this license:\n\n${license}\n*/\n${code}`;
}

async function bundled(source, options = {}) {
  const build = await rolldown({
    input: join(root, source),
    platform: 'node',
    cwd: root,
    logLevel: 'warn',
    // The registry of agents leads to adapters, which no hook uses: what they do when they are loaded is not wanted either.
    treeshake: { moduleSideEffects: false },
    plugins: [lazyBuiltins],
  });
  const { output } = await build.generate({
    format: 'cjs',
    codeSplitting: false,
    comments: false,
    ...options,
  });
  await build.close();
  return ascii(output[0].code);
}
