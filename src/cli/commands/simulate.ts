/** `ralph simulate`: the user's own settings against scripted failures, in a temporary copy. */

import { settingsFromFlags } from '../../config/flags.ts';
import { loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings-shape.ts';
import { markerOf } from '../../domain/completion.ts';
import { closest, type Problem } from '../../domain/problem.ts';
import type { ExitCode } from '../../domain/stop-reason.ts';
import { checkNoun } from '../../report/phrases.ts';
import { type Simulated, simulatedLines, storyOf } from '../../report/simulate.ts';
import {
  createHonestScenario,
  createScenario,
  type SimulatedProject,
  STORY_FOLDER,
  TITLES,
  TROUBLES,
  type TroubleName,
} from '../../sim/scenarios/trouble.ts';
import { projectPaths } from '../../store/paths.ts';
import { TERMS } from '../../turns/plan-parts.ts';
import { throwAwayCopy } from '../../workspace/throw-away.ts';
import { type Call, type CliCommand, orThrow, Problems } from '../command.ts';
import { styleOf } from '../reporters.ts';
import { collect } from '../set-up.ts';
import {
  hangsForever,
  simulate as runOne,
  type SimulatedRun,
  type Simulation,
  targets,
  writeStory,
} from '../simulation.ts';
import { loop } from './loop.ts';
import { run as prdRun } from './prd/run.ts';
import { run } from './run.ts';

export const simulate: CliCommand = {
  declare(command) {
    command
      .argument('[trouble...]', `one or more of ${TROUBLES.join(', ')}; default: all`)
      .option('--check <command>', 'a check, beside those of the settings', collect)
      .option('--protect <glob>', 'a protected path, beside those of the settings', collect)
      .option('--keep', 'keep the copy')
      .addHelpText('after', HELP);
  },
  async run(call) {
    const wanted = troublesOf(call.args);
    const settings = settingsOf(call);
    const copy = orThrow(await throwAwayCopy({ cwd: call.root, env: call.env }));
    const simulation = simulationOf(call, settings, copy);
    try {
      for (const note of copy.notes) call.output.error(`ralph simulate: ${note}\n`);
      return await play(simulation, wanted);
    } finally {
      if (call.options.keep === true) call.output.human(`The copy is in ${copy.cwd}\n`);
      else copy.remove();
    }
  },
};

const HELP = `
Examples:
  ralph simulate
  ralph simulate lie tamper --protect "test/**"
  ralph simulate --json | jq '.simulated[] | select(.weakness)'

Your settings, checks, limits and protected paths, with an agent that needs no
model and fails first. Everything happens in a copy; your files, your
remote and your agents are not touched. Timeouts are shortened to seconds.
Exit code 1: a failure was not caught.
`;

function troublesOf(args: readonly string[]): readonly TroubleName[] {
  const problems = args
    .filter(name => !TROUBLES.includes(name as TroubleName))
    .map((name): Problem => {
      const near = closest(name, TROUBLES);
      return {
        where: name,
        what: `unknown failure; use one of ${TROUBLES.join(', ')}`,
        ...(near && { fix: `did you mean ${near}?` }),
      };
    });
  if (problems.length > 0) throw new Problems(problems);
  return args.length === 0 ? TROUBLES : (args as readonly TroubleName[]);
}

function settingsOf({ root, options }: Call): Settings {
  const flags = settingsFromFlags('loop', { check: options.check, protect: options.protect });
  const loaded = loadSettings(projectPaths(root), 'loop', flags.layer);
  const problems = [...flags.problems, ...loaded.problems];
  if (problems.length > 0) throw new Problems(problems);
  return loaded.settings;
}

/** `ralph loop` where there are checks, else `ralph run` with its guardrails. */
function simulationOf(call: Call, settings: Settings, copy: Simulation['copy']): Simulation {
  const task = 'A simulated task.';
  const { check, protect } = call.options;
  if (settings.checks.length > 0)
    return { call, settings, copy, command: loop, args: [task], options: { check, protect } };
  const prompt = `${task} When it is done, say ${markerOf(TERMS.run(settings).rule)}`;
  return { call, settings, copy, command: run, args: [], options: { prompt } };
}

async function play(simulation: Simulation, wanted: readonly TroubleName[]): Promise<ExitCode> {
  const { call, settings } = simulation;
  const { output } = call;
  const isLoop = simulation.command === loop;
  const claim = markerOf(TERMS[isLoop ? 'loop' : 'run'](settings).rule);
  const project = await targets(simulation, claim);
  const all: Simulated[] = [];
  output.human(`Simulating \`ralph ${isLoop ? 'loop' : 'run'}\` with your settings, in a copy.\n\n`);
  const calm = await runOne(simulation, createHonestScenario(project));
  if (calm.result?.success === false) {
    const last = storyOf(calm.events, 'Check').at(-2) ?? '';
    output.human(
      `Even without failures the run does not succeed here (${calm.result.stopReason}): ${last}\n\n`,
    );
  }
  for (const trouble of wanted) {
    const simulated = await playOne(simulation, trouble, project);
    if (simulated === 'interrupted') return 130;
    all.push(simulated);
    if (!output.json) output.human(`${simulatedLines(simulated, styleOf(output)).join('\n')}\n\n`);
  }
  if (output.json) output.answer(`${JSON.stringify({ simulated: all })}\n`);
  else output.human(`${closing(all)}\n`);
  return all.some(each => each.weakness !== undefined) ? 1 : 0;
}

async function playOne(
  simulation: Simulation,
  trouble: TroubleName,
  project: SimulatedProject,
): Promise<Simulated | 'interrupted'> {
  const title = TITLES[trouble];
  const missing = nothingToHarm(trouble, project);
  if (missing !== undefined) return { trouble, title, story: [missing] };
  await simulation.copy.reset();
  const played = await runOne(
    trouble === 'review' ? ofStories(simulation) : simulation,
    createScenario(trouble, project),
  );
  if (played.result?.stopReason === 'interrupted') return 'interrupted';
  const weakness = weaknessOf(trouble, played, project, simulation);
  const story = storyOf(played.events, checkNoun(simulation.command === loop ? 'loop' : 'run'));
  return { trouble, title, story, ...(weakness !== undefined && { weakness }) };
}

/** The same settings, for `ralph prd run` with one story. */
function ofStories(simulation: Simulation): Simulation {
  writeStory(simulation);
  const { check, protect } = simulation.call.options;
  return { ...simulation, command: prdRun, args: [], options: { check, protect, ralphDir: STORY_FOLDER } };
}

const CHEATS: ReadonlySet<TroubleName> = new Set(['weaken', 'swap', 'script', 'review']);
const WITH_TEST: ReadonlySet<TroubleName> = new Set(['tamper', 'weaken', 'swap']);

function nothingToHarm(
  trouble: TroubleName,
  { victim, guarded, script }: SimulatedProject,
): string | undefined {
  if ((trouble === 'lie' || CHEATS.has(trouble)) && victim === undefined)
    return 'skipped: there is no code here to empty';
  if (WITH_TEST.has(trouble) && guarded === undefined)
    return 'skipped: nothing is protected, and nothing looks like a test';
  if (trouble === 'script' && !script) return 'skipped: no check runs a script of the project';
  return undefined;
}

function closing(all: readonly Simulated[]): string {
  const weak = all.filter(each => each.weakness !== undefined);
  if (weak.length === 0) return 'Every failure was caught.';
  return `Not caught: ${weak.map(each => each.trouble).join(', ')}.`;
}

/** What got past the settings. */
function weaknessOf(
  trouble: TroubleName,
  { events, result }: SimulatedRun,
  { victim, guarded, script }: SimulatedProject,
  { settings, command }: Simulation,
): string | undefined {
  const isLoop = command === loop;
  const believed = result?.success === true && result.iterations.length === 1;
  const restored = events.some(event => event.type === 'violation');
  const protect = isLoop
    ? 'protect it, with --protect or "protect" in the settings'
    : 'only `ralph loop` protects paths';
  const weaknesses: Readonly<Record<TroubleName, readonly [boolean, string]>> = {
    lie: [believed, `The lie was believed: ${victim} is empty, and no check noticed.`],
    tamper: [!restored, `${guarded} was emptied and not restored: ${protect}.`],
    limit: [result?.stopReason === 'rate_limited', 'A limit ends the run: see --max-wait and --fallback.'],
    echo: [believed, 'The echo was accepted as a claim.'],
    hang: [hangsForever(settings), 'Nothing would end the turn: set --idle-timeout or --iteration-timeout.'],
    crash: [false, ''],
    flood: [false, ''],
    weaken: [believed, `${guarded} was weakened, ${victim} is empty, and the run was done: ${protect}.`],
    swap: [
      believed,
      `${guarded} was replaced by a link, ${victim} is empty, and the run was done: ${protect}.`,
    ],
    script: [
      believed,
      `${script?.path} was changed so that the check passes, ${victim} is empty, and the run was done: --strict voids such a proof, --protect undoes it.`,
    ],
    review: [
      result?.success === true,
      `A review approved without a look, ${victim} is empty, and the run was done: name checks for \`ralph prd run\`.`,
    ],
  };
  const [isWeak, words] = weaknesses[trouble];
  return isWeak ? words : undefined;
}
