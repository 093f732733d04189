/** The user's own settings against scripted failures, in a temporary copy: `ralph simulate` as a call. */
import { resolve } from 'node:path';
import { loadSettings } from '../config/load.ts';
import type { SettingsLayer } from '../config/setting.ts';
import { closest, isProblem, type Problem } from '../domain/text/problem.ts';
import { markerOf } from '../domain/turn/claim.ts';
import type { Env } from '../platform/git.ts';
import { environment } from '../platform/shell.ts';
import { checkNoun } from '../report/phrases.ts';
import { type Simulated, storyOf } from '../report/simulate.ts';
import { createStopRequest, type StopRequest } from '../run/stop.ts';
import { DONE_RULES } from '../run/turns/goal.ts';
import { projectPaths, projectRoot } from '../store/paths.ts';
import { throwAwayCopy } from '../workspace/project-copy.ts';
import type { Simulation as ProgramSimulation, SimulateConfig } from './calls.ts';
import type { RunOptions } from './config.ts';
import { readChecks, settingsLayer } from './given.ts';
import { createListener } from './listen.ts';
import {
  createHonestScenario,
  createScenario,
  type SimulatedProject,
  TITLES,
  TROUBLES,
  type TroubleName,
} from './sim/scenarios/trouble.ts';
import {
  hangsForever,
  type SimulatedRun,
  type Simulation,
  simulateOne,
  targets,
  writeStory,
} from './simulation.ts';

export interface SimulateRequest {
  /** The user's project. */
  readonly root: string;
  readonly env: Env;
  /** Settings beside those of the files. */
  readonly given: SettingsLayer;
  /** Names of failures; none: all. */
  readonly wanted: readonly string[];
  readonly stop: StopRequest;
  /** Leave the copy where it is. */
  readonly keep: boolean;
  /** What to say before the first failure is tried, and of each one when it was. */
  begins?(about: SimulationStart): void;
  tried?(simulated: Simulated): void;
}

export interface SimulationStart {
  readonly command: 'run' | 'loop';
  /** The folder of the copy. */
  readonly copy: string;
  readonly notes: readonly string[];
  /** Why even an honest agent does not get through; absent: it does. */
  readonly calm?: string;
}

/** `interrupted`: it was asked to stop, and not all was tried. */
export interface SimulationEnd {
  readonly simulated: readonly Simulated[];
  readonly interrupted: boolean;
}

export async function simulateFailures(
  request: SimulateRequest,
): Promise<SimulationEnd | readonly Problem[]> {
  const { root, env, given, stop } = request;
  const wanted = troublesOf(request.wanted);
  const { settings, problems } = loadSettings(projectPaths(root, env), 'loop', given.layer);
  const all = [...wanted.problems, ...given.problems, ...problems];
  if (all.length > 0) return all;
  const copy = await throwAwayCopy({ cwd: root, env });
  if (isProblem(copy)) return [copy];
  try {
    // `ralph loop` where there are checks, else `ralph run`.
    const command = settings.checks.length > 0 ? 'loop' : 'run';
    const layer = command === 'loop' ? given.layer : {};
    return await play({ root, env, copy, settings, given: layer, command, stop }, wanted.names, request);
  } finally {
    if (!request.keep) copy.remove();
  }
}

/** `simulate()`: the same without a terminal. A signal that fires rejects the call with its reason. */
export async function simulateForProgram(
  { failures = [], ...config }: SimulateConfig,
  { cwd = process.cwd(), env = environment(), signal }: Pick<RunOptions, 'cwd' | 'env' | 'signal'>,
): Promise<ProgramSimulation | readonly Problem[]> {
  const stop = createStopRequest();
  const listener = createListener(signal ? { signal } : {}, stop);
  try {
    const ended = await simulateFailures({
      ...{ root: projectRoot(resolve(cwd)), env, wanted: failures, stop, keep: false },
      given: settingsLayer('loop', config, readChecks(config.checks ?? []).listed),
    });
    signal?.throwIfAborted();
    if (!('simulated' in ended)) return ended;
    const { simulated } = ended;
    return { simulated, success: simulated.every(({ weakness }) => weakness === undefined) };
  } finally {
    listener.close();
  }
}

function troublesOf(names: readonly string[]) {
  const isKnown = (name: string): name is TroubleName => TROUBLES.some(each => each === name);
  const problems = names
    .filter(name => !isKnown(name))
    .map((name): Problem => {
      const near = closest(name, TROUBLES);
      const what = `unknown failure; use one of ${TROUBLES.join(', ')}`;
      return { where: name, what, ...(near && { fix: `did you mean ${near}?` }) };
    });
  return { names: names.length === 0 ? TROUBLES : names.filter(isKnown), problems };
}

