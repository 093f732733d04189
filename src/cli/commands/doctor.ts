/** `ralph doctor`: which agents, git and sandboxes can be used here, and how to fix what cannot. Changes nothing. */

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type AgentAdapter, compareVersions, versionIn } from '../../agents/agent.ts';
import { findPlace } from '../../agents/install-plugin.ts';
import { PLUGINS } from '../../agents/plugins.ts';
import { ADAPTERS } from '../../agents/registry.ts';
import { loadSettings } from '../../config/load.ts';
import { defaultSettings } from '../../config/settings.ts';
import type { SandboxSettings } from '../../config/settings-shape.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { containerOf } from '../../opening/sandbox-spec.ts';
import { capture } from '../../platform/capture.ts';
import { findContainment } from '../../platform/containment.ts';
import { errorLine, errorWords } from '../../platform/error-words.ts';
import { OLDEST_NODE, tooOldNode } from '../../platform/node-version.ts';
import { counted, megabytes } from '../../report/numbers.ts';
import { phrase } from '../../report/phrases.ts';
import { type Mark, markLines, type Style } from '../../report/style.ts';
import { chooseAgent, isExecutable } from '../../run/turns/choose-agent.ts';
import { PROVIDERS } from '../../sandbox/choose.ts';
import { type ProjectPaths, projectPaths } from '../../store/paths.ts';
import { bytesIn } from '../../store/prune.ts';
import { listSessions } from '../../store/session-file.ts';
import { statePaths } from '../../store/state.ts';
import { openState } from '../../store/state-check.ts';
import { answer, type Call, type CliCommand } from '../command.ts';
import { styleOf } from '../reporters.ts';

export const doctor: CliCommand = {
  help: '\nExamples:\n  ralph doctor\n  ralph doctor --json\n',
  async run({ root: cwd, env, output }) {
    const findings = await examine({ cwd, env });
    const ok = findings.every(({ level }) => level !== 'problem');
    answer(output, { ok, findings }, () => doctorLines(findings, styleOf(output)).join('\n'));
    return ok ? 0 : 2;
  },
};

interface World extends Pick<Call, 'cwd' | 'env'> {
  /** Milliseconds that a program may take to print its version. */
  readonly probeTime?: number;
}

/** Everything at once: each probe has its own time limit. */
export async function examine(world: World): Promise<readonly Finding[]> {
  const project = projectPaths(world.cwd);
  const { settings, fromFiles, files, problems } = loadSettings(project, 'run');
  const chosen = problems.length === 0 ? chooseAgent(settings, fromFiles, world) : undefined;
  const agents = ADAPTERS.filter(({ tested }) => tested !== undefined);
  const [seen, git, contained, sandboxes] = await Promise.all([
    Promise.all(agents.map(adapter => agentFinding(adapter, chosen, world))),
    gitFindings(world),
    containmentFinding(world),
    sandboxFindings(world, (problems.length === 0 ? settings : defaultSettings('run')).sandbox),
  ]);
  const works = agents.find(({ name }) => seen.some(({ topic, level }) => topic === name && level === 'ok'));
  return [
    nodeFinding(),
    ...settingsFindings(files, problems),
    folderFinding(project),
    stateFinding(world),
    ...strangerFindings(world),
    ...(chosen ? [chosenFinding(chosen)] : []),
    ...seen.map(finding => withOther(finding, works)),
    ...rootFindings(agents, chosen, settings.permissions, world),
    ...sessionFindings(world),
    ...git,
    contained,
    ...sandboxes,
  ];
}

function nodeFinding(): Finding {
  const { node } = process.versions;
  const what = `${node} (${OLDEST_NODE} or later is needed)`;
  return { topic: 'node', level: tooOldNode() ? 'problem' : 'ok', what };
}

function settingsFindings(files: readonly string[], problems: readonly Problem[]): readonly Finding[] {
  const what = files.join(', ') || 'no settings files: the defaults apply';
  if (problems.length === 0) return [{ topic: 'settings', level: 'ok', what }];
  return problems.map(problem => problemFinding('settings', problem));
}

/** Whether Ralph could write there; nothing is written. */
function folderFinding({ folder, root }: ProjectPaths): Finding {
  const topic = 'folder';
  const there = statSync(folder, { throwIfNoEntry: false });
  if (there && !there.isDirectory())
    return { topic, level: 'problem', what: `${folder} is not a folder`, fix: `mv ${folder} ${folder}.old` };
  try {
    accessSync(there ? folder : root, constants.W_OK);
    return { topic, level: 'ok', what: '.ralph can be written' };
  } catch (error) {
    return { topic, level: 'problem', what: `${folder} cannot be written: ${errorWords(error)}` };
  }
}

