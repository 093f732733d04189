/** `ralph demo`: a real loop on a small broken project, with an agent that needs no model. */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { DEMO } from '../../library/sim/scenarios/demo.ts';
import { capture } from '../../platform/capture.ts';
import { tryTo } from '../../platform/files.ts';
import { rootAbove } from '../../platform/package.ts';
import { joinWords } from '../../platform/shell.ts';
import { wrap } from '../../platform/text.ts';
import { projectPaths } from '../../store/paths.ts';
import { type Call, type CliCommand, refuse } from '../command.ts';
import { run } from './run.ts';

export const demo: CliCommand = {
  declare: command => command.option('--pace <ms>', 'milliseconds that the agent takes for a step', '150'),
  help: '\nExamples:\n  ralph demo\n  ralph demo --pace 0 --json\n',
  async run(call) {
    const folder = mkdtempSync(join(tmpdir(), 'ralph-demo-'));
    const us = ownCommand(call.env);
    // What to type is said at the end, once.
    const output = { ...call.output, us: null };
    writeProject(folder, Number(call.options.pace) || 0);
    await makeRepository(folder, call);
    output.human(
      `A small project with two failing tests: ${folder}\n${wrap(INTRODUCTION, Math.min(output.columns(), 80)).join('\n')}\n`,
    );
    const exitCode = await run.run({
      ...call,
      output,
      cwd: folder,
      root: folder,
      options: { ...call.options, promptFile: DEMO.prompt },
    });
    output.human(`\nWhat the agent committed:\n${await git(folder, call, 'log', '--oneline')}
Look around:
  ${joinWords(['cd', folder])}
  git show
  ${us} log
  ${us} report -o run.html

Set up a project of your own:
  ${installing(us, call.env)}ralph init -C YOUR-PROJECT\n`);
    return exitCode;
  },
};

const INTRODUCTION = `A scripted agent works on it: no model, no key, but it really edits files and runs commands. It will say that it is done too early. Ralph runs the tests.
`;

/** What to type for `ralph`: from a clone, nothing of that name is installed. */
function ownCommand({ PATH = '' }: Call['env']): string {
  const us = realpathSync(process.argv[1] ?? '');
  // Those are on the PATH of a script of npm, not of the user.
  const folders = PATH.split(delimiter).filter(each => !each.endsWith(join('node_modules', '.bin')));
  const isInstalled = folders.some(each => tryTo(() => realpathSync(join(each, 'ralph'))) === us);
  return isInstalled ? 'ralph' : joinWords(['node', us]);
}

/** What comes before the first `ralph`: npm cannot install where the user may not write, and what lies in its cache does not stay. */
function installing(us: string, env: Call['env']): string {
  if (us === 'ralph') return '';
  const package_ = rootAbove(realpathSync(process.argv[1] ?? ''));
  const prefix = env.npm_config_global_prefix ?? env.npm_config_prefix ?? dirname(dirname(process.execPath));
  const modules = join(prefix, 'lib/node_modules');
  const canInstall = tryTo(
    () => accessSync(existsSync(modules) ? modules : prefix, constants.W_OK) === undefined,
  );
  if (!canInstall || package_ === undefined || package_.includes('node_modules'))
    return `${joinWords(['alias', `ralph=${us}`])}\n  `;
  return `${joinWords(['npm', 'install', '-g', package_])} && `;
}

function writeProject(folder: string, pace: number): void {
  const paths = projectPaths(folder);
  mkdirSync(paths.folder);
  for (const [name, content] of Object.entries(DEMO.files)) writeFileSync(join(folder, name), content);
  const scenario = join(paths.folder, 'demo-scenario.json');
  writeFileSync(scenario, JSON.stringify(DEMO.scenario, null, 2));
  // npm calls us through a link; the agent lies beside the real file.
  const agent = join(dirname(realpathSync(process.argv[1] ?? '')), 'scripted-agent.cjs');
  const settings = {
    maximumIterations: 5,
    agent: 'scripted',
    agents: {
      scripted: { command: joinWords([process.execPath, agent, scenario, String(pace)]), adapter: 'claude' },
    },
    guardrails: [{ command: DEMO.guardrail, failAction: 'APPEND', hint: 'Fix cart.js, not the tests.' }],
    scm: { command: 'git', tasks: ['commit'] },
  };
  writeFileSync(paths.settings, `${JSON.stringify(settings, null, 2)}\n`);
}

/** Its own identity, so that it also works where git has never been set up. */
async function makeRepository(folder: string, call: Call): Promise<void> {
  for (const args of [
    ['init', '--quiet'],
    ['config', 'user.name', 'Ralph demo'],
    ['config', 'user.email', 'demo@example.invalid'],
    ['config', 'commit.gpgsign', 'false'],
    ['add', '--all', '--', '.', ':(exclude).ralph'],
    ['commit', '--quiet', '--message', 'A cart with two bugs'],
  ]) {
    await git(folder, call, ...args);
  }
}

async function git(folder: string, { env }: Call, ...args: string[]): Promise<string> {
  const { code, output } = await capture(['git', ...args], { cwd: folder, env });
  if (code !== 0) refuse(`git ${args[0]}`, output.trim() || `exit code ${code}`, 'the demo needs git');
  return output;
}
