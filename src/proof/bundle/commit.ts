/** Whether a repository holds what was proven. git follows no replacement for it and fetches nothing. */
import { isProblem } from '../../domain/text/problem.ts';
import { complaint, type Git, git as gitAt } from '../../platform/git.ts';
import { sha256 } from '../../platform/hash.ts';
import { type OwnGit, openOwnGit } from '../../workspace/own-git.ts';
import type { Place } from '../../workspace/repository.ts';
import { type Claim, claims } from './claim.ts';
import type { Predicate } from './format.ts';
import { doubtOf } from './objects.ts';

/** What the claims about a repository rest on. */
export interface Handed extends Pick<Predicate, 'proof' | 'protected'> {
  /** The tree of the commit, by the ledger; undefined: it does not say. */
  readonly committed: string | undefined;
  /** The commit that is asked about, as git knows it. */
  readonly asked: string;
}

export interface InRepository {
  readonly claims: readonly Claim[];
  /** undefined: what was proven is not here. */
  readonly found: Found | undefined;
}

/** The tree that was proven, and the commit of this repository that holds it; without one the files here are it. */
export interface Found {
  readonly tree: string;
  readonly commit?: string;
}

interface Looked {
  readonly claim: Claim;
  readonly found?: Found;
  /** Where the objects of the tree are, if not in the repository. */
  readonly objects?: Git;
}

export async function claimsOfRepository(place: Place, handed: Handed): Promise<InRepository> {
  const { commit, tree } = handed.proof;
  if (tree === null)
    return {
      claims: [claims.unknown('commit', 'nothing was checked in a git repository')],
      found: undefined,
    };
  const names = [
    ...(commit === null ? [] : [`${commit}^{commit}`, `${commit}^{tree}`]),
    `${handed.asked}^{commit}`,
    `${handed.asked}^{tree}`,
    ...waysTo(handed.protected).map(path => `${tree}:${path}`),
  ];
  const git = readOnly(place);
  const answers = await askGit(git, names);
  if (typeof answers === 'string') return { claims: [claims.unknown('commit', answers)], found: undefined };
  const known = [...answers].map(([name, { oid }]) => ({ name, oid }));
  const doubt = await doubtOf(git, {
    names: known.map(({ oid }) => oid),
    trees: known.filter(({ name }) => name.endsWith('^{tree}')).map(({ oid }) => oid),
  });
  if (doubt) return { claims: [doubt], found: undefined };
  const { claim, found, objects } =
    commit === null
      ? await holderOf(place, tree, askedIn(handed, answers))
      : await committedTree(
          place,
          { commit, tree, committed: handed.committed },
          askedIn(handed, answers),
          answers,
        );
  const inTree = objects ? await askGit(objects, names) : answers;
  const isHere = found !== undefined && typeof inTree !== 'string';
  const files = handed.protected.length === 0 ? [] : [protectedClaim(handed, isHere ? inTree : undefined)];
  return { claims: [claim, ...files], found };
}

/** The files, and the folders on the way to them: any of those could lead to another file. */
function waysTo(files: Handed['protected']): readonly string[] {
  const folders = files.flatMap(({ path }) =>
    [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index)),
  );
  return [...new Set([...folders, ...files.map(({ path }) => path)])];
}

/** The commit that is asked about; undefined: there is none. */
interface Asked {
  readonly name: string;
  readonly commit: string | undefined;
  readonly tree: string | undefined;
}

function askedIn({ asked: name }: Handed, answers: Answers): Asked {
  return {
    name,
    commit: answers.get(`${name}^{commit}`)?.oid,
    tree: answers.get(`${name}^{tree}`)?.oid,
  };
}

type Answers = ReadonlyMap<string, Answer>;

interface Answer {
  readonly oid: string;
  /** Of a file: its content. */
  readonly content?: Buffer;
}

interface Committed {
  readonly commit: string;
  readonly tree: string;
  readonly committed: string | undefined;
}

