/** Whether the objects of a repository are what their names say: git itself does not look. */
import { createHash, type Hash } from 'node:crypto';
import { complaint, type Git } from '../../platform/git.ts';
import { readAll } from '../../workspace/own-objects.ts';
import { type Claim, claims } from './claim.ts';

/**
 * Why they are not believed: these, and all that is in these trees; undefined: they are. What is not here is passed over: whoever fetches it
 * gets what its name says.
 */
export async function doubtOf(
  git: Git,
  { names, trees }: { readonly names: readonly string[]; readonly trees: readonly string[] },
): Promise<Claim | undefined> {
  const below = trees.length === 0 ? [] : (await readAll(git, [...LIST, ...trees]))?.toString().split('\n');
  const known = below?.filter(name => /^[0-9a-f]{40,64}$/.test(name)) ?? [];
  const reader = createReader();
  const input = [...new Set([...names, ...known])].map(name => `${name}\n`).join('');
  const { code, errors } = await git.stream(['cat-file', '--batch'], reader.read, input);
  const forged = reader.forged()?.slice(0, 12);
  if (forged !== undefined) {
    const why = `the object ${forged} of this repository is not what its name says: \`git fsck\` shows what was changed`;
    return claims.fails('commit', why);
  }
  if (code === 0 && below) return undefined;
  const why = below ? `: ${complaint(errors, code)}` : '';
  return claims.unknown('commit', `git cannot read all of it${why}. \`git fsck\` shows what is damaged`);
}

/** Files and folders; what is missing has a `?` before its name, and is not fetched. */
const LIST = ['rev-list', '--objects', '--no-object-names', '--missing=print'];

/** Reads `<oid> <type> <size>`, the content, a line break; or `<name> missing`. A content may be larger than the memory. */
function createReader() {
  let forged: string | undefined;
  let line = '';
  let at: Reading | undefined;
  return {
    read(chunk: Buffer): 'more' | 'enough' {
      for (let from = 0; from < chunk.length && forged === undefined; ) {
        if (at) {
          const part = chunk.subarray(from, from + at.left);
          from += part.length;
          at.left -= part.length;
          at.hash.update(at.left === 0 ? part.subarray(0, -1) : part);
          if (at.left > 0) break;
          if (at.hash.digest('hex') !== at.oid) forged = at.oid;
          at = undefined;
          continue;
        }
        const end = chunk.indexOf('\n', from);
        line += chunk.toString('latin1', from, end < 0 ? chunk.length : end);
        from = end < 0 ? chunk.length : end + 1;
        if (end < 0) break;
        at = beginReading(line);
        line = '';
      }
      return forged === undefined ? 'more' : 'enough';
    },
    forged: () => forged,
  };
}

interface Reading {
  readonly oid: string;
  readonly hash: Hash;
  /** Bytes, with the line break behind them. */
  left: number;
}

function beginReading(header: string): Reading | undefined {
  const [, oid, kind, size] = /^([0-9a-f]{40,64}) ([a-z]+) (\d+)$/.exec(header) ?? [];
  if (oid === undefined) return undefined;
  const hash = createHash(oid.length > 40 ? 'sha256' : 'sha1').update(`${kind} ${size}\0`);
  return { oid, hash, left: Number(size) + 1 };
}
