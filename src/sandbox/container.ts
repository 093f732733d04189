/** The provider on top of docker or podman: one container for each command, with nothing in it but what is mounted. */
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { capture } from '../platform/capture.ts';
import type { Command, Confined } from '../platform/confinement.ts';
import { errorLine } from '../platform/error-words.ts';
import { programPath as findOutside } from '../platform/programs.ts';
import { computeBinds } from './hidden.ts';
import type { OpenSandbox, Probe, ProbeWorld, SandboxProvider, SandboxSpec } from './provider.ts';
import { makeFolder, programPath } from './provider.ts';
import { type Door, startProxy } from './proxy.ts';

export const container: SandboxProvider = {
  name: 'container',
  level: 'container',
  leaves: 'all that is in the image, and in the work tree, can be read',
  probe: async world => {
    const found = await findEngine(world);
    return Array.isArray(found) ? { ok: true, what: found[0] ?? '' } : (found as Probe);
  },
  cannot: ({ secrets }) =>
    secrets.length === 0 ? [] : ['Only the srt sandbox hides keys: in the container they are visible.'],
  open,
};

const ENGINES = ['docker', 'podman'];
const PROBE_TIME = 60_000;

/** The engine that runs the image, as words; or why there is none. */
async function findEngine(world: ProbeWorld): Promise<readonly string[] | Probe> {
  const { image, engine } = world.container;
  if (image === undefined) {
    return {
      ok: false,
      why: 'no image is set',
      fix: 'set sandbox.image in the settings to an image that has the agent',
    };
  }
  let why = '';
  for (const [name = '', ...more] of engine ? [engine] : ENGINES.map(each => [each])) {
    const words = [findOutside(name, world.env, world.cwd), ...more];
    const { code, output } = await tried(words, world, image, ['sh', '-c', 'true']);
    if (code === 0) return words;
    why ||= errorLine(output) || `exit code ${code}`;
  }
  return {
    ok: false,
    why,
    fix: 'install and start docker or podman; the image must exist and have sh',
  };
}

function tried(engine: readonly string[], world: ProbeWorld, image: string, command: readonly string[]) {
  const argv = [...engine, 'run', '--rm', '--network', 'none', ...world.container.args, image, ...command];
  return capture(argv as [string, ...string[]], { cwd: world.cwd, env: world.env, timeout: PROBE_TIME });
}

async function open(
  spec: SandboxSpec,
  world: ProbeWorld,
  deny: (what: string) => void,
): Promise<OpenSandbox | Problem> {
  const where = 'sandbox container';
  const engine = await findEngine(world);
  if (!Array.isArray(engine)) {
    const { why, fix } = engine as Probe & { ok: false };
    return { where, what: why, fix: fix };
  }
  const image = spec.container.image ?? '';
  const isFiltered = spec.network.mode === 'allowlist';
  if (isFiltered && (await tried(engine, world, image, ['node', '-e', '0'])).code !== 0) {
    const what = `${image} has no node, which the list of hosts needs`;
    return { where, what, fix: 'use an image with node, or set sandbox.network to none or open' };
  }
  const { folder, scratch, rooms, remove } = makeFolder('ralph-box-');
  const box: Box = { engine, image, folder, label: basename(folder), spec, world };
  mkdirSync(join(folder, 'net'), { mode: 0o700 });
  const proxy = isFiltered ? await openDoor(box, deny) : undefined;
  return {
    scratch,
    rooms,
    wrap: async command => wrap(box, command),
    async close() {
      await removeAll(box);
      await proxy?.close();
      remove();
    },
  };
}

interface Box {
  readonly engine: readonly string[];
  readonly image: string;
  readonly folder: string;
  readonly label: string;
  readonly spec: SandboxSpec;
  readonly world: ProbeWorld;
}

function openDoor({ folder, spec, world }: Box, deny: (what: string) => void): Promise<Door> {
  copyFileSync(programPath('inside'), join(folder, 'net/inside.cjs'));
  const parent =
    world.env.HTTPS_PROXY || world.env.HTTP_PROXY || world.env.https_proxy || world.env.http_proxy;
  const { domains } = spec.network;
  return startProxy({ socket: join(folder, 'net/door'), domains, deny, ...(parent && { parent }) });
}

