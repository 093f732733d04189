/**
 * A place for a clean checkout: outside of the project, in a folder above which there is nothing that tools would obey. They look for
 * packages and settings in every folder above, and a temporary folder can be written by everybody.
 */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';

export interface CleanPlace {
  /** Empty, for the files. */
  readonly folder: string;
  /** For what is in their way. */
  readonly aside: string;
  /** What tools would find above it, by path. */
  strangers(): readonly string[];
  remove(): void;
}

/** In the first of these folders that fits. */
export function makeCleanPlace(
  base: string | readonly string[] = [tmpdir(), '/var/tmp'],
): CleanPlace | Problem {
  const bases = [base].flat();
  const free = bases.find(each => strangersFrom(each).length === 0);
  if (free === undefined) {
    const [where = ''] = bases.flatMap(strangersFrom);
    const fix = 'remove it, or set TMPDIR to another folder';
    return { where, what: 'it is above every place for a clean checkout, where tools would find it', fix };
  }
  const root = mkdtempSync(join(realpathSync(free), 'ralph-clean-'));
  const folder = join(root, 'checkout');
  mkdirSync(folder);
  return {
    folder,
    aside: join(root, 'aside'),
    strangers: () => strangersFrom(root),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

const OBEYED =
  /^(node_modules|package\.json|\.npmrc|\.yarnrc.*|\.pnp\..*|pnpm-workspace\.yaml|[tj]sconfig.*\.json|conftest\.py|\.?pytest\.(ini|toml)|pyproject\.toml|tox\.ini|setup\.(cfg|py)|noxfile\.py|Cargo\.toml|\.cargo|rust-toolchain.*|go\.(mod|work)|\.git|\.hg|\.(eslint|babel|mocha|prettier|nyc|c8|swc)rc.*|(eslint|babel|jest|vite|vitest|prettier|ava|playwright)\.config\..*|\.editorconfig|biome\.jsonc?|deno\.jsonc?|(lerna|nx|turbo)\.json|(build|settings)\.gradle.*|pom\.xml|\.mvn|[Mm]akefile|GNUmakefile|\.?[Jj]ustfile|Gemfile|\.bundle|\.rspec|Rakefile|\.tool-versions|\.(python|node|ruby)-version|\.nvmrc|\.envrc|mise\.toml)$/;

function strangersFrom(folder: string): readonly string[] {
  const here = (tryTo(() => readdirSync(folder)) ?? []).filter(name => OBEYED.test(name));
  const above = dirname(folder) === folder ? [] : strangersFrom(dirname(folder));
  return [...here.map(name => join(folder, name)), ...above];
}
