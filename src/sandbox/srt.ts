/** The provider on top of @anthropic-ai/sandbox-runtime: bubblewrap and a proxy on Linux, seatbelt on a Mac. */
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { capture } from '../platform/capture.ts';
import type { Command, Confined, NotConfined } from '../platform/confinement.ts';
import { isBelow } from '../platform/files.ts';
import { type Helper, startHelper } from '../platform/helper.ts';
import { findProgram } from '../platform/programs.ts';
import { joinWords } from '../platform/shell.ts';
import { computeBinds } from './hidden.ts';
import { filterKeyCalls } from './key-calls.ts';
import type { OpenSandbox, Probe, ProbeWorld, SandboxProvider, SandboxSpec } from './provider.ts';
import { makeFolder, programPath } from './provider.ts';
import type { Question, SrtConfig } from './srt-host.ts';

export const srt: SandboxProvider = {
  name: 'srt',
  level: 'process',
  leaves:
    'files outside of your home, and in it those whose names do not say that they are secret, can be read; named pipes of yours can be written to',
  probe,
  cannot: ({ limits }) =>
    Object.keys(limits).length === 0
      ? []
      : ['Only the container sandbox limits memory, processors and processes.'],
  open,
};

/** Exactly this one: it is a preview, and its interface moves. */
export const SRT_PACKAGE = '@anthropic-ai/sandbox-runtime@0.0.83';

async function probe(world: ProbeWorld): Promise<Probe> {
  const empty = { mode: 'none', domains: [] } as const;
  const spec: SandboxSpec = {
    cwd: tmpdir(),
    writable: [],
    state: [],
    trusted: [],
    hidden: [],
    network: empty,
    secrets: [],
    limits: {},
    container: { args: [] },
    env: {},
  };
  const opened = await open(spec, world, () => {});
  if (!('wrap' in opened)) return { ok: false, why: opened.what, fix: opened.fix ?? '' };
  try {
    const command = await opened.wrap({ argv: ['true'], cwd: opened.scratch, env: world.env });
    if ('code' in command) return broken(command.code);
    const { code, output } = await capture(command.argv, { ...command, timeout: PROBE_TIME });
    return code === 0 ? { ok: true, what: MADE_OF } : broken(output);
  } finally {
    await opened.close();
  }
}

const PROBE_TIME = 20_000;
const MADE_OF = process.platform === 'darwin' ? 'seatbelt' : 'bubblewrap';

function broken(output: string): Probe {
  const why = output.trim().split('\n').at(-1) || 'does not start';
  return { ok: false, why, fix: fixOf(why) };
}

async function open(
  spec: SandboxSpec,
  world: ProbeWorld,
  deny: (what: string) => void,
): Promise<OpenSandbox | Problem> {
  const { cwd, env } = world;
  // Outside of the project: what the runtime binds into its own folder must not show up among the user's files.
  const { folder, scratch, rooms, remove } = makeFolder('ralph-srt-');
  const helper = startHelper({
    program: programPath('srt-host'),
    cwd: folder,
    work: cwd,
    env: { ...env, CLAUDE_CODE_TMPDIR: scratch },
    onMessage: line => void (typeof line === 'string' && isDenial(line) && deny(readable(line))),
  });
  const close = async () => {
    await helper.close();
    remove();
  };
  const config = { ...configOf(spec, scratch), ...tighterBwrap(folder, spec, world) };
  const opened = await helper.ask({ do: 'open', config } satisfies Question);
  if ('error' in opened) {
    await close();
    return { where: 'sandbox srt', ...troubleOf(opened.error) };
  }
  return { scratch, rooms, close, wrap: command => wrap(helper, spec, scratch, command) };
}

/**
 * bubblewrap for what the runtime leaves open: what one command leaves in shared memory, in a message queue, in a keyring, or in a folder that
 * may be written whatever the rules say, the next one would find. And for root the settings of the kernel, of which some name a program that is run
 * outside.
 */
