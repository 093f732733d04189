/** What git shows in place of what was committed: what the inside makes of it would change what the user's own git shows afterwards. */
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Violation } from '../domain/run/evidence.ts';
import { readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import type { GitFolders } from '../workspace/refs.ts';

const REPLACE = 'refs/replace/';

/** Returns what puts replacements and grafts back to how they are now, and says which they were. */
export function keepHistory(folders: GitFolders): () => readonly Violation[] {
  const [replacements, grafts] = [keepReplacements(folders), keepGrafts(folders)];
  return () => [...replacements(), ...grafts()];
}

function keepGrafts({ git, commonDir }: GitFolders): () => readonly Violation[] {
  const path = join(commonDir, 'info/grafts');
  const isThere = () => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  const read = () => (isThere() ? tryTo(() => readIfThere(path)) : '');
  const before = read();
  return () => {
    if (read() === before) return [];
    const restored = tryTo(() => {
      rmSync(path, { recursive: true, force: true });
      if (before) writeWhole(path, before);
      return true;
    });
    return [
      { what: `${relative(git.cwd, path)} (git would show another history)`, restored: restored === true },
    ];
  };
}

/** Wherever git keeps them. */
function keepReplacements({ git, commonDir }: GitFolders): () => readonly Violation[] {
  const read = () => (mayHold(commonDir) ? listIn(git) : new Map<string, string>());
  const before = read();
  return () => {
    const now = read();
    const names = [...new Set([...before.keys(), ...now.keys()])];
    const changed = names.filter(name => before.get(name) !== now.get(name));
    if (changed.length === 0) return [];
    const orders = changed.map(name => {
      const oid = before.get(name);
      return oid === undefined ? `delete ${name}` : `update ${name} ${oid}`;
    });
    const { code } = git.ask(['update-ref', '--stdin'], `${orders.join('\n')}\n`);
    return changed.map(name => ({
      what: `${name} (git would show ${now.get(name) ?? 'it'} in place of that object)`,
      restored: code === 0,
    }));
  };
}

function listIn(git: GitFolders['git']): ReadonlyMap<string, string> {
  const { stdout } = git.ask(['for-each-ref', '--format=%(refname) %(objectname)', REPLACE], '');
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  return new Map(lines.map(line => line.split(' ') as [string, string]));
}

/** To ask git costs a process. */
function mayHold(commonDir: string): boolean {
  const packed = join(commonDir, 'packed-refs');
  const isFile = tryTo(() => lstatSync(packed).isFile()) === true;
  return (
    ['reftable', REPLACE].some(name => existsSync(join(commonDir, name))) ||
    (isFile && (tryTo(() => readIfThere(packed)) ?? '').includes(` ${REPLACE}`))
  );
}
