/** Merges two commits without files, and reads from git what conflicts and how. */
import { isUtf8 } from 'node:buffer';
import {
  type Conflict,
  type ConflictKind,
  type ConflictPath,
  type FileEntry,
  isMadeUp,
} from '../domain/lanes/conflict.ts';
import { defined } from '../domain/text/fields.ts';
import type { Problem } from '../domain/text/problem.ts';
import { complaint, type Git } from '../platform/git.ts';
import { readEntries } from './own-objects.ts';
import { withUnionRules } from './union-rules.ts';

export interface Merged {
  /** The tree of the merge; where files conflict, as git leaves them. */
  readonly tree: string;
  readonly conflicts: readonly Conflict[];
}

/** `landed`: what is there already; `own`: the work that is merged with it. */
export async function mergeTrees(git: Git, landed: string, own: string): Promise<Merged | Problem> {
  const merged = await mergeOnce(git, landed, own);
  if ('what' in merged || !merged.conflicts.some(({ kind }) => kind === 'text')) return merged;
  return (await withUnionRules(git, landed, there => mergeOnce(there, landed, own))) ?? merged;
}

async function mergeOnce(git: Git, landed: string, own: string): Promise<Merged | Problem> {
  const flags = ['--write-tree', '-z', '--messages', '--allow-unrelated-histories'];
  const { code, records, errors } = await git.bytes(['merge-tree', ...flags, landed, own]);
  const [tree, ...rest] = records;
  if (tree === undefined || code > 1)
    return { where: own, what: `it cannot be merged: ${complaint(errors, code)}` };
  if (code === 0) return { tree, conflicts: [] };
  const end = rest.indexOf('');
  const stages = readStages(rest.slice(0, end < 0 ? undefined : end));
  const groups = withoutGroup(groupsIn(end < 0 ? [] : readMessages(rest.slice(end + 1))), [...stages.keys()]);
  const left = await entriesAt(
    git,
    tree,
    groups.flatMap(({ paths }) => paths),
  );
  if ('what' in left) return left;
  const conflicts = groups.map(({ types, paths }): Conflict => {
    const made = paths.filter(isMadeUp);
    // Where git made up a name, that is what must go.
    const counted = (made.length > 0 ? made : paths).map(path => ({
      path,
      ...stages.get(path),
      ...defined({ left: left.get(path) }),
    }));
    return { kind: kindOf(types, counted), paths: byStages(counted) };
  });
  return { tree, conflicts };
}

/** What is at these paths of a tree or commit; a path that is not there is not in it. */
export async function entriesAt(
  git: Git,
  tree: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, FileEntry> | Problem> {
  if (paths.length === 0) return new Map();
  // A name that is not UTF-8 cannot be asked for.
  const isNamed = paths.length <= MOST_NAMED && paths.every(path => !path.startsWith('"'));
  const scope = isNamed ? [tree, '--', ...paths] : ['-r', '-t', tree];
  const { code, records, errors } = await git.bytes(['ls-tree', '-z', '--full-tree', ...scope]);
  if (code !== 0) return { where: tree, what: `git cannot list it: ${complaint(errors, code)}` };
  return new Map(readTree(records));
}

const MOST_NAMED = 200;

function readTree(records: readonly string[]): readonly (readonly [string, FileEntry])[] {
  return readEntries(records).map(({ bytes, after }) => [decoded(bytes), after] as const);
}

/** One that is not UTF-8 as git quotes it: two such names stay two. */
function decoded(bytes: string): string {
  const name = Buffer.from(bytes, 'latin1');
  if (isUtf8(name)) return name.toString('utf8');
  return `"${bytes.replace(/[^ -~]|["\\]/g, byte => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`;
}

type Stages = Pick<ConflictPath, 'base' | 'landed' | 'own'>;

const SIDES = ['base', 'landed', 'own'] as const;

/** `MODE OBJECT STAGE\tPATH`. */
function readStages(records: readonly string[]): ReadonlyMap<string, Stages> {
  const stages = new Map<string, Stages>();
  for (const each of records) {
    const tab = each.indexOf('\t');
    const [mode = '', oid = '', stage = '1'] = each.slice(0, tab).split(' ');
    const side = SIDES[Number(stage) - 1] ?? 'base';
    const path = decoded(each.slice(tab + 1));
    stages.set(path, { ...stages.get(path), [side]: { mode, oid } });
  }
  return stages;
}

interface Message {
  readonly type: string;
  readonly paths: readonly string[];
}

/** How many paths, the paths, a type that stays the same, and a sentence. */
function readMessages(records: readonly string[]): readonly Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < records.length; ) {
    const count = Number(records[at]);
    if (!Number.isSafeInteger(count) || count < 0) break;
    const paths = records.slice(at + 1, at + 1 + count).map(decoded);
    const type = /^CONFLICT \((.+)\)$/.exec(records[at + 1 + count] ?? '')?.[1];
    if (type !== undefined) messages.push({ type, paths });
    at += count + 3;
  }
  return messages;
}

interface Group {
  readonly types: readonly string[];
  readonly paths: readonly string[];
}

/** Messages about the same path are about one thing to decide. */
function groupsIn(messages: readonly Message[]): readonly Group[] {
  return messages.reduce<readonly Group[]>((groups, { type, paths }) => {
    const isSame = (group: Group) => group.paths.some(path => paths.includes(path));
    const same = groups.filter(isSame);
    const all = [...same.flatMap(group => group.paths), ...paths];
    const joined = { types: [...same.flatMap(({ types }) => types), type], paths: [...new Set(all)] };
    return [...groups.filter(group => !isSame(group)), joined];
  }, []);
}

/** A path that conflicts is to be decided, also where git says nothing of it. */
function withoutGroup(groups: readonly Group[], staged: readonly string[]): readonly Group[] {
  const known = new Set(groups.flatMap(({ paths }) => paths));
  return [...groups, ...staged.filter(path => !known.has(path)).map(path => ({ types: [], paths: [path] }))];
}

const KINDS: Readonly<Record<string, ConflictKind>> = {
  binary: 'binary',
  'file/directory': 'file/folder',
  'distinct modes': 'type',
  'modify/delete': 'delete/change',
  'rename/rename': 'rename/rename',
  'rename/delete': 'rename/delete',
  'directory rename suggested': 'folder renamed',
};

const LINK = '120000';

/** git says `contents` of much: what is more exact counts. */
function kindOf(types: readonly string[], paths: readonly ConflictPath[]): ConflictKind {
  if (types.some(type => type.startsWith('submodule'))) return 'submodule';
  const [exact] = types.flatMap(type => KINDS[type] ?? []);
  if (exact) return exact;
  const isMode = paths.some(({ landed, own }) => landed && landed.oid === own?.oid);
  if (isMode) return 'mode';
  // Of two links one is there, without marks.
  if (paths.some(({ left }) => left?.mode === LINK)) return 'binary';
  return types.length === 0 || types.includes('contents') ? 'text' : 'other';
}

/** Those first of which both sides have something. */
function byStages(paths: readonly ConflictPath[]): readonly ConflictPath[] {
  const count = (path: ConflictPath) => SIDES.filter(side => path[side]).length;
  return [...paths].sort((one, other) => count(other) - count(one));
}
