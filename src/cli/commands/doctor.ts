/** `ralph doctor`: which agents, git and sandboxes can be used here, and how to fix what cannot. Changes nothing. */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import type { AgentAdapter } from '../../agents/agent.ts';
import { ADAPTERS } from '../../agents/registry.ts';
import { compareVersions, TESTED, versionIn } from '../../agents/tested.ts';
import { loadSettings } from '../../config/load.ts';
import { defaultSettings } from '../../config/settings.ts';
import type { SandboxSettings } from '../../config/settings-shape.ts';
import { isProblem } from '../../domain/problem.ts';
import { containerOf } from '../../opening/sandbox-spec.ts';
import { capture } from '../../platform/capture.ts';
import { errorWords } from '../../platform/files.ts';
import { rootAbove } from '../../platform/package.ts';
import { HOST_PLUGINS, placeOf } from '../../plugins/install.ts';
import { canRun, doctorLines, type Finding } from '../../report/doctor.ts';
import { PROVIDERS } from '../../sandbox/choose.ts';
import { type ProjectPaths, projectPaths } from '../../store/paths.ts';
import { type ChosenAgent, chooseAgent, isExecutable } from '../../turns/choose-agent.ts';
import type { Call, CliCommand } from '../command.ts';
import { styleOf } from '../reporters.ts';

export const doctor: CliCommand = {
  declare(command) {
    command.addHelpText('after', '\nExamples:\n  ralph doctor\n  ralph doctor --json\n');
  },
  async run({ cwd, env, output }) {
    const findings = await examine({ cwd, env });
    const ok = canRun(findings);
    if (output.json) output.answer(`${JSON.stringify({ ok, findings })}\n`);
    else output.answer(`${doctorLines(findings, styleOf(output)).join('\n')}\n`);
    return ok ? 0 : 2;
  },
};

interface World extends Pick<Call, 'cwd' | 'env'> {
  /** Milliseconds that a program may take to tell its version. */
  readonly probeTime?: number;
}

/** Everything at once: each probe has its own time limit. */
export async function examine(world: World): Promise<readonly Finding[]> {
  const project = projectPaths(world.cwd);
  const { settings, fromFiles, files, problems } = loadSettings(project, 'run');
  const chosen = problems.length === 0 ? chooseAgent(settings, fromFiles, world) : undefined;
  const agents = ADAPTERS.filter(({ name }) => Object.hasOwn(TESTED, name));
  const [seen, git, sandboxes] = await Promise.all([
    Promise.all(agents.map(adapter => agentFinding(adapter, chosen, world))),
    gitFindings(world),
    sandboxFindings(world, (problems.length === 0 ? settings : defaultSettings('run')).sandbox),
  ]);
  return [
    nodeFinding(),
    ...settingsFindings(files, problems),
    folderFinding(project),
    ...(chosen ? [chosenFinding(chosen)] : []),
    ...seen,
    ...claudeFindings(chosen, settings.permissions, world),
    ...sessionFindings(world),
    ...git,
    ...sandboxes,
  ];
}

const OLDEST_NODE = '20.0.0';

function nodeFinding(): Finding {
  const { node } = process.versions;
  const what = `${node} (${OLDEST_NODE.split('.')[0]} or later is needed)`;
  return { topic: 'node', level: compareVersions(node, OLDEST_NODE) < 0 ? 'problem' : 'ok', what };
}

function settingsFindings(
  files: readonly string[],
  problems: ReturnType<typeof loadSettings>['problems'],
): readonly Finding[] {
  if (problems.length === 0)
    return [{ topic: 'settings', level: 'ok', what: files.join(', ') || 'none, so the defaults' }];
  return problems.map(({ where, what, fix }) => ({
    topic: 'settings',
    level: 'problem',
    what: `${where}: ${what}`,
    ...(fix !== undefined && { fix }),
  }));
}

/** Whether Ralph could write there; nothing is written. */
function folderFinding({ folder, root }: ProjectPaths): Finding {
  const topic = 'folder';
  const there = statSync(folder, { throwIfNoEntry: false });
  if (there && !there.isDirectory())
    return { topic, level: 'problem', what: `${folder} is not a folder`, fix: 'move it away' };
  try {
    accessSync(there ? folder : root, constants.W_OK);
    return { topic, level: 'ok', what: '.ralph can be written' };
  } catch (error) {
    return { topic, level: 'problem', what: `${folder} cannot be written: ${errorWords(error)}` };
  }
}

type Chosen = ReturnType<typeof chooseAgent> | undefined;

function chosenFinding(chosen: NonNullable<Chosen>): Finding {
  if (!isProblem(chosen))
    return { topic: 'agent', level: 'ok', what: `${chosen.name}, because ${chosen.why}` };
  const { where, what, fix } = chosen;
  return {
    topic: 'agent',
    level: 'problem',
    what: where === 'agent' ? what : `${where}: ${what}`,
    ...(fix !== undefined && { fix }),
  };
}

const PROBE_TIME = 10_000;

/** Asked for its version, an agent must not look for a newer one. */
const NO_UPDATES = {
  AMP_SKIP_UPDATE_CHECK: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  COPILOT_AUTO_UPDATE: 'false',
  NO_UPDATE_NOTIFIER: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
};

