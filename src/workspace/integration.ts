/**
 * The integration branch of a parallel run, in Ralph's own git directory: merges are made there, without files, hooks, drivers and settings of
 * the repository, and what is believed of the branch is kept there. The repository of the user gets what has landed.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { complaint } from '../platform/git.ts';
import { sha256 } from '../platform/hash.ts';
import { deliver } from './hand-over.ts';
import type { OwnGit } from './own-git.ts';
import type { NewCommit } from './own-objects.ts';

export interface Merged {
  /** The tree of the merge; where files conflict, with marks in them. */
  readonly tree: string;
  /** Files that conflict. */
  readonly conflicts: readonly string[];
}

/** A file of Ralph's own in a tree: its path from the top, and its text; undefined: it is not there. */
export type OwnFile = readonly [path: string, text: string | undefined];

export interface Integration {
  readonly own: OwnGit;
  /** Where the branch of this run stands, as Ralph left it. */
  tip(): Promise<string | undefined>;
  /** Moves it, if it stands on `from`; answers whether it did. */
  swap(from: string | undefined, to: string): Promise<boolean>;
  /** Shows it in the user's repository. Answers what was wrong there: somebody else had moved it. */
  publish(from: string | undefined): Promise<string | undefined>;
  merge(tip: string, other: string): Promise<Merged | Problem>;
  /** The last commit that both are built on. */
  baseOf(one: string, other: string): Promise<string | Problem>;
  isAncestor(one: string, other: string): Promise<boolean>;
  withFiles(tree: string, files: readonly OwnFile[]): Promise<string | Problem>;
  readFile(commit: string, path: string): Promise<string | undefined>;
  commit(commit: NewCommit): Promise<string | Problem>;
  /** A name for a change, wherever it is made; the files named do not count. */
  patchOf(from: string, to: string, except: readonly string[]): Promise<string | Problem>;
  /** Keeps a commit from being collected, here and in the user's repository. */
  pin(name: string, commit: string): Promise<void>;
  /** What was kept under this name is in what has landed. */
  unpin(name: string): Promise<void>;
  /** Hands commits over to the user's repository. */
  deliver(commit: string, known: string): Promise<Problem | undefined>;
}

/** Merging without a work tree. */
const NEEDED = [2, 38] as const;

export async function tooOld(own: OwnGit): Promise<Problem | undefined> {
  const { stdout } = await own.objects.run(['version']);
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout)?.slice(1) ?? []).map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined;
  return {
    where: 'git',
    what: `${stdout.trim()} is too old to merge for Ralph`,
    fix: 'install git 2.38 or later',
  };
}

