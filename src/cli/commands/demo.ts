/** `ralph demo`: a real loop on a small broken project, with an agent that needs no model. */
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { capture } from '../../platform/capture.ts';
import { joinWords } from '../../platform/shell.ts';
import { DEMO } from '../../sim/scenarios/demo.ts';
import { projectPaths } from '../../store/paths.ts';
import { type Call, type CliCommand, refuse } from '../command.ts';
import { run } from './run.ts';

export const demo: CliCommand = {
  declare(command) {
    command
      .option('--pace <ms>', 'milliseconds that the agent takes for a step', '150')
      .addHelpText('after', '\nExamples:\n  ralph demo\n  ralph demo --pace 0 --json\n');
  },
  async run(call) {
    const folder = mkdtempSync(join(tmpdir(), 'ralph-demo-'));
    const { output } = call;
    writeProject(folder, Number(call.options.pace) || 0);
    await makeRepository(folder, call);
    output.human(`A small project with two failing tests: ${folder}
A scripted agent works on it: no model, no key, but it really edits files and
runs commands. It will say that it is done too early. Ralph runs the tests.

`);
    const exitCode = await run.run({
      ...call,
      cwd: folder,
      root: folder,
      options: { ...call.options, promptFile: DEMO.prompt },
    });
    output.human(`\nWhat the agent committed:\n${await git(folder, call, 'log', '--oneline')}
Look around: cd ${folder} && git show && ralph log\n`);
    return exitCode;
  },
};

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
