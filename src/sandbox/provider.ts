/** A sandbox: can say whether it works here, and wraps commands so that they run confined. */

import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { askProgram } from '../platform/ask.ts';
import type { Confinement } from '../platform/confinement.ts';
import { timesTell } from '../platform/disk.ts';
import { tryTo } from '../platform/files.ts';
import { packageFile } from '../platform/package.ts';

export type ProviderName = 'srt' | 'container' | 'sbx';

/** What agent and checks may do. All paths are absolute; those that must exist are free of symbolic links. */
export interface SandboxSpec {
  /** Where they start. */
  readonly cwd: string;
  /** What may be written: the work tree, the repository's own folder, the agent's state. */
  readonly writable: readonly string[];
  /** Those of them that are the agent's own: no part of the work. */
  readonly state: readonly string[];
  /** What may not, though it lies in what may: where it is there when a command starts. */
  readonly trusted: readonly string[];
  /** What may not even be read. Each of them exists. */
  readonly hidden: readonly string[];
  readonly network: Network;
  readonly secrets: readonly Secret[];
  readonly limits: Limits;
  readonly container: ContainerOptions;
  /** Set for the command, over the user's environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** `allowlist`: only `domains`, through a proxy. */
export interface Network {
  readonly mode: 'none' | 'allowlist' | 'open';
  readonly domains: readonly string[];
}

/** A variable whose value the inside never sees; requests to `hosts` carry it all the same. */
export interface Secret {
  readonly env: string;
  readonly hosts: readonly string[];
}

export interface Limits {
  readonly memory?: string;
  readonly cpus?: number;
  readonly pids?: number;
}

export interface ContainerOptions {
  readonly image?: string;
  /** The program and its own flags. */
  readonly engine?: readonly string[];
  /** More flags for its `run`. */
  readonly args: readonly string[];
}

/** The machine as it is for a provider. */
export interface ProbeWorld {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly container: ContainerOptions;
}

export type Probe =
  /** `what` it is made of, in a few words. */
  | { readonly ok: true; readonly what: string }
  | { readonly ok: false; readonly why: string; readonly fix: string };

export interface SandboxProvider {
  readonly name: ProviderName;
  /** What it keeps apart, in a few words. */
  readonly level: 'virtual machine' | 'container' | 'process';
  /** Whether it works here, found out by running something in it. Never rejects. */
  probe(world: ProbeWorld): Promise<Probe>;
  /** What it neither hides nor protects, in any run. */
  readonly leaves: string;
  /** What of the spec it cannot keep, a sentence each. */
  cannot(spec: SandboxSpec): readonly string[];
  /** `deny` is called with what the sandbox has stopped, as it happens. */
  open(spec: SandboxSpec, world: ProbeWorld, deny: (what: string) => void): Promise<OpenSandbox | Problem>;
}

export interface OpenSandbox extends Confinement {
  /** A folder that can be written from inside, at the same path. */
  readonly scratch: string;
  /** Nothing of it is left afterwards. */
  close(): Promise<void>;
}

/** What sandboxes have of this machine: the programs that Ralph starts beside itself, and a folder of their own. */
export function programPath(name: 'srt-host' | 'inside'): string {
  return packageFile('dist/bin', `${name}.cjs`);
}

/**
 * Outside of the project, and free of links. `scratch` is the part of it that can be written from inside; `rooms` are for clean proofs, one
 * on a disk whose times tell of every write among them.
 */
export function makeFolder(prefix: string) {
  const made = (base: string) => mkdtempSync(join(realpathSync(base), prefix));
  const folder = made(tmpdir());
  const scratch = join(folder, 'tmp');
  mkdirSync(scratch, { mode: 0o700 });
  const other = timesTell(folder) ? undefined : tryTo(() => made('/var/tmp'));
  const rooms = other === undefined ? [folder] : [folder, other];
  const remove = () => {
    // By a program: what lies deeper than a path may be long, Node cannot remove.
    for (const room of rooms) askProgram({ argv: ['/bin/rm', '-rf', '--', room], cwd: '/', env: {} }, '');
  };
  return { folder, scratch, rooms, remove };
}