export function createIntegration(own: OwnGit, run: string): Integration {
  const ref = `refs/ralph/${run}/int`;
  const shown = `refs/heads/ralph/${run}/_int`;
  const { objects } = own;
  const ask = async (args: readonly string[]): Promise<string | undefined> => {
    const { code, stdout } = await objects.run(args);
    return code === 0 ? stdout.trim() : undefined;
  };
  const tip = () => ask(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  const at = async (name: string) => {
    const found = await own.repository.git.run(['rev-parse', '--verify', '--quiet', `${name}^{commit}`]);
    return found.code === 0 ? found.stdout.trim() : undefined;
  };
  return {
    own,
    tip,
    async swap(from, to) {
      return (await ask(['update-ref', ref, to, from ?? '0'.repeat(to.length)])) !== undefined;
    },
    async publish(from) {
      const [now, there] = [await tip(), await at(shown)];
      if (now === undefined || there === now) return undefined;
      const moved = await own.repository.git.run(['update-ref', shown, now]);
      if (moved.code !== 0) return `${shown} cannot be moved: ${complaint(moved.output, moved.code)}`;
      return there === from || there === undefined
        ? undefined
        : `${shown} was at ${there}, where Ralph had not put it: moved back`;
    },
    merge: (one, other) => merge(own, one, other),
    async baseOf(one, other) {
      const base = await ask(['merge-base', one, other]);
      return base ?? { where: other, what: `it has nothing in common with ${one}` };
    },
    isAncestor: async (one, other) => (await ask(['merge-base', '--is-ancestor', one, other])) !== undefined,
    withFiles: (tree, files) => withFiles(own, tree, files),
    readFile: (commit, path) => readFile(own, commit, path),
    commit: commit => own.commitTree(commit),
    patchOf: (from, to, except) => patchOf(own, from, to, except),
    async pin(name, commit) {
      await objects.run(['update-ref', `refs/ralph/${run}/${name}`, commit]);
      if ((await at(commit)) !== undefined)
        await own.repository.git.run(['update-ref', `refs/ralph/kept/${run}/${name}`, commit]);
    },
    async unpin(name) {
      const { git } = own.repository;
      const { stdout } = await git.run([
        'for-each-ref',
        '--format=%(refname)',
        `refs/ralph/kept/${run}/${name}/`,
      ]);
      for (const kept of stdout.split('\n').filter(Boolean)) await git.run(['update-ref', '-d', kept]);
    },
    deliver: (commit, known) => deliver(own, commit, known),
  };
}

async function merge({ objects }: OwnGit, one: string, other: string): Promise<Merged | Problem> {
  const flags = ['--write-tree', '-z', '--name-only', '--no-messages', '--allow-unrelated-histories'];
  const { code, records, errors } = await objects.list(['merge-tree', ...flags, one, other]);
  const [tree, ...conflicts] = records;
  if (tree === undefined || code > 1)
    return { where: other, what: `it cannot be merged: ${complaint(errors, code)}` };
  return { tree, conflicts: [...new Set(conflicts)] };
}

async function withFiles(
  { objects }: OwnGit,
  tree: string,
  files: readonly OwnFile[],
): Promise<string | Problem> {
  if (files.length === 0) return tree;
  const index = join(objects.cwd, `other.${process.pid}.files-${++count}`);
  const git = objects.with({ GIT_INDEX_FILE: index });
  const failed = (output: string, code: number): Problem => ({ where: tree, what: complaint(output, code) });
  try {
    const read = await git.run(['read-tree', tree]);
    if (read.code !== 0) return failed(read.output, read.code);
    for (const [path, text] of files) {
      const oid = text === undefined ? undefined : await blobOf(git, text);
      const order =
        oid === undefined
          ? ['update-index', '--force-remove', '--', path]
          : ['update-index', '--add', '--replace', '--cacheinfo', `100644,${oid},${path}`];
      const done = await git.run(order);
      if (done.code !== 0) return failed(done.output, done.code);
    }
    const written = await git.run(['write-tree']);
    return written.code === 0 ? written.stdout.trim() : failed(written.output, written.code);
  } finally {
    rmSync(index, { force: true });
  }
}

async function blobOf(git: OwnGit['objects'], text: string): Promise<string> {
  let oid = '';
  const read = (chunk: Buffer) => {
    oid += chunk.toString('utf8');
    return 'more' as const;
  };
  await git.stream(['hash-object', '-w', '--no-filters', '--stdin'], read, text);
  return oid.trim();
}

async function readFile({ objects }: OwnGit, commit: string, path: string): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  const read = (chunk: Buffer) => {
    chunks.push(chunk);
    return 'more' as const;
  };
  const { code } = await objects.stream(['cat-file', 'blob', `${commit}:${path}`], read);
  return code === 0 ? Buffer.concat(chunks).toString('utf8') : undefined;
}

/** Without what is around it the same change has the same name; without whitespace, as git's patch-id has it. */
async function patchOf(
  own: OwnGit,
  from: string,
  to: string,
  except: readonly string[],
): Promise<string | Problem> {
  const chunks: Buffer[] = [];
  const flags = ['-r', '-p', '--binary', '--no-ext-diff', '--no-textconv', '--no-color', '--full-index'];
  const scope =
    except.length === 0 ? [] : ['--', ':/', ...except.map(path => `:(exclude,top,literal)${path}`)];
  const { code, errors } = await own.objects.stream(['diff-tree', ...flags, from, to, ...scope], chunk => {
    chunks.push(chunk);
    return 'more';
  });
  if (code !== 0) return { where: to, what: complaint(errors, code) };
  const text = Buffer.concat(chunks).toString('latin1');
  // The names of the whole files and the numbers of lines change with the files around; the lines do not.
  const lines = text.split('\n').filter(line => !/^(index |@@ )/.test(line));
  return sha256(lines.join('\n')).slice(0, 32);
}

let count = 0;
