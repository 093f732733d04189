/**
 * The integration branch of a parallel run, in Ralph's own git directory: merges are made there, without files, hooks, drivers and settings of
 * the repository, and what is believed of the branch is kept there. The repository of the user gets what has landed.
 */
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { visible } from '../domain/text/visible.ts';
import { complaint, type Git } from '../platform/git.ts';
import { sha256 } from '../platform/hash.ts';
import { deliver } from './commit-in-repository.ts';
import { entriesAt, mergeTrees } from './merge-tree.ts';
import type { OwnGit } from './own-git.ts';
import { readAll } from './own-objects.ts';
import { commitOf } from './refs.ts';

/** A file of Ralph's own in a tree: its path from the top, and what is in it; undefined: it is not there. */
export type OwnFile = readonly [path: string, content: string | Buffer | undefined];

export type Integration = ReturnType<typeof createIntegration>;

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

export function createIntegration(own: OwnGit, run: string) {
  const ref = `refs/ralph/${run}/int`;
  const shown = `refs/heads/ralph/${run}/_int`;
  const { objects } = own;
  const ask = async (args: readonly string[]): Promise<string | undefined> => {
    const { code, stdout } = await objects.run(args);
    return code === 0 ? stdout.trim() : undefined;
  };
  /** Where the branch of this run stands, as Ralph left it. */
  const tip = () => commitOf({ git: objects, gitDir: objects.cwd, commonDir: objects.cwd }, ref);
  return {
    own,
    tip,
    /** Moves it, if it stands on `from`; returns whether it did. */
    async swap(from: string | undefined, to: string): Promise<boolean | Problem> {
      const order = ['update-ref', '--no-deref', ref, to, from ?? '0'.repeat(to.length)];
      const { code, output } = await objects.run(order);
      if (code === 0 || (await tip()) !== from) return code === 0;
      return { where: shown, what: `it cannot be moved: ${complaint(output, code)}` };
    },
    /** Where somebody else has moved it, and who that was as far as git knows. */
    others: async (there?: string | null): Promise<string | Problem> =>
      othersWords(objects, shown, there === undefined ? await tip() : there),
    /** Shows it in the user's repository. Returns what was wrong there: somebody else had moved it. */
    publish: async (from: string | undefined) => publish(own, shown, from, await tip()),
    /** `landed` with the work of a lane. */
    merge: (landed: string, work: string) => mergeTrees(objects, landed, work),
    /** What is at these paths of a commit. */
    entriesAt: (commit: string, paths: readonly string[]) => entriesAt(objects, commit, paths),
    /** The last commit that both are built on. */
    async baseOf(one: string, other: string): Promise<string | Problem> {
      const base = await ask(['merge-base', one, other]);
      return base ?? { where: other, what: `it has nothing in common with ${one}` };
    },
    isAncestor: async (one: string, other: string): Promise<boolean> =>
      (await ask(['merge-base', '--is-ancestor', one, other])) !== undefined,
    withFiles: (tree: string, files: readonly OwnFile[]) => withFiles(own, tree, files),
    /** With these files as a commit has them. */
    withFilesOf: (tree: string, commit: string, paths: readonly string[]) =>
      withFilesOf(own, tree, commit, paths),
    readFile: (commit: string, path: string) => readText(objects, `${commit}:${path}`),
    readBlob: (oid: string) => readText(objects, oid),
    commit: own.commit,
    /** A name for a change, wherever it is made; the files named do not count. */
    patchOf: (from: string, to: string, except: readonly string[]) => patchOf(own, from, to, except),
    /** What differs between two commits, by path, a line for each; the files named do not count. */
    changedLines: rememberLines(own),
    /** Keeps a commit from being collected, here and in the user's repository. */
    async pin(name: string, commit: string): Promise<Problem | undefined> {
      await objects.run(['update-ref', '--no-deref', `refs/ralph/${run}/${name}`, commit]);
      // It is refused where the commit was not handed over.
      await own.repository.git.run(['update-ref', '--no-deref', `refs/ralph/kept/${run}/${name}`, commit]);
      return undefined;
    },
    /** What was kept under this name is in what has landed. */
    unpin: (name: string) => removeRefs(own.repository.git, `refs/ralph/kept/${run}/${name}/`),
    /** Hands commits over to the user's repository. */
    deliver: (commit: string, known: string) => deliver(own, commit, known),
  };
}

async function removeRefs(git: Git, below: string): Promise<void> {
  const { stdout } = await git.run(['for-each-ref', '--format=%(refname)', below]);
  for (const ref of stdout.split('\n').filter(Boolean))
    await git.run(['update-ref', '--no-deref', '-d', ref]);
}

async function publish(
  { repository }: OwnGit,
  shown: string,
  from: string | undefined,
  now: string | undefined,
): Promise<string | undefined> {
  const there = await commitOf(repository, shown);
  if (now === undefined || there === now) return undefined;
  const { git } = repository;
  const isOthers = there !== from && there !== undefined;
  const ref = `refs/ralph/kept/${shown.slice('refs/heads/ralph/'.length)}/${there}`;
  const unkept = isOthers ? await git.order(['update-ref', '--no-deref', ref, there], ref) : undefined;
  const move = ['update-ref', '--no-deref', shown, now, there ?? '0'.repeat(now.length)];
  const failed = unkept ?? (await git.order(move, nameOf(shown), 'it cannot be moved'));
  if (failed) return formatProblem(failed);
  return isOthers
    ? `${nameOf(shown)} was moved to ${there}, and not by Ralph: it was moved back to what has landed. What was there is kept: \`git log ${ref}\`.`
    : undefined;
}