/** Made where it is missing, as by a run. */
function stateFinding({ cwd, env }: World): Finding {
  const unfit = openState(cwd, env);
  if (unfit) return problemFinding('state', unfit);
  const { folder } = statePaths(env);
  return {
    topic: 'state',
    level: 'ok',
    what: `${folder} keeps what was proven (${megabytes(bytesIn(folder))})`,
  };
}

function strangerFindings({ cwd, env }: World): readonly Finding[] {
  return listSessions(cwd, env).flatMap((file): readonly Finding[] => {
    if (!('stranger' in file)) return [];
    const what = `${file.path} ${file.stranger}. Nothing in it is obeyed.`;
    return [{ topic: 'loop', level: 'warning', what, fix: `rm '${file.path}'` }];
  });
}

type Chosen = ReturnType<typeof chooseAgent> | undefined;

function chosenFinding(chosen: NonNullable<Chosen>): Finding {
  if (!isProblem(chosen))
    return { topic: 'agent', level: 'ok', what: `${chosen.name}, because ${chosen.why}` };
  return problemFinding('agent', chosen);
}

function problemFinding(topic: string, { where, what, fix }: Problem): Finding {
  const words = where === topic ? what : `${where}: ${what}`;
  return { topic, level: 'problem', what: words, ...(fix !== undefined && { fix }) };
}

const PROBE_TIME = 10_000;

/** Asked for its version, an agent must not look for a newer one. */
const NO_UPDATES = Object.assign({ NO_UPDATE_NOTIFIER: '1' }, ...ADAPTERS.map(({ noUpdates }) => noUpdates));

async function agentFinding(adapter: AgentAdapter, chosen: Chosen, world: World): Promise<Finding> {
  const { name: topic, install } = adapter;
  if (!isExecutable(topic, world)) return { topic, level: 'fact', what: 'not installed', fix: install };
  const { code, output } = await probe([topic, '--version'], world);
  const isChosen = chosen !== undefined && !isProblem(chosen) && chosen.command === topic;
  if (code === 0)
    return (await loginFinding(adapter, isChosen, world)) ?? versionFinding(adapter, versionIn(output));
  const why = code === 124 ? 'it did not print its version in time' : errorLine(output);
  const what = `installed, but it does not start: ${why || `exit code ${code}`}`;
  return { topic, level: isChosen ? 'problem' : 'warning', what, fix: `reinstall it: ${install}` };
}

/** undefined: it is logged in, has a key, or does not say. A loop that would start it cannot run. */
async function loginFinding(
  { name: topic, login, needs: { keys } }: AgentAdapter,
  isChosen: boolean,
  world: World,
): Promise<Finding | undefined> {
  if (!login || keys.some(key => world.env[key])) return undefined;
  const { code, output } = await probe([topic, ...login.status], world);
  if (code === 0 || !/not logged in|"loggedIn":\s*false/i.test(output)) return undefined;
  const level = isChosen ? 'problem' : 'warning';
  return { topic, level, what: 'installed, but you are not logged in', fix: login.fix };
}

/** A loop need not wait for this one. */
function withOther(finding: Finding, works: AgentAdapter | undefined): Finding {
  if (finding.level !== 'problem' || !works || finding.fix === undefined) return finding;
  return { ...finding, fix: `${finding.fix}; or use another one: --agent ${works.name}` };
}

function versionFinding(
  { name: topic, install, tested = '' }: AgentAdapter,
  version: string | undefined,
): Finding {
  if (version === undefined)
    return { topic, level: 'warning', what: `it prints no version; ${tested} is tested` };
  const order = compareVersions(version, tested);
  if (order < 0)
    return { topic, level: 'warning', what: `${version} is older than the tested ${tested}`, fix: install };
  const what = order === 0 ? `${version}, as tested` : `${version}, newer than the tested ${tested}`;
  return { topic, level: 'ok', what };
}

/** Some agents, run by root, refuse to skip their permissions: better known before a loop is started. */
function rootFindings(
  agents: readonly AgentAdapter[],
  chosen: Chosen,
  permissions: string,
  world: World,
): readonly Finding[] {
  if (process.getuid?.() !== 0) return [];
  return agents.flatMap(({ name, rootNeeds = [] }): readonly Finding[] => {
    const [first] = rootNeeds;
    if (first === undefined || !isExecutable(name, world)) return [];
    const topic = `${name} as root`;
    const set = rootNeeds.find(variable => world.env[variable] === '1');
    if (set) return [{ topic, level: 'ok', what: `it may skip permissions, because ${set}=1 is set` }];
    const isChosen = chosen !== undefined && !isProblem(chosen) && chosen.adapter.name === name;
    return [
      {
        topic,
        level: permissions === 'skip' && isChosen ? 'problem' : 'warning',
        what: 'it refuses to skip permissions (permissions: skip)',
        fix: `run as another user, or set ${first}=1 if this machine is a sandbox`,
      },
    ];
  });
}

