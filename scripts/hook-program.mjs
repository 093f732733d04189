// The programs that host plugins carry: built with the rest, never committed.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { ascii } from './ascii.mjs';
import { lazyBuiltins } from './lazy-builtins.mjs';
import { notePackages } from './packages-inside.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The way in, and what it loads through the code cache. */
export const hookProgram = async () => (await bundled('src/hooks/bin.ts')).code;
export const hookMain = async () => (await bundled('src/hooks/main.ts')).code;
export const hookMore = async () => (await bundled('src/hooks/heavy.ts')).code;
/** The files that it is made of. */
export const partsOfHookMain = async () => (await bundled('src/hooks/main.ts')).parts;

/** The rules of the guard and its parser of shell. */
export async function guardProgram() {
  const license = readFileSync(join(root, 'node_modules/unbash/LICENSE'), 'utf8').trim();
  const { code } = await bundled('src/guard/guard.ts');
  return `/*\nSource: src/guard. It holds unbash, under this license:\n\n${license}\n*/\n${code}`;
}

/** As small as can be: every turn waits for the hooks to be read, every tool call for the guard. */
async function bundled(source) {
  const build = await rolldown({
    input: join(root, source),
    platform: 'node',
    cwd: root,
    logLevel: 'warn',
    // The registry of agents leads to adapters, which no hook uses: what they do when they are loaded is not wanted either.
    treeshake: { moduleSideEffects: false },
    plugins: [lazyBuiltins, notePackages],
  });
  const { output } = await build.generate({
    format: 'cjs',
    codeSplitting: false,
    comments: false,
    minify: true,
  });
  await build.close();
  return { code: ascii(output[0].code), parts: Object.keys(output[0].modules) };
}