async function committedTree(
  place: Place,
  { commit, tree, committed }: Committed,
  asked: Asked,
  answers: Answers,
): Promise<Looked> {
  const short = commit.slice(0, 12);
  if (answers.get(`${commit}^{commit}`)?.oid !== commit) {
    if (asked.commit === undefined || asked.tree !== tree)
      return { claim: claims.unknown('commit', `this repository does not have ${short}: ${FETCH}`) };
    const words = `${asked.commit.slice(0, 12)} holds the tree that was checked; the commit of the run, ${short}, is not here`;
    return { claim: claims.holds('commit', words), found: { tree, commit: asked.commit } };
  }
  const its = answers.get(`${commit}^{tree}`)?.oid;
  if (its === tree) return { claim: holding(commit, { tree, asked }), found: { tree, commit } };
  const beside = await besideTree(place, commit, tree);
  if (beside) return beside(asked);
  const why =
    its !== undefined && its === committed
      ? "is not the whole tree that was checked: files of the user's own were left out of it"
      : 'holds another tree than the one that was checked';
  return { claim: claims.fails('commit', `${short} ${why}`) };
}

/** Of another commit than the one that was checked the bundle says nothing, also where both are here. */
function holding(
  commit: string,
  { tree, asked }: { readonly tree: string; readonly asked: Asked },
  beside = '',
): Claim {
  const short = commit.slice(0, 12);
  const words = `${short} holds the tree that was checked${beside}`;
  const and = beside ? '; it' : ', and';
  const here = asked.name === 'HEAD' ? 'is HEAD here' : 'is the commit that you named';
  if (asked.commit === commit) return claims.holds('commit', `${words}${and} ${here}`);
  if (asked.tree === tree) return claims.holds('commit', `${words}; ${asked.name} has the same files`);
  const other = `${asked.name} is another commit (${asked.commit?.slice(0, 12) ?? 'none'}), of which the bundle says nothing`;
  return claims.fails(
    'commit',
    `${words}; ${other}. To ask about the one that was checked: --commit ${short}`,
  );
}

/** What users commit of Ralph's own folder. Anything else in it may be part of the program, and no snapshot holds it. */
const SETTINGS = /(^|\/)\.ralph\/(settings\.json|\.gitignore)$/;

/** Where the commit holds the tree and beside it only settings of Ralph's. */
async function besideTree(place: Place, commit: string, tree: string) {
  const own = await openOwnGit(place);
  const its = isProblem(own) ? own : await own.treeOf(commit);
  if (isProblem(own) || isProblem(its)) return undefined;
  const without = await withoutOurs(own, its, tree);
  if (!without) return undefined;
  return (asked: Asked): Looked => {
    const strange = without.ours.find(path => !SETTINGS.test(path));
    if (strange !== undefined) {
      const why = `holds ${strange} beside the tree that was checked: no check is known to have seen it as it is there`;
      return { claim: claims.fails('commit', `${commit.slice(0, 12)} ${why}`) };
    }
    const [submodule] = without.submodules;
    if (submodule !== undefined) {
      const why = `holds the tree that was checked, and the submodule ${submodule} beside it: no snapshot holds its files`;
      return { claim: claims.unknown('commit', `${commit.slice(0, 12)} ${why}`) };
    }
    const beside = `, and ${without.ours.join(', ')} beside it`;
    const claim = holding(commit, { tree, asked }, beside);
    return { claim, found: { tree, commit }, objects: own.objects };
  };
}

/** The run may have been one of any folder that has a folder of Ralph's. undefined: the rest of it is another tree. */
async function withoutOurs(own: OwnGit, its: string, tree: string) {
  const listed = await own.listTree(its);
  const roots = (isProblem(listed) ? [] : listed).flatMap(({ bytes }) => {
    const root = /^(|.*?\/)\.ralph\//s.exec(bytes)?.[1];
    return root === undefined ? [] : [Buffer.from(root, 'latin1').toString('utf8')];
  });
  for (const root of [...new Set([own.root, ...roots])].slice(0, MOST_ROOTS)) {
    const without = await own.asSnapshot(its, root);
    if (!isProblem(without) && without.tree === tree) return without;
  }
  return undefined;
}

const MOST_ROOTS = 20;

const FETCH = 'fetch it, or name another clone with --repo';

