// Builds the library (types by tsc, a few modules) and the bin (CommonJS bundles): both so that they start fast.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { ascii } from './ascii.mjs';
import { guardProgram, hookMain, hookMore, hookProgram } from './hook-program.mjs';
import { lazyBuiltins } from './lazy-builtins.mjs';
import { notePackages, packagesInside } from './packages-inside.mjs';
import { sbom } from './sbom.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Without the names of the files that a bundle is made of. */
const BARE = { experimental: { attachDebugInfo: 'none' } };
/** The package is a tenth smaller, and a stack trace still names functions and lines: only variables inside of functions lose their names. */
const keepNames = { function: true, class: true };
const SHORTER = { mangle: { toplevel: false, keepNames }, compress: { keepNames }, codegen: false };

/** Of the page, in this order: a later one may overrule an earlier one. */
const STYLES = ['base', 'head', 'cards', 'timeline', 'iterations', 'opened', 'lists', 'dashboard'];

rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.lib.json'], {
  cwd: root,
  stdio: 'inherit',
});
removeUnreached(join(root, 'dist/lib'));
await bundleLibrary();
await bundle({
  ralph: join(root, 'src/cli/bin.ts'),
  main: join(root, 'src/cli/main.ts'),
  'scripted-agent': join(root, 'src/library/sim/scripted-agent.ts'),
  'srt-host': join(root, 'src/sandbox/srt-host.ts'),
  inside: join(root, 'src/sandbox/inside.ts'),
});
// Apart from the rest: these are loaded when they are needed, which is seldom. Nobody reads them here.
await bundle({ 'string-width': 'string-width', yaml: 'yaml', 'babel-parser': '@babel/parser' }, true);
await bundlePage();
await bundlePlugin();
writeMarketplace();
chmodSync(join(root, 'dist/bin/ralph.cjs'), 0o755);
const bundled = packagesInside();
writeFileSync(join(root, 'dist/THIRD-PARTY-LICENSES.txt'), bundled.map(license).join('\n\n'));
writeFileSync(join(root, 'dist/sbom.cdx.json'), `${JSON.stringify(sbom(root, bundled), null, 2)}\n`);

/** The compiler writes types for every module; those that the exports lead to are one in seven, and each file costs who installs it. */
function removeUnreached(folder) {
  const reached = new Set();
  const reach = file => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const [, name] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"](\.[^'"]+)\.ts['"]/g))
      reach(join(dirname(file), `${name}.d.ts`));
  };
  reach(join(folder, 'index.d.ts'));
  const files = readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.d.ts'));
  for (const name of files) if (!reached.has(join(folder, name))) rmSync(join(folder, name));
}

/** A file each, so that the main one can be loaded through a code cache. */
async function bundle(inputs, minify = SHORTER) {
  for (const [name, input] of Object.entries(inputs)) {
    // The way in knows the commands by name only; the main bundle has them.
    const external = name === 'ralph' ? [/\/commands\//] : [];
    const build = await rolldown({
      input,
      external,
      platform: 'node',
      cwd: root,
      logLevel: 'warn',
      plugins: [lazyBuiltins, notePackages],
      ...BARE,
    });
    const file = join(root, `dist/bin/${name}.cjs`);
    await build.write({ file, format: 'cjs', codeSplitting: false, comments: false, minify });
    await build.close();
    writeFileSync(file, ascii(readFileSync(file, 'utf8')));
  }
}

/** One module that is imported, and others that it loads when a call needs them. */
async function bundleLibrary() {
  const input = { index: join(root, 'src/index.ts') };
  const plugins = [notePackages];
  const build = await rolldown({ input, platform: 'node', cwd: root, logLevel: 'warn', plugins, ...BARE });
  const chunkFileNames = 'chunk-[name].js';
  await build.write({
    dir: join(root, 'dist/lib'),
    format: 'esm',
    comments: false,
    minify: SHORTER,
    entryFileNames: '[name].js',
    chunkFileNames,
  });
  await build.close();
}

/** What the host plugins start. */
async function bundlePlugin() {
  const programs = {
    'ralph-hook': hookProgram,
    'ralph-hook-main': hookMain,
    'ralph-hook-more': hookMore,
    'ralph-guard': guardProgram,
  };
  for (const [name, program] of Object.entries(programs))
    writeFileSync(join(root, `plugins/claude/bin/${name}.cjs`), await program());
}

/** Only where the programs are: a marketplace in the source would install a plugin without them. */
function writeMarketplace() {
  const { name, description, version } = JSON.parse(
    read(join(root, 'plugins/claude/.claude-plugin/plugin.json')),
  );
  const plugins = [{ name, source: './plugins/claude', description, version }];
  const marketplace = { name, description, owner: { name: 'the Ralph authors' }, plugins };
  mkdirSync(join(root, '.claude-plugin'), { recursive: true });
  writeFileSync(join(root, '.claude-plugin/marketplace.json'), `${JSON.stringify(marketplace, null, 2)}\n`);
}

/** The page of the report and the dashboard: one script and one style, put into every HTML file whole. */
async function bundlePage() {
  const build = await rolldown({
    input: { page: join(root, 'src/page/main.tsx') },
    platform: 'browser',
    cwd: root,
    logLevel: 'warn',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [{ name: 'browser-files', resolveId: browserFile }, notePackages],
  });
  const { output } = await build.write({
    dir: join(root, 'dist/page'),
    format: 'iife',
    entryFileNames: 'page.js',
    minify: true,
  });
  await build.close();
  // In HTML the first end tag ends the script, also one in a string; and NUL becomes another character, so that its hash fits no more.
  const [{ code }] = output;
  // Every report is a copy of these: their licences go with it.
  const licences = `/*!\n${['preact', 'uplot'].map(license).join('\n\n')}\n*/\n`;
  writeFileSync(
    join(root, 'dist/page/page.js'),
    licences + code.replaceAll('</script', '<\\/script').replaceAll('\0', '\\x00').trimEnd(),
  );
  const style = [
    'node_modules/uplot/dist/uPlot.min.css',
    ...STYLES.map(name => `src/page/style/${name}.css`),
  ].map(file => read(join(root, file)));
  writeFileSync(join(root, 'dist/page/page.css'), squeezed(style.join('\n')));
}

/** `x.browser.ts` stands in for `x.ts`, as `moduleSuffixes` says in the page's tsconfig. */
function browserFile(source, importer) {
  if (!importer || !source.startsWith('.')) return null;
  const file = join(dirname(importer), source.replace(/\.ts$/, '.browser.ts'));
  return existsSync(file) ? file : null;
}

function squeezed(css) {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .trim();
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