function tighterBwrap(
  folder: string,
  { state }: SandboxSpec,
  { cwd, env }: ProbeWorld,
): Pick<SrtConfig, 'bwrapPath'> {
  const bwrap = findProgram('bwrap', env, cwd);
  if (process.platform !== 'linux' || typeof bwrap !== 'string') return {};
  const home = env.HOME || homedir();
  const open = ['/tmp/claude', join(home, '.npm/_logs'), join(home, '.claude/debug')];
  const own = open.filter(path => existsSync(path) && !state.some(folder => isBelow(path, folder)));
  const mounts = joinWords([...own.flatMap(path => ['--tmpfs', path]), '--ro-bind', KERNEL, KERNEL]);
  const [path, filter, calls] = [join(folder, 'bwrap'), join(folder, 'calls'), filterKeyCalls()];
  if (calls) writeFileSync(filter, calls, { mode: 0o600 });
  const filtered = calls ? `--seccomp 9 "$@" 9< ${joinWords([filter])}` : '"$@"';
  const start = `exec ${joinWords([bwrap])} --unshare-ipc ${filtered}`;
  writeFileSync(path, `#!/bin/sh\n${BEFORE_COMMAND(mounts)}${start}\n`, { mode: 0o700 });
  return { bwrapPath: path };
}

const KERNEL = '/proc/sys';

/** After all other mounts: the last one counts. */
const BEFORE_COMMAND = (mounts: string) => `n=$# more=1
while [ $n -gt 0 ]; do
  if [ "$more$1" = 1-- ]; then set -- "$@" ${mounts}; more=; fi
  set -- "$@" "$1"; shift; n=$((n - 1))
done
`;

/** `hide`: folders that look empty, whatever else is said of them. */
function filesOf(spec: SandboxSpec, scratch: string, hide: readonly string[] = []): SrtConfig['filesystem'] {
  const literal = (path: string) => ({ path, literal: true as const });
  const { writable, readOnly, hidden } = computeBinds(spec, hide);
  return {
    denyRead: [...hidden, ...hide].map(literal),
    allowWrite: [...writable, scratch].map(literal),
    denyWrite: readOnly.map(literal),
  };
}

function configOf(spec: SandboxSpec, scratch: string): SrtConfig {
  const { network, secrets } = spec;
  return {
    filesystem: filesOf(spec, scratch),
    network: {
      deniedDomains: [],
      ...(network.mode !== 'open' && {
        allowedDomains: network.mode === 'none' ? [] : [...network.domains],
        strictAllowlist: true,
      }),
      ...(secrets.length > 0 && { tlsTerminate: {} }),
    },
    ...(secrets.length > 0 && {
      credentials: {
        envVars: secrets.map(({ env: name, hosts }) => ({
          name,
          mode: 'mask' as const,
          injectHosts: [...hosts],
        })),
        allowPlaintextInject: true,
      },
    }),
  };
}

async function wrap(
  helper: Helper,
  spec: SandboxSpec,
  scratch: string,
  { argv, cwd, env, hide = [], room }: Command,
): Promise<Confined | NotConfined> {
  const id = randomBytes(16).toString('base64url');
  const inside = `RALPH_INSIDE=${id}`;
  const more = Object.entries({ ...spec.env, TMPDIR: room ?? scratch }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const command = joinWords(['exec', 'env', inside, ...more, ...argv]);
  const files = room ? filesOf(spec, room, [...hide, scratch, ...spec.state]) : filesOf(spec, scratch, hide);
  const answer = await helper.ask({ do: 'wrap', id, command, files } satisfies Question);
  if ('error' in answer) return { code: `the sandbox has ended: ${answer.error}` };
  return { argv: answer.ok as [string, ...string[]], cwd, env, inside };
}

/** A write through an open folder is reported under a path that says nothing. */
function isDenial(line: string): boolean {
  return !/ \/proc\/self\/fd\//.test(line);
}

/** `deny openat /etc/x` → `write /etc/x`. The path is what the inside said it was: a hint, nothing to rely on. */
function readable(line: string): string {
  const [, verb = '', rest = ''] = /^deny (\S+) (.*)$/s.exec(line) ?? ['', '', line];
  return `${verb.startsWith('network') ? 'connect to' : (VERBS[verb] ?? 'write')} ${rest}`;
}

const VERBS: Readonly<Record<string, string>> = {
  unlink: 'delete',
  unlinkat: 'delete',
  rmdir: 'delete',
  socket: 'open a socket',
};

function troubleOf(error: string): { readonly what: string; readonly fix: string } {
  if (error.includes("Cannot find package '@anthropic-ai/sandbox-runtime'"))
    return { what: 'it is not installed', fix: `npm install -g ${SRT_PACKAGE}` };
  return { what: error, fix: fixOf(error) };
}

function fixOf(why: string): string {
  if (process.platform === 'darwin') return 'brew install ripgrep';
  if (/not (found|installed|available)|ENOENT|dependenc/i.test(why))
    return 'sudo apt-get install bubblewrap socat ripgrep (or the same from your package manager)';
  return 'user namespaces may be disabled: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 kernel.unprivileged_userns_clone=1';
}