function nameOf(ref: string): string {
  return ref.slice('refs/heads/'.length);
}

async function othersWords(objects: Git, shown: string, now: string | null | undefined): Promise<string> {
  const branch = nameOf(shown);
  if (!now) return `${branch} was deleted`;
  const { stdout } = await objects.run(['log', '-1', '--format=%an%n%s', now]);
  const [who = '', what = ''] = visible(stdout).split('\n', 2);
  return `${branch} was moved to ${now}${who === '' ? '' : ` by ${who} ("${what.slice(0, 80)}")`}`;
}

async function withFiles(own: OwnGit, tree: string, files: readonly OwnFile[]): Promise<string | Problem> {
  const blobOf = (content: string | Buffer) => {
    const oid = own.writeBlob(typeof content === 'string' ? Buffer.from(content) : content);
    return { mode: '100644', oid };
  };
  return own.treeWith(
    tree,
    files.map(([path, content]) => ({
      bytes: Buffer.from(path).toString('latin1'),
      after: content === undefined ? undefined : blobOf(content),
    })),
  );
}

async function readText(objects: Git, name: string): Promise<string | undefined> {
  return (await readAll(objects, ['cat-file', 'blob', name]))?.toString('utf8');
}

async function withFilesOf(
  own: OwnGit,
  tree: string,
  commit: string,
  paths: readonly string[],
): Promise<string | Problem> {
  const entries = await entriesAt(own.objects, commit, paths);
  if (isProblem(entries)) return entries;
  const bytes = (path: string) => Buffer.from(path).toString('latin1');
  return own.treeWith(
    tree,
    paths.map(path => ({ bytes: bytes(path), after: entries.get(path) })),
  );
}

const PATCH = ['-r', '-p', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color', '--full-index'];

function scopeWithout(except: readonly string[]): readonly string[] {
  return except.length === 0 ? [] : ['--', ':/', ...except.map(path => `:(exclude,top,literal)${path}`)];
}

export interface FileLines {
  readonly added: string[];
  readonly removed: string[];
  readonly isNew: boolean;
  readonly isGone: boolean;
  /** Git shows no lines of it: it is not text, or was made to look so. */
  readonly isOpaque: boolean;
}

const EXECUTABLE = '100755';

/** What has landed is compared with all that lands after it. */
function rememberLines(own: OwnGit) {
  const known = new Map<string, ReturnType<typeof changedLines>>();
  return (from: string, to: string, except: readonly string[]) => {
    const lines = known.get(`${from} ${to}`) ?? changedLines(own, from, to, except);
    known.set(`${from} ${to}`, lines);
    return lines;
  };
}

/** Empty lines are nobody's work. That a file can be run counts as a line of it. */
async function changedLines(
  own: OwnGit,
  from: string,
  to: string,
  except: readonly string[],
): Promise<ReadonlyMap<string, FileLines> | Problem> {
  const changed = await own.changedPaths(`${from}^{tree}`, `${to}^{tree}`);
  if (isProblem(changed)) return changed;
  const shown = await readAll(own.objects, ['diff-tree', ...PATCH, '-U0', from, to]);
  if (!shown) return { where: to, what: 'git cannot show what has changed in it' };
  // In the order of the list; lines of a file never begin with a letter. What turns into another kind of file goes and comes.
  const parts = shown
    .toString('utf8')
    .split(/^diff --git /m)
    .slice(1);
  const files = new Map<string, FileLines>();
  for (const { path, before, after } of changed) {
    const isOther = before && after && before.mode.slice(0, 2) !== after.mode.slice(0, 2);
    const texts = parts.splice(0, isOther ? 2 : 1);
    if (except.includes(path)) continue;
    const isOpaque = texts.some(text => /^Binary files /m.test(text));
    const lines: FileLines = { added: [], removed: [], isNew: !before, isGone: !after, isOpaque };
    files.set(path, lines);
    if (before?.mode !== after?.mode) {
      if (after?.mode === EXECUTABLE) lines.added.push(EXECUTABLE);
      if (before?.mode === EXECUTABLE) lines.removed.push(EXECUTABLE);
    }
    for (const line of texts.flatMap(text =>
      text
        .split(/^@@ .*$/m)
        .slice(1)
        .join('')
        .split('\n'),
    ))
      if (/^[+-].*\S/.test(line)) (line[0] === '+' ? lines.added : lines.removed).push(line.slice(1).trim());
  }
  return files;
}

/** Without what is around it the same change has the same name; without whitespace, as git's patch-id has it. */
async function patchOf(
  own: OwnGit,
  from: string,
  to: string,
  except: readonly string[],
): Promise<string | Problem> {
  const scope = scopeWithout(except);
  const shown = await readAll(own.objects, ['diff-tree', ...PATCH, '--binary', from, to, ...scope]);
  if (!shown) return { where: to, what: 'git cannot show what has changed in it' };
  const text = shown.toString('latin1');
  // The names of the whole files and the numbers of lines change with the files around; the lines do not.
  const lines = text.split('\n').filter(line => !/^(index |@@ )/.test(line));
  return sha256(lines.join('\n')).slice(0, 32);
}