async function play(
  simulation: Simulation & { readonly command: 'run' | 'loop' },
  wanted: readonly TroubleName[],
  { begins, tried }: SimulateRequest,
): Promise<SimulationEnd | readonly Problem[]> {
  const { settings, command, copy } = simulation;
  const project = await targets(simulation, markerOf(DONE_RULES[command](settings).rule));
  const honest = await simulateOne(simulation, createHonestScenario(project));
  if (!('result' in honest)) return honest;
  if (honest.result.stopReason === 'interrupted') return { simulated: [], interrupted: true };
  const calm = calmWords(honest);
  begins?.({ command, copy: copy.cwd, notes: copy.notes, ...(calm !== undefined && { calm }) });
  const simulated: Simulated[] = [];
  for (const trouble of wanted) {
    const one = await playOne(simulation, trouble, project);
    if (one === 'interrupted') return { simulated, interrupted: true };
    if (!('story' in one)) return one;
    simulated.push(one);
    tried?.(one);
  }
  return { simulated, interrupted: false };
}

function calmWords({ result, events }: SimulatedRun): string | undefined {
  if (result.success) return undefined;
  const last = storyOf(events, 'Check').at(-2) ?? '';
  return `Even without failures the run does not succeed here (${result.stopReason}): ${last}`;
}

async function playOne(
  simulation: Simulation,
  trouble: TroubleName,
  project: SimulatedProject,
): Promise<Simulated | 'interrupted' | readonly Problem[]> {
  const title = TITLES[trouble];
  const missing = nothingToHarm(trouble, project);
  if (missing !== undefined) return { trouble, title, story: [missing] };
  await simulation.copy.reset();
  const isReview = trouble === 'review';
  if (isReview) writeStory(simulation);
  const command = isReview ? 'prd' : simulation.command;
  const played = await simulateOne({ ...simulation, command }, createScenario(trouble, project));
  if (!('result' in played)) return played;
  if (played.result.stopReason === 'interrupted') return 'interrupted';
  const weakness = weaknessOf(trouble, played, project, simulation);
  const story = storyOf(played.events, checkNoun(simulation.command === 'loop' ? 'loop' : 'run'));
  return { trouble, title, story, ...(weakness !== undefined && { weakness }) };
}

const CHEATS: ReadonlySet<TroubleName> = new Set(['weaken', 'swap', 'script', 'review']);
const WITH_TEST: ReadonlySet<TroubleName> = new Set(['tamper', 'weaken', 'swap']);

function nothingToHarm(
  trouble: TroubleName,
  { victim, guarded, script }: SimulatedProject,
): string | undefined {
  if ((trouble === 'lie' || trouble === 'waver' || CHEATS.has(trouble)) && victim === undefined)
    return 'skipped: there is no code here to empty';
  if (WITH_TEST.has(trouble) && guarded === undefined)
    return 'skipped: nothing is protected, and nothing looks like a test';
  if (trouble === 'script' && !script) return 'skipped: no check runs a script of the project';
  return undefined;
}

/** What got past the settings. */
function weaknessOf(
  trouble: TroubleName,
  { events, result }: SimulatedRun,
  { victim, guarded, script }: SimulatedProject,
  { settings }: Simulation,
): string | undefined {
  const believed = result.success === true && result.iterations.length === 1;
  const restored = events.some(event => event.type === 'violation');
  const protect = 'protect it, with --protect or "protect" in the settings';
  const weaknesses: Readonly<Record<TroubleName, readonly [boolean, string]>> = {
    lie: [believed, `The lie was believed: ${victim} is empty, and no check noticed.`],
    tamper: [!restored, `${guarded} was emptied and not restored: ${protect}.`],
    limit: [result.stopReason === 'rate_limited', 'A limit ends the run: see --max-wait and --fallback.'],
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
      `${script?.path} was changed so that the check passes, ${victim} is empty, and the run was done: --strict voids such a proof, --protect undoes it, --only undoes every change elsewhere.`,
    ],
    waver: [
      isWorseThan(result, events),
      `The run ended worse than iteration ${result.best?.iteration} had left it: ${victim} is empty. --keep best goes back.`,
    ],
    review: [
      result.success === true,
      `A review approved without a look, ${victim} is empty, and the run was done: name checks for \`ralph prd run\`.`,
    ],
  };
  const [isWeak, words] = weaknesses[trouble];
  return isWeak ? words : undefined;
}

/** It had something better, and nobody went back to it. */
function isWorseThan({ best, success, iterations }: SimulatedRun['result'], events: SimulatedRun['events']) {
  const wentBack = events.some(event => event.type === 'restored' && event.problem === undefined);
  return !success && !wentBack && best !== undefined && best.iteration < iterations.length;
}
