/**
 * A place for a clean checkout: outside of the project, in a folder above which there is nothing that tools would obey. They look for
 * packages and settings in every folder above, and a temporary folder can be written by everybody.
 */
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { capture } from '../platform/capture.ts';
import { timesTell } from '../platform/disk.ts';
import { errorWords } from '../platform/error-words.ts';
import { namesIn, tryTo } from '../platform/files.ts';
import { isAlive } from '../platform/process-table.ts';

export interface CleanPlace {
  /** Empty, for the files. */
  readonly folder: string;
  /** For what is in their way. */
  readonly aside: string;
  /** What tools would find above it, by path. */
  strangers(): readonly string[];
  remove(): Promise<void>;
}

/** In the first of these folders that fits. */
export function makeCleanPlace(base: string | readonly string[] = usualBases()): CleanPlace | Problem {
  const bases = [base].flat();
  const free = bases.filter(each => strangersFrom(each).length === 0);
  if (free.length === 0) {
    const [where = ''] = bases.flatMap(strangersFrom);
    const fix = 'remove it, or set TMPDIR to another folder';
    return { where, what: 'it is above every place for a clean checkout, where tools would find it', fix };
  }
  // In memory a check could change a file and put it back, and no time would tell.
  const root = makeFirst([...free.filter(each => timesTell(each)), ...free.filter(each => !timesTell(each))]);
  if (typeof root !== 'string') return root;
  const folder = join(root, 'checkout');
  mkdirSync(folder);
  return {
    folder,
    aside: join(root, 'aside'),
    strangers: () => strangersFrom(root),
    remove: () => removeMany(root),
  };
}

/** By a program: of many files Node itself takes three times as long, and does nothing else meanwhile. What that leaves is Node's. */
async function removeMany(folder: string): Promise<void> {
  await capture(['/bin/rm', '-rf', '--', folder], { cwd: '/', env: {}, isQuiet: true });
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** In the first of these that takes one, and in which programs can be run; where that is in none, in the first all the same. */
function makeFirst(bases: readonly string[]): string | Problem {
  let problem: Problem | undefined;
  let spare: string | undefined;
  for (const base of bases)
    try {
      sweepCleanPlaces(base);
      const root = mkdtempSync(join(realpathSync(base), `${PREFIX}${ownNamespace()}-${process.pid}-`));
      if (mayRunPrograms(root)) {
        if (spare !== undefined) rmSync(spare, { recursive: true });
        return root;
      }
      if (spare === undefined) spare = root;
      else rmSync(root, { recursive: true });
    } catch (error) {
      problem ??= { where: base, what: errorWords(error), fix: 'set TMPDIR to a folder that can be written' };
    }
  return spare ?? problem ?? { where: tmpdir(), what: 'there is no folder for what is temporary' };
}

/** The system says of no file that it may be run where that is forbidden to all of them. */
function mayRunPrograms(folder: string): boolean {
  const file = join(folder, 'program');
  writeFileSync(file, '', { mode: 0o700 });
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(file);
  }
}

const PREFIX = 'ralph-clean-';

/** Numbers of processes mean nothing in another namespace, which may have the same temporary folder. */
function ownNamespace(): string {
  return /\d+/.exec(tryTo(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? '0';
}

/** Removes what runs that were killed in the middle of a clean proof have left. */
export function sweepCleanPlaces(...bases: readonly string[]): void {
  const ours = `${PREFIX}${ownNamespace()}-`;
  for (const base of bases.length > 0 ? bases : usualBases())
    for (const name of namesIn(base).filter(each => each.startsWith(ours))) {
      const pid = Number(name.slice(ours.length).split('-')[0]);
      if (pid > 0 && !isAlive({ pid, started: '' }))
        tryTo(() => rmSync(join(base, name), { recursive: true, force: true }));
    }
}

function usualBases(): readonly string[] {
  return [tmpdir(), '/var/tmp'];
}

const OBEYED =
  /^(node_modules|package\.json|\.npmrc|\.yarnrc.*|\.pnp\..*|pnpm-workspace\.yaml|[tj]sconfig.*\.json|conftest\.py|\.?pytest\.(ini|toml)|pyproject\.toml|tox\.ini|setup\.(cfg|py)|noxfile\.py|Cargo\.toml|\.cargo|rust-toolchain.*|go\.(mod|work)|\.git|\.hg|\.(eslint|babel|mocha|prettier|nyc|c8|swc)rc.*|(eslint|babel|jest|vite|vitest|prettier|ava|playwright)\.config\..*|\.editorconfig|biome\.jsonc?|deno\.jsonc?|(lerna|nx|turbo)\.json|(build|settings)\.gradle.*|pom\.xml|\.mvn|[Mm]akefile|GNUmakefile|\.?[Jj]ustfile|Gemfile|\.bundle|\.rspec|Rakefile|\.tool-versions|\.(python|node|ruby)-version|\.nvmrc|\.envrc|mise\.toml)$/;

function strangersFrom(folder: string): readonly string[] {
  const here = (tryTo(() => readdirSync(folder)) ?? []).filter(name => OBEYED.test(name));
  const above = dirname(folder) === folder ? [] : strangersFrom(dirname(folder));
  return [...here.map(name => join(folder, name)), ...above];
}