function wrap(box: Box, { argv, cwd, env, hide, room }: Command): Confined {
  const { engine, image, folder, label, spec, world } = box;
  const name = `${label}-${randomBytes(4).toString('hex')}`;
  const given = {
    ...visible(env),
    ...spec.env,
    TMPDIR: room ?? join(folder, 'tmp'),
    HOME: env.HOME || homedir(),
  };
  const door =
    spec.network.mode === 'allowlist' ? ['node', `${folder}/net/inside.cjs`, `${folder}/net/door`] : [];
  const words = [
    ...engine,
    'run',
    ...['--rm', '-i', '--name', name, '--label', `ralph=${label}`, '--workdir', cwd],
    ...['--network', spec.network.mode === 'open' ? 'host' : 'none'],
    ...HARDENED,
    ...userFlags(engine),
    ...limitFlags(spec),
    ...['--tmpfs', '/tmp:exec', '--tmpfs', `${given.HOME}:exec,mode=1777`],
    ...mountFlags(box, room ? [...(hide ?? []), ...spec.state] : hide, room),
    ...Object.keys(given).flatMap(key => ['--env', key]), // by name: no value on a command line
    ...world.container.args,
    image,
    ...door,
    ...argv,
  ];
  const undo = ['env', ...engineEnv(world.env), ...engine, 'rm', '--force', name];
  return {
    argv: words as [string, ...string[]],
    cwd,
    env: { ...world.env, ...given, HOME: given.HOME },
    undo: undo as [string, ...string[]],
  };
}

const HARDENED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

/** What is of this machine and means nothing in another, and what the door sets itself. */
const OF_THIS_MACHINE =
  /^(PATH|PWD|OLDPWD|SHELL|SHLVL|TMPDIR|HOSTNAME|_|.*_proxy|DISPLAY|XAUTHORITY|SSH_.*|XDG_.*|DBUS_.*|DOCKER_.*|LD_.*|NODE_OPTIONS)$/i;

function visible(env: Command['env']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || OF_THIS_MACHINE.test(name) ? [] : [[name, value]],
    ),
  );
}

/** What the engine's client goes by, for a command that is run without our environment. */
function engineEnv(env: ProbeWorld['env']): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && /^(HOME|DOCKER_\w+|CONTAINER_\w+|XDG_RUNTIME_DIR)$/.test(name)
      ? [`${name}=${value}`]
      : [],
  );
}

/** Files that are created inside belong to the user. */
function userFlags(engine: readonly string[]): readonly string[] {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid === undefined) return [];
  const rootless = basename(engine[0] ?? '') === 'podman' && uid !== 0 ? ['--userns', 'keep-id'] : [];
  return [...rootless, '--user', `${uid}:${gid}`];
}

function limitFlags({ limits: { memory, cpus, pids } }: SandboxSpec): readonly string[] {
  return [
    ...(memory === undefined ? [] : ['--memory', memory]),
    ...(cpus === undefined ? [] : ['--cpus', String(cpus)]),
    ...(pids === undefined ? [] : ['--pids-limit', String(pids)]),
  ];
}

/** Everything at the path it has outside. */
function mountFlags(
  { spec, folder }: Box,
  hide: Command['hide'],
  room = join(folder, 'tmp'),
): readonly string[] {
  const { writable, readOnly, hidden: secret } = computeBinds(spec, hide);
  const hidden = secret.filter(path => writable.some(root => path.startsWith(`${root}/`)));
  // As in CSV: a path may hold commas and quotes.
  const quoted = (field: string) => `"${field.replaceAll('"', '""')}"`;
  const bind = (source: string, path: string, mode: string) =>
    `type=bind,${quoted(`source=${source}`)},${quoted(`target=${path}`)}${mode}`;
  return [
    ...[...writable, room].map(path => bind(path, path, '')),
    ...[...readOnly, join(folder, 'net')].map(path => bind(path, path, ',readonly')),
    ...hidden.map(path =>
      statSync(path).isDirectory()
        ? `type=tmpfs,${quoted(`target=${path}`)}`
        : bind('/dev/null', path, ',readonly'),
    ),
  ].flatMap(mount => ['--mount', mount]);
}

/** After a clean end there is none; a client that was killed leaves one running. */
async function removeAll({ engine, label, world }: Box): Promise<void> {
  const ask = (...words: readonly string[]) =>
    capture([...engine, ...words] as unknown as [string, ...string[]], { ...world, timeout: PROBE_TIME });
  const { stdout } = await ask('ps', '--all', '--quiet', '--filter', `label=ralph=${label}`);
  const left = stdout.split('\n').filter(Boolean);
  if (left.length > 0) await ask('rm', '--force', ...left);
}
