/** The sandbox of a run: chosen, opened, and the result reported. Without one, agent and checks are contained. */
import { lstatSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { relative } from 'node:path';
import { type AgentAdapter, NO_NEEDS } from '../agents/agent.ts';
import { ADAPTERS } from '../agents/registry.ts';
import type { Violation } from '../domain/run/evidence.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { filterEnv, type Visible } from '../domain/text/secrets.ts';
import type { Among, Confinement } from '../platform/confinement.ts';
import { isBelow, tryTo } from '../platform/files.ts';
import type { Sandbox } from '../run/steps.ts';
import type { RunContext } from '../run/turns/context.ts';
import { type Choice, chooseProvider } from '../sandbox/choose.ts';
import type { OpenSandbox } from '../sandbox/provider.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { beganAt } from '../store/run-file.ts';
import { moveAside } from '../workspace/set-aside.ts';
import { contain, guardState } from './contain.ts';
import { keepHistory } from './kept-history.ts';
import { containerOf, isThere, type PlannedSpec, planSpec } from './sandbox-spec.ts';

export type SandboxWorld = Pick<
  RunContext,
  'settings' | 'project' | 'cwd' | 'env' | 'paths' | 'emit' | 'disk' | 'start'
> & {
  /** Those that may work: the agent, and those that stand in for it. */
  readonly adapters: readonly AgentAdapter[];
  /** Of a run that is over. Milliseconds. */
  readonly ended?: number;
  /** Where others work beside it. A sandbox opens nothing there but its own place. */
  readonly among?: Omit<Among, 'view'> | undefined;
};

export type ChosenSandbox = Choice;

/** Before anything is written: whether there is what was asked for. */
export function chooseSandbox({
  settings: { sandbox },
  project: { root: cwd },
  env,
}: Pick<SandboxWorld, 'settings' | 'project' | 'env'>): Promise<ChosenSandbox | Problem> {
  return chooseProvider(sandbox.provider, { cwd, env, container: containerOf(sandbox) });
}

export async function openSandbox(
  { provider, what, refused }: ChosenSandbox,
  world: SandboxWorld,
): Promise<Sandbox | Problem> {
  const { settings, project, env, paths, emit, disk, start } = world;
  const history = start ? keepHistory(start.own.repository) : () => [];
  if (!provider) return noSandbox(world, refused, history);
  const agents = world.adapters.map(adapter => adapter.needs);
  const planned = await planSpec({ ...world, settings: settings.sandbox, agents });
  if (isProblem(planned)) return planned;
  const { spec, notices } = planned;
  const denials = createDenials(denied => emit({ type: 'denied', what: denied }));
  const probed = { cwd: spec.cwd, env, container: spec.container };
  const inside = await provider.open(
    { ...spec, env: { ...spec.env, RALPH_SANDBOX: provider.name } },
    probed,
    denials.add,
  );
  if (isProblem(inside)) return inside;
  const state = guardState(env, disk.failed);
  // A command nobody knows may be a wrapper of any of them.
  const isUnknown = world.adapters.some(adapter => adapter.needs === NO_NEEDS);
  const known = (isUnknown ? ADAPTERS.map(adapter => adapter.needs) : agents).flatMap(({ keys }) => keys);
  const keep = [...settings.keepEnv, ...spec.secrets.map(secret => secret.env)];
  const { mode, domains } = spec.network;
  return {
    agent: state.watch(within(inside, { hide: settings.hideEnv, keep: [...keep, ...known] }, THROUGH_PROXY)),
    checks: state.watch(within(inside, { hide: settings.hideEnv, keep })),
    contained: 'sandbox',
    words: `${provider.name} (${what}), network ${mode}${mode === 'allowlist' ? ` (${domains.join(', ') || 'nothing'})` : ''}`,
    notices: [
      ...notices,
      ...provider.cannot(spec),
      ...withheld(env, { hide: settings.hideEnv, keep: [...keep, ...known] }),
    ],
    takeDenials: denials.take,
    restore: () => [...restore(planned, project, paths.aside), ...history(), ...state.restore()],
    async close() {
      state.close();
      await inside.close();
    },
  };
}

/** An agent that cannot log in any more should not be a riddle. */
function withheld(env: SandboxWorld['env'], visible: Visible): readonly string[] {
  const seen = filterEnv(env, visible);
  const names = Object.keys(env).filter(name => env[name] && !Object.hasOwn(seen, name));
  return names.length === 0 ? [] : [`Kept from the agent: ${names.join(', ')} (keepEnv gives back).`];
}

function within(inside: OpenSandbox, visible: Visible, more = {}): Confinement {
  return {
    scratch: inside.scratch,
    ...(inside.rooms !== undefined && { rooms: inside.rooms }),
    wrap: ({ env, ...command }) => inside.wrap({ ...command, env: { ...filterEnv(env, visible), ...more } }),
  };
}

/** Many agents are written for Node. Not for checks: Node 22 would print a warning into what they print. */
const THROUGH_PROXY = { NODE_USE_ENV_PROXY: '1' };

async function noSandbox(
  world: SandboxWorld,
  refused: readonly string[],
  history: () => readonly Violation[],
): Promise<Sandbox> {
  const { settings, project, env, disk } = world;
  const state = guardState(env, disk.failed);
  const { containment } = settings;
  const time = { from: beganAt(project, world.paths), to: world.ended ?? Number.POSITIVE_INFINITY };
  const among = world.among && { ...world.among, view: world.paths.state.among };
  const { wall, notices } = await contain({ containment, tree: project.root, env, state, time, among });
  const filtered: Confinement = {
    ...(wall?.rooms && { rooms: wall.rooms }),
    async wrap(command) {
      const env = filterEnv(command.env, { hide: settings.hideEnv });
      return wall ? wall.wrap({ ...command, env }) : { ...command, env };
    },
  };
  const none = `NO SANDBOX works here: agent and checks run as you, and only the guard looks on. ${refused.join('. ')}.`;
  return {
    agent: filtered,
    checks: filtered,
    ...(wall && { wall }),
    contained: wall ? 'pid' : 'none',
    notices: [...(settings.sandbox.provider === 'auto' ? [none] : []), ...notices],
    takeDenials: () => [],
    restore: () => [...history(), ...state.restore()],
    close: async () => state.close(),
  };
}

/** Enough to see what happens; an agent that runs against the wall all day is not news each time. */
const MOST_REPORTED = 50;

function createDenials(deny: (what: string) => void) {
  let seen = new Set<string>();
  return {
    add(what: string): void {
      if (seen.has(what) || seen.size >= MOST_REPORTED) return;
      seen.add(what);
      deny(what);
    },
    take(): readonly string[] {
      const taken = [...seen];
      seen = new Set();
      return taken;
    },
  };
}

/** What programs outside would obey is as it was: moved aside where the sandbox could not forbid it. */
function restore(
  { absent, links, todos }: PlannedSpec,
  { root }: ProjectPaths,
  aside: string,
): readonly Violation[] {
  const away = (path: string, why: string): Violation => {
    const [top, shown] = isBelow(path, root) ? [root, relative(root, path)] : ['/', path.slice(1)];
    if (isThere(path)) moveAside(top, shown, aside);
    return { what: `${shown} (${why})`, restored: true };
  };
  const replaced = [...links].filter(([path, target]) => tryTo(() => readlinkSync(path)) !== target);
  return [
    ...absent.filter(isThere).map(path => away(path, 'new, and obeyed by programs outside of the sandbox')),
    ...replaced.map(([path, target]) => {
      const violation = away(path, 'a link that leads to what programs outside of the sandbox obey');
      tryTo(() => symlinkSync(target, path));
      return violation;
    }),
    ...todos
      .filter(runsCommands)
      .map(path => away(path, 'a rebase that was left unfinished and runs commands when it continues')),
  ];
}

const LONGEST_TODO = 1024 * 1024;

/** What cannot be read as a list may be anything. */
function runsCommands(todo: string): boolean {
  const stat = lstatSync(todo, { throwIfNoEntry: false });
  if (!stat) return false;
  return !stat.isFile() || stat.size > LONGEST_TODO || /^[ \t]*(x|exec)\b/m.test(readFileSync(todo, 'utf8'));
}
