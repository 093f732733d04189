/** What the rig knows of a real agent CLI: where it is installed and how to point it at the scripted model server. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Step, ToolUse } from '../model-server/script.ts';
import type { ModelServerOptions } from '../model-server/server.ts';
import pins from './pins.json' with { type: 'json' };
import type { Place } from './place.ts';

export type HostName = keyof typeof pins;

/** What a user of this agent would have on his machine. */
export interface Setup {
  /** Added to the place's bare environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What the user would put into Ralph's `agent.flags`. */
  readonly flags: readonly string[];
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

export interface Limit {
  readonly step: Step;
  /** Seconds from now. */
  readonly resetsIn: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Host {
  readonly name: HostName;
  /** What a user must know that no row of the table of agents tells, a sentence each. */
  readonly traps: readonly string[];
  /** What the model server must answer beyond the script for this client. */
  readonly server?: Pick<ModelServerOptions, 'sides' | 'also'>;
  /** Writes the agent's configuration into the place's fresh home; `url` is the model server's. */
  setUp(place: Place, url: string): Promise<Setup>;
  /** One headless turn without Ralph: the prompt comes on stdin, a JSON stream goes to stdout, nothing is asked. */
  argv(place: Place, flags: readonly string[]): readonly string[];
  /** The call that starts a sub-agent on the task `prompt` and waits for it; more flags where it takes them. */
  subagent?(prompt: string, url: string): { readonly use: ToolUse; readonly flags?: readonly string[] };
  /** How it is set up when it may try again as often as for its users; for recordings. */
  patient?(url: string): Partial<Setup>;
  /** Lines of its stream whose number and order depend on the speed of the machine; left out of recordings. */
  readonly unsteady?: RegExp;
  /** How its provider says that a limit is used up and when it ends; a 429 with an hour of retry-after unless told. */
  limit?(): Limit;
  /** The agent's last words in the stream. */
  reply(events: readonly unknown[]): string;
  /** The tokens of the whole run as the agent reports them; undefined when it does not. */
  usage(events: readonly unknown[], place: Place): Tokens | undefined;
}

export const HOST_NAMES = Object.keys(pins) as readonly HostName[];

export function pinnedVersion(name: HostName): string {
  return pins[name].version;
}

/** Where this agent is installed. */
export function hostFolder(name: HostName): string {
  return join(process.env.RALPH_HOSTS_DIR || join(homedir(), '.cache', 'ralph-hosts'), name);
}

/** The installed executable. Throws unless the pinned version is there: a host test must fail then, never be skipped. */
export function hostCommand(name: HostName): string {
  const wanted = JSON.stringify(pins[name].packages);
  if (installedPackages(name) !== wanted) {
    throw new Error(`${name} ${pinnedVersion(name)} is not installed: run "npm run hosts:install"`);
  }
  return join(hostFolder(name), pins[name].bin);
}

/** The agent's own folder comes first: a host that needs another Node brings it along. */
export function hostPath(name: HostName): string {
  return [dirname(hostCommand(name)), process.env.PATH ?? ''].join(delimiter);
}

function installedPackages(name: HostName): string | undefined {
  try {
    const marker: unknown = JSON.parse(readFileSync(join(hostFolder(name), 'ralph-host.json'), 'utf8'));
    return JSON.stringify((marker as { readonly packages?: unknown }).packages);
  } catch {
    return undefined;
  }
}
