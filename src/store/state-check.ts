/** Whether the state folder can be relied on. A run that cannot keep its records does not start: its proof would be weaker, in silence. */
import { accessSync, constants, existsSync, lstatSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, isReallyBelow, readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { refuseWindows } from '../platform/node-version.ts';
import { type Env, laterState, STATE_FORMAT, statePaths } from './state.ts';

const ELSEWHERE = 'set XDG_STATE_HOME to a folder of your own on a local disk, outside of every project';

/** Makes the folder where it is missing, and says why it cannot be used. */
export function openState(root: string, env: Env): Problem | undefined {
  const windows = refuseWindows();
  if (windows) return windows;
  const { folder, format, machine } = statePaths(env);
  const because = (what: string, fix = ELSEWHERE): Problem => ({ where: folder, what, fix });
  const inside = workTrees(root).find(top => isReallyBelow(folder, top));
  if (inside !== undefined)
    return because(`Ralph's state folder is inside the project ${inside}, where the agent can write to it`);
  if (isReallyBelow(root, folder)) {
    const what = `the project is inside Ralph's state folder, which agents and checks see empty: ${folder}`;
    return { where: root, what, fix: 'move the project elsewhere' };
  }
  const later = laterState(env);
  if (later) return later;
  try {
    ensureFolder(folder);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const unfit = whyUnfit(lookAt(folder));
    if (unfit) return because(unfit.what, unfit.fix);
    const stranger = checkMachine(machine);
    if (stranger) return because(stranger.what, stranger.fix);
    if (!existsSync(format)) writeAtomic(format, `${STATE_FORMAT}\n`);
    return undefined;
  } catch (error) {
    const what = `Ralph's state folder cannot be used (${errorWords(error)}), so nothing that is proven could be recorded`;
    return because(what, `make it a folder that you can write to, or ${ELSEWHERE}`);
  }
}

/** The project, and the repository that it is in. */
function workTrees(root: string): readonly string[] {
  for (let top = root; dirname(top) !== top; top = dirname(top))
    if (existsSync(join(top, '.git'))) return [...new Set([top, root])];
  return [root];
}

export interface FolderFacts {
  readonly folder: string;
  readonly owner: number;
  /** undefined: this system has no users. */
  readonly user: number | undefined;
  readonly mode: number;
  /** Of the file system, as the kernel numbers them. */
  readonly type: number;
}

function lookAt(folder: string): FolderFacts {
  const { uid: owner, mode } = statSync(folder);
  return { folder, owner, user: process.getuid?.(), mode, type: statfsSync(folder).type };
}

/** File systems of other machines: two of them could write at once, and neither could see what the other holds. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x73757245, 'Coda'],
  [0x00c36400, 'Ceph'],
]);

export function whyUnfit({ folder, owner, user, mode, type }: FolderFacts) {
  if (user !== undefined && owner !== user)
    return { what: `Ralph's state folder belongs to somebody else (user ${owner}, and you are ${user})` };
  if (user !== undefined && (mode & 0o022) !== 0)
    return { what: "Ralph's state folder can be written by others", fix: `chmod 700 '${folder}'` };
  const network = NETWORK.get(type >>> 0);
  if (network !== undefined)
    return { what: `Ralph's state folder is on a disk of another machine (${network})` };
  return undefined;
}

/** undefined where the machine has no name of its own, as in many containers: then nothing is compared. */
function machineName(): string | undefined {
  const id = ['/etc/machine-id', '/var/lib/dbus/machine-id'].map(path =>
    tryTo(() => readIfThere(path))?.trim(),
  );
  const found = id.find(each => each !== undefined && each !== '' && each !== 'uninitialized');
  // The id itself is for this machine only.
  return found === undefined ? undefined : sha256(`ralph ${found}`).slice(0, 16);
}

function checkMachine(path: string) {
  const name = machineName();
  if (name === undefined) return undefined;
  const known = lstatSync(path, { throwIfNoEntry: false }) ? readIfThere(path)?.trim() : undefined;
  if (known === undefined) writeAtomic(path, `${name}\n`);
  if (known === undefined || known === name) return undefined;
  return {
    what: "Ralph's state folder is that of another machine",
    fix: `if you moved it here, remove '${path}'; if both machines use it, ${ELSEWHERE}`,
  };
}