/** The loop inside a session, in each host that is here: whether the plugin is installed, and that host's own limits. */
function sessionFindings(world: World): readonly Finding[] {
  const place = findPlace(world.env);
  if (!place) return [];
  return PLUGINS.filter(({ name }) => isExecutable(name, world)).map((host): Finding => {
    const version = host.installed(place);
    const topic = `loop in ${host.name}`;
    const cautions = host.cautions(place);
    if (version === undefined) {
      const limits = cautions.filter(({ stops }) => !stops).map(({ text }) => text);
      const what = ['The plugin is not installed.', ...limits].join(' ');
      return { topic, level: 'fact', what, fix: `ralph plugin install ${host.name}` };
    }
    const what = [`The plugin is installed (${version}).`, ...cautions.map(({ text }) => text)].join(' ');
    return { topic, level: cautions.some(({ stops }) => stops) ? 'warning' : 'ok', what };
  });
}

async function gitFindings(world: World): Promise<readonly Finding[]> {
  const topic = 'git';
  const [version, top, identity] = await Promise.all([
    probe(['git', '--version'], world),
    probe(['git', 'rev-parse', '--show-toplevel'], world),
    probe(['git', 'var', 'GIT_AUTHOR_IDENT'], world),
  ]);
  if (version.code !== 0) {
    const what = 'not installed: no commits, no worktrees, no diffs';
    return [{ topic, level: 'warning', what, fix: 'install git' }];
  }
  const found: Finding = { topic, level: 'ok', what: versionIn(version.output) ?? errorLine(version.output) };
  return [
    found,
    top.code === 0
      ? { topic: 'repository', level: 'ok', what: top.stdout.trim() }
      : {
          topic: 'repository',
          level: 'warning',
          what: 'this folder is not in a git repository',
          fix: 'git init',
        },
    identity.code === 0
      ? { topic: 'git identity', level: 'ok', what: identity.stdout.replace(/ \d+ [+-]\d+\s*$/, '') }
      : {
          topic: 'git identity',
          level: 'warning',
          what: 'none is set, so nothing can be committed',
          fix: 'git config --global user.name "NAME" && git config --global user.email "EMAIL"',
        },
  ];
}

/** What a run without a sandbox is contained in. The state folder need not be there yet: any folder can be tried. */
async function containmentFinding({ cwd, env }: World): Promise<Finding> {
  const topic = 'containment';
  const { folder } = statePaths(env);
  const found = await findContainment({ tree: cwd, env, hide: existsSync(folder) ? folder : tmpdir() });
  if (found.ok) return { topic, level: 'ok', what: `works (${found.what}): nothing outlives its turn` };
  const what = `mark only, a process that hides its traces can outlive its turn: ${found.why}`;
  return { topic, level: 'fact', what, ...(found.fix !== '' && { fix: found.fix }) };
}

/** Each sandbox really runs something; none is needed for a loop. */
function sandboxFindings({ cwd, env }: World, settings: SandboxSettings): Promise<readonly Finding[]> {
  const container = containerOf(settings);
  return Promise.all(
    PROVIDERS.map(async (provider): Promise<Finding> => {
      const topic = `sandbox ${provider.name}`;
      const found = await provider.probe({ cwd, env, container });
      const sealed = provider.name === 'sbx' ? '' : ', also for --proof sealed';
      if (found.ok)
        return {
          ...{ topic, level: 'ok' },
          what: `works (${found.what}): --sandbox=${provider.name}${sealed}. Left open: ${provider.leaves}`,
        };
      return { topic, level: 'fact', what: `does not work here: ${found.why}`, fix: found.fix };
    }),
  );
}

function probe(argv: readonly [string, ...string[]], { cwd, env, probeTime = PROBE_TIME }: World) {
  return capture(argv, { cwd, env: { ...NO_UPDATES, ...env }, timeout: probeTime });
}

/** `fact`: neither good nor bad. `problem`: no loop can run before it is fixed. */
type Level = 'ok' | 'fact' | 'warning' | 'problem';

export interface Finding {
  readonly topic: string;
  readonly level: Level;
  readonly what: string;
  readonly fix?: string;
}

const MARKS: Record<Level, Mark> = { ok: 'ok', fact: 'note', warning: 'warning', problem: 'error' };

function doctorLines(findings: readonly Finding[], style: Style): readonly string[] {
  const lines = findings.flatMap(({ topic, level, what, fix }) =>
    markLines(
      style,
      MARKS[level],
      `${topic}: ${phrase(what)}${fix ? ` → ${phrase(fix)}` : ''}`,
      level === 'fact' ? 'dim' : undefined,
    ),
  );
  return [...lines, '', verdict(findings)];
}

function verdict(findings: readonly Finding[]): string {
  const count = findings.filter(({ level }) => level === 'problem').length;
  if (count === 0) return 'A loop can run here.';
  return `No loop can run here. Fix ${counted(count, 'problem')} first.`;
}