async function agentFinding(adapter: AgentAdapter, chosen: Chosen, world: World): Promise<Finding> {
  const { name: topic, install } = adapter;
  if (!isExecutable(topic, world)) return { topic, level: 'fact', what: 'not installed', fix: install };
  const { code, output } = await probe([topic, '--version'], world);
  if (code === 0) return versionFinding(adapter, versionIn(output));
  const isChosen = chosen !== undefined && !isProblem(chosen) && chosen.command === topic;
  const why = code === 124 ? 'it did not tell its version in time' : lastLine(output);
  const what = `installed, but it does not start: ${why || `exit code ${code}`}`;
  return { topic, level: isChosen ? 'problem' : 'warning', what, fix: `install it anew: ${install}` };
}

function versionFinding({ name: topic, install }: AgentAdapter, version: string | undefined): Finding {
  const tested = TESTED[topic] ?? '';
  if (version === undefined)
    return { topic, level: 'warning', what: `it does not tell its version; ${tested} is tested` };
  const order = compareVersions(version, tested);
  if (order < 0)
    return { topic, level: 'warning', what: `${version} is older than the tested ${tested}`, fix: install };
  const what = order === 0 ? `${version}, as tested` : `${version}, newer than the tested ${tested}`;
  return { topic, level: 'ok', what };
}

/** What Claude Code does only under conditions, told before a loop runs into it. */
function claudeFindings(chosen: Chosen, permissions: string, world: World): readonly Finding[] {
  if (!isExecutable('claude', world)) return [];
  const cap = world.env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
  const hook: Finding = {
    topic: 'claude stop hook',
    level: 'fact',
    what:
      cap === '0'
        ? 'may block as often as it likes'
        : `may block ${cap || '8'} times in a row without a tool call, then a loop in a session ends`,
    ...(cap !== '0' && { fix: 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 lifts that' }),
  };
  return [...rootFindings(chosen, permissions, world), hook];
}

function rootFindings(chosen: Chosen, permissions: string, { env }: World): readonly Finding[] {
  if (process.getuid?.() !== 0) return [];
  const topic = 'claude as root';
  if (env.IS_SANDBOX === '1')
    return [{ topic, level: 'ok', what: 'it may skip permissions, because IS_SANDBOX=1 is set' }];
  return [
    {
      topic,
      level: permissions === 'skip' && isClaude(chosen) ? 'problem' : 'warning',
      what: 'it refuses to skip permissions (permissions: skip)',
      fix: 'run as another user, or set IS_SANDBOX=1 if this machine is a sandbox',
    },
  ];
}

function isClaude(chosen: Chosen): chosen is ChosenAgent {
  return chosen !== undefined && !isProblem(chosen) && chosen.adapter.name === 'claude';
}

/** The loop inside a session, in each host that is here: whether it is in, and what that host cannot do. */
function sessionFindings(world: World): readonly Finding[] {
  const root = rootAbove(realpathSync(process.argv[1] ?? '.'));
  if (root === undefined) return [];
  const place = placeOf(root, world.env.HOME || homedir(), world.env);
  const here = Object.entries(HOST_PLUGINS).filter(([, { command }]) => isExecutable(command, world));
  return here.map(([name, host]): Finding => {
    const version = host.installed(place);
    const topic = `loop in ${name}`;
    if (version === undefined) {
      return {
        topic,
        level: 'fact',
        what: 'the plugin is not installed',
        fix: `ralph plugin install ${name}`,
      };
    }
    const cautions = host.cautions(place);
    const what = [`the plugin is installed (${version})`, ...cautions.map(({ text }) => text)].join('. ');
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
  const found: Finding = { topic, level: 'ok', what: versionIn(version.output) ?? lastLine(version.output) };
  return [
    found,
    top.code === 0
      ? { topic: 'repository', level: 'ok', what: top.stdout.trim() }
      : { topic: 'repository', level: 'warning', what: 'this folder is in none', fix: 'git init' },
    identity.code === 0
      ? { topic: 'git identity', level: 'ok', what: identity.stdout.replace(/ \d+ [+-]\d+\s*$/, '') }
      : {
          topic: 'git identity',
          level: 'warning',
          what: 'none, so nothing can be committed',
          fix: 'git config --global user.name "…" and user.email "…"',
        },
  ];
}

/** Each sandbox really runs something; none is needed for a loop. */
function sandboxFindings({ cwd, env }: World, settings: SandboxSettings): Promise<readonly Finding[]> {
  const container = containerOf(settings);
  return Promise.all(
    PROVIDERS.map(async (provider): Promise<Finding> => {
      const topic = `sandbox ${provider.name}`;
      const found = await provider.probe({ cwd, env, container });
      if (found.ok) return { topic, level: 'ok', what: `works (${found.what}): --sandbox=${provider.name}` };
      return { topic, level: 'fact', what: `does not work here: ${found.why}`, fix: found.fix };
    }),
  );
}

function probe(argv: readonly [string, ...string[]], { cwd, env, probeTime = PROBE_TIME }: World) {
  return capture(argv, { cwd, env: { ...NO_UPDATES, ...env }, timeout: probeTime });
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}
