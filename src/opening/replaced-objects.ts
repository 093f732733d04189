/** What git shows in place of the objects that are named: what the inside makes of it would change what the user sees of the history. */
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Violation } from '../domain/run/evidence.ts';
import { readIfThere, tryTo } from '../platform/files.ts';
import type { Repository } from '../workspace/repository.ts';

const REPLACE = 'refs/replace/';

/** Returns what puts the replacements back to how they are now, wherever git keeps them. */
export function keepReplacements({ git, commonDir }: Repository): () => readonly Violation[] {
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

function listIn(git: Repository['git']): ReadonlyMap<string, string> {
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
