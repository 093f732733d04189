/** The provider on top of Docker's `sbx`: a small virtual machine for each run, with its own network policy and keys. */
import { randomBytes } from 'node:crypto';
import type { Problem } from '../domain/text/problem.ts';
import { filterEnv } from '../domain/text/secrets.ts';
import { type Captured, capture } from '../platform/capture.ts';
import type { Command, Confined } from '../platform/confinement.ts';
import { errorLine } from '../platform/error-words.ts';
import { programPath as findOutside } from '../platform/programs.ts';
import { computeBinds } from './hidden.ts';
import type { OpenSandbox, Probe, ProbeWorld, SandboxProvider, SandboxSpec } from './provider.ts';
import { makeFolder } from './provider.ts';

export const sbx: SandboxProvider = {
  name: 'sbx',
  level: 'virtual machine',
  leaves: 'the work tree can be read; it hides no folder, so a clean proof sees what the agent left there',
  probe,
  cannot: ({ network, secrets, hidden, writable }) => [
    ...(network.mode === 'allowlist'
      ? [
          'sbx has its own list of hosts; those of this run are added. To start from an empty list: `sbx policy init deny-all`',
        ]
      : []),
    ...(secrets.length > 0 ? ['sbx manages keys itself: `sbx secret set`.'] : []),
    ...(hidden.some(path => writable.some(root => path.startsWith(`${root}/`)))
      ? ['Secret files in the project can be read in sbx.']
      : []),
  ],
  open,
};

const CREATE_TIME = 600_000;

async function probe({ cwd, env }: ProbeWorld): Promise<Probe> {
  const { code, output } = await capture([findOutside('sbx', env, cwd), 'ls'], {
    cwd,
    env,
    timeout: 20_000,
  });
  if (code === 0) return { ok: true, what: 'a virtual machine' };
  if (code === 127)
    return { ok: false, why: 'it is not installed', fix: 'https://docs.docker.com/ai/sandboxes/' };
  return { ok: false, why: errorLine(output), fix: 'sbx login' };
}

async function open(spec: SandboxSpec, world: ProbeWorld): Promise<OpenSandbox | Problem> {
  const { folder, scratch, remove } = makeFolder('ralph-sbx-');
  const name = `ralph-${randomBytes(6).toString('hex')}`;
  const sbx = findOutside('sbx', world.env, world.cwd);
  const ask = (...words: readonly string[]) =>
    capture([sbx, ...words], { cwd: folder, env: world.env, timeout: CREATE_TIME });
  const close = async () => {
    await ask('rm', '--force', name);
    remove();
  };
  const { writable, readOnly } = computeBinds(spec);
  const paths = [...writable, scratch, ...readOnly.map(path => `${path}:ro`)];
  const steps = [['create', '--name', name, 'shell', ...paths], ...policySteps(spec, name)];
  for (const step of steps) {
    const result = await ask(...step);
    if (result.code === 0) continue;
    await close();
    return problemOf(step, result);
  }
  return { scratch, close, wrap: async command => wrap(name, spec, scratch, command) };
}

function policySteps(
  { network: { mode, domains } }: SandboxSpec,
  name: string,
): readonly (readonly string[])[] {
  const step = (verb: string, host: string) => ['policy', verb, 'network', '--sandbox', name, host];
  if (mode === 'none') return [step('deny', '*')];
  return mode === 'open' ? [step('allow', '*')] : domains.map(host => step('allow', host));
}

function problemOf(step: readonly string[], { code, output }: Captured): Problem {
  const what = `\`sbx ${step.slice(0, 2).join(' ')}\` failed: ${errorLine(output) || `exit code ${code}`}`;
  return { where: 'sandbox sbx', what };
}

/** Keys are sbx's own affair: they would stand on a command line here. */
function wrap(name: string, spec: SandboxSpec, scratch: string, { argv, cwd, env }: Command): Confined {
  const given = { ...filterEnv(env, { hide: OF_THIS_MACHINE, keep: [] }), ...spec.env, TMPDIR: scratch };
  const flags = Object.entries(given).flatMap(([key, value]) =>
    value === undefined ? [] : ['-e', `${key}=${value}`],
  );
  return {
    argv: [findOutside('sbx', env, cwd), 'exec', '-i', '-w', cwd, ...flags, name, ...argv],
    cwd,
    env,
    // What the client's end leaves running in the machine.
    undo: ['sbx', 'exec', name, 'sh', '-c', 'kill -9 -- -1'],
  };
}

const OF_THIS_MACHINE = [
  'PATH',
  'HOME',
  'PWD',
  'OLDPWD',
  'SHELL',
  'SHLVL',
  'TMPDIR',
  '_',
  '*_PROXY',
  'XDG_*',
  'LD_*',
];