/** Nothing was committed by Ralph: a later commit, or the files as they are, may hold the tree. */
async function holderOf(place: Place, tree: string, asked: Asked): Promise<Looked> {
  if (asked.commit !== undefined && asked.tree === tree)
    return { claim: holding(asked.commit, { tree, asked }), found: { tree, commit: asked.commit } };
  const beside = asked.commit === undefined ? undefined : await besideTree(place, asked.commit, tree);
  if (beside) return beside(asked);
  const own = await openOwnGit(place);
  const now = isProblem(own) ? own : await own.snapshot();
  if (!isProblem(own) && !isProblem(now) && now.tree === tree) {
    const words = 'the files here are the tree that was checked; it is not committed';
    return { claim: claims.holds('commit', words), found: { tree }, objects: own.objects };
  }
  const commit = await commitWith(place, tree);
  if (commit !== undefined) return { claim: holding(commit, { tree, asked }), found: { tree, commit } };
  const why = `no commit of this repository holds the tree that was checked (${tree.slice(0, 12)}): ${FETCH}`;
  return { claim: claims.unknown('commit', why) };
}

/** So many commits are looked at, the latest first. */
const MOST_COMMITS = '20000';

async function commitWith({ cwd, env }: Place, tree: string): Promise<string | undefined> {
  const args = ['log', '--all', `--max-count=${MOST_COMMITS}`, '--no-show-signature', '--format=%H %T'];
  let [found, rest] = ['', ''];
  await readOnly({ cwd, env }).stream(args, chunk => {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    found = lines.find(line => line.endsWith(` ${tree}`))?.split(' ')[0] ?? '';
    return found === '' ? 'more' : 'enough';
  });
  return found === '' ? undefined : found;
}

/** The bundle says how the protected files were; `answers` what they are in the tree, where that is here. */
function protectedClaim({ proof: { tree }, protected: files }: Handed, answers: Answers | undefined): Claim {
  if (!answers) return claims.unknown('protected files', 'the tree that was checked is not here');
  const counted = files.length === 1 ? '1 protected file' : `${files.length} protected files`;
  const differs = files.filter(({ path, sha256: hash }) => {
    const content = answers.get(`${tree}:${path}`)?.content;
    return content !== undefined && sha256(content) !== hash;
  });
  const [first] = differs;
  if (first) return claims.fails('protected files', `${first.path} is not what it was when the run began`);
  const missing = files.filter(({ path }) => !answers.has(`${tree}:${path}`));
  const [gone] = missing;
  if (gone)
    return claims.unknown(
      'protected files',
      `${gone.path} is not in the tree: git ignores it, or filters it`,
    );
  return claims.holds('protected files', `${counted}, as at the start of the run`);
}

function readOnly({ cwd, env }: Place) {
  return gitAt(cwd, env).with({ GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null' });
}

/** The objects of these names, as far as they are there; a sentence where there is no repository. */
async function askGit(git: Git, names: readonly string[]): Promise<Answers | string> {
  const chunks: Buffer[] = [];
  const read = (chunk: Buffer) => {
    chunks.push(chunk);
    return 'more' as const;
  };
  const { code, errors } = await git.stream(['cat-file', '--batch'], read, `${names.join('\n')}\n`);
  if (errors.includes('not a git repository'))
    return `${git.cwd} is not a git repository: name a clone with --repo`;
  if (code !== 0 && errors.includes('promisor'))
    return `${git.cwd} is a partial clone, and has not fetched all that is asked about: check the commit out there, which fetches it, or name a whole clone with --repo`;
  if (code !== 0) return `git cannot read ${git.cwd}: ${complaint(errors, code)}`;
  return answersIn(Buffer.concat(chunks), names);
}

const FOUND = /^([0-9a-f]{40,64}) ([a-z]+) (\d+)$/;

/** `<oid> <type> <size>`, the content, a line break; or `<name> missing`. */
function answersIn(output: Buffer, names: readonly string[]): Answers {
  const answers = new Map<string, Answer>();
  let at = 0;
  for (const name of names) {
    const end = output.indexOf(10, at);
    if (end === -1) break;
    const [, oid, type, size] = FOUND.exec(output.toString('latin1', at, end)) ?? [];
    at = end + 1;
    if (oid === undefined) continue; // it is missing, or ambiguous
    const content = output.subarray(at, at + Number(size));
    answers.set(name, { oid, ...(type === 'blob' && { content }) });
    at += Number(size) + 1;
  }
  return answers;
}
