/** An integration branch in memory: commits are files by name, and two changes of one file conflict. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Conflict } from '../../src/domain/lanes/conflict.ts';
import type { Integration } from '../../src/workspace/integration.ts';
import type { OwnGit } from '../../src/workspace/own-git.ts';

export type Files = Readonly<Record<string, string>>;

interface Commit {
  readonly files: Files;
  readonly parents: readonly string[];
  readonly message: string;
}

/** `base` is the commit that everything starts from. */
export function memory(base: Files) {
  const commits = new Map<string, Commit>([['base', { files: base, parents: [], message: 'base' }]]);
  const pins = new Map<string, string>();
  let at = 'base';
  const add = (files: Files, parents: readonly string[], message = 'work') => {
    const id = `c${commits.size}`;
    commits.set(id, { files, parents, message });
    return id;
  };
  const filesOf = (name: string): Files => {
    const id = name.replace('^{tree}', '');
    return commits.get(id)?.files ?? (JSON.parse(id) as Files);
  };
  const treeOf = (name: string) => JSON.stringify(filesOf(name));
  const ancestors = (id: string): readonly string[] => [
    id,
    ...(commits.get(id)?.parents ?? []).flatMap(ancestors),
  ];
  const baseOf = (one: string, other: string) =>
    ancestors(one).find(each => ancestors(other).includes(each)) ?? 'base';
  const changedPaths = (before: string, after: string) => {
    const [old, now] = [filesOf(before), filesOf(after)];
    const paths = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
    return paths
      .filter(path => old[path] !== now[path])
      .map(path => ({ path, before: old[path], after: now[path] }));
  };
  const merge = (tip: string, other: string) => {
    const from = baseOf(tip, other);
    const ours = new Set(changedPaths(from, tip).map(({ path }) => path));
    const files: Record<string, string | undefined> = { ...filesOf(tip) };
    const conflicts: Conflict[] = [];
    for (const { path, after } of changedPaths(from, other)) {
      const isSame = files[path] === after;
      if (!ours.has(path) || isSame) {
        files[path] = after;
        continue;
      }
      // What begins with `binary` is left as it has landed, as git does it.
      const isBinary = after?.startsWith('binary') === true;
      if (!isBinary) files[path] = `<<<<<<< ours\n${files[path]}\n=======\n${after}\n>>>>>>> theirs\n`;
      const left = { mode: '100644', oid: files[path] ?? '' };
      conflicts.push({ kind: isBinary ? 'binary' : 'text', paths: [{ path, left }] });
    }
    return { tree: JSON.stringify(files), conflicts };
  };
  // As much of it as the queue asks for.
  const own = {
    ...{ top: '/p', prefix: '', repository: { gitDir: '/p/.git', commonDir: '/p/.git' } },
    treeOf: async (commit: string) => treeOf(commit),
    bring: async () => undefined,
    // A file is called by what is in it.
    changedPaths: async (before: string, after: string) => {
      const blob = (oid: string | undefined) => (oid === undefined ? undefined : { mode: '100644', oid });
      return changedPaths(before, after).map(({ path, ...sides }) => ({
        path,
        before: blob(sides.before),
        after: blob(sides.after),
      }));
    },
    async checkoutAll(tree: string, folder: string) {
      for (const [path, text] of Object.entries(filesOf(tree))) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
    },
  } as unknown as OwnGit;
  const integration: Integration = {
    own,
    tip: async () => at,
    async swap(from, to) {
      if (at !== from) return false;
      at = to;
      return true;
    },
    others: async () => `it was moved to ${at}`,
    publish: async () => undefined,
    merge: async (tip, other) => merge(tip, other),
    baseOf: async (one, other) => baseOf(one, other),
    isAncestor: async (one, other) => ancestors(other).includes(one),
    async entriesAt(commit, paths) {
      const files = filesOf(commit);
      const there = paths.filter(path => files[path] !== undefined);
      return new Map(there.map(path => [path, { mode: '100644', oid: files[path] ?? '' }]));
    },
    withFiles: async (tree, files) => JSON.stringify({ ...filesOf(tree), ...Object.fromEntries(files) }),
    withFilesOf: async (tree, commit, paths) => {
      const there = paths.map(path => [path, filesOf(commit)[path]]);
      return JSON.stringify({ ...filesOf(tree), ...Object.fromEntries(there) });
    },
    readFile: async (commit, path) => filesOf(commit)[path],
    readBlob: async oid => oid,
    commit: async ({ tree, parents, message }) => add(filesOf(tree), parents, message),
    patchOf: async (from, to, except) =>
      JSON.stringify(changedPaths(from, to).filter(({ path }) => !except.includes(path))),
    changedLines: async () => new Map(),
    pin: async (name, commit) => void pins.set(name, commit),
    unpin: async name => void pins.delete(name),
    deliver: async () => undefined,
  };
  /** Somebody works on top of a commit. */
  const work = (onto: string, files: Files) => add({ ...filesOf(onto), ...files }, [onto]);
  const move = (to: string) => {
    at = to;
  };
  return { integration, work, filesOf, pins, move, commit: (id: string) => commits.get(id) };
}
