/**
 * Loads our own bundle through V8's code cache: what was compiled once is not compiled again. The cache is a convenience;
 * whatever is wrong with it, the bundle is compiled afresh. It is code, so it lies where no agent behind a wall can write, and only a file of
 * our own is believed.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { ensureFolder, writeAtomic } from './files.ts';
import { stateFolder } from './package.ts';

/** What the CommonJS bundle `file` exports. `name` says what it is run for: each use compiles functions of its own. */
export function loadWithCache(file: string, name: string, env: NodeJS.ProcessEnv, isKept = true): unknown {
  const cache = join(env.RALPH_CACHE_DIR || join(stateFolder(env), 'code'), `${name}@${keyOf(file)}.bin`);
  const cachedData = readOwn(cache);
  // The bundle is ASCII, and read as that.
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'latin1')}\n})`;
  const script = new Script(source, { filename: file, ...(cachedData && { cachedData }) });
  const module = { exports: {} };
  // What it asks for is a part of Node: where there is a `require` it will do, and node:module need not be loaded.
  const load = typeof require === 'function' ? require : createRequire(file);
  script.runInThisContext()(module.exports, load, module, file, dirname(file));
  if (isKept && (!cachedData || script.cachedDataRejected))
    process.once('exit', () => keep(cache, name, script));
  return module.exports;
}

/** V8 itself looks at its version, its flags and the length of the source. */
function keyOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return [process.version, process.arch, size, Math.trunc(mtimeMs)].join('-');
}

function readOwn(path: string): Buffer | undefined {
  try {
    const { uid, mode } = statSync(path);
    const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    return isOurs ? readFileSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** Older ones for the same use go. */
function keep(path: string, name: string, script: Script): void {
  try {
    const folder = dirname(path);
    ensureFolder(folder);
    writeAtomic(path, script.createCachedData());
    for (const other of readdirSync(folder))
      if (other.startsWith(`${name}@`) && join(folder, other) !== path)
        rmSync(join(folder, other), { force: true });
  } catch {
    // no home, a full disk, a cache that is not ours: the next start is as fast as this one
  }
}
