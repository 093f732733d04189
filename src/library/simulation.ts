/** One simulated run: the user's settings in a throw-away copy, with a scripted agent that makes trouble. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mergeLayers } from '../config/load.ts';
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import { isTestFile } from '../domain/checks/test-changes.ts';
import type { RunEvent } from '../domain/run/event.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { UNTOUCHED } from '../domain/stories/story.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { markerOf } from '../domain/turn/claim.ts';
import { promptJob } from '../opening/jobs/prompt.ts';
import { taskJob } from '../opening/jobs/task.ts';
import { openRun } from '../opening/open-run.ts';
import { type SetUpRequest, setUpRun } from '../opening/set-up.ts';
import { openStories } from '../opening/stories-run.ts';
import { tryTo } from '../platform/files.ts';
import { type Env, git } from '../platform/git.ts';
import { packageFile } from '../platform/package.ts';
import { joinWords } from '../platform/shell.ts';
import { DONE_RULES } from '../run/turns/goal.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { listCheckInputs } from '../workspace/check-inputs.ts';
import type { ThrowAway } from '../workspace/project-copy.ts';
import { disarmScript, weakenTest } from './sim/disarm.ts';
import type { Scenario } from './sim/scenario.ts';
import { type SimulatedProject, STORY, STORY_FOLDER } from './sim/scenarios/trouble.ts';
import type { SimulateRequest } from './simulate.ts';

/** Seconds: long enough for a turn of the scripted agent, short enough to be waited for. */
const SHORT = 4;

export interface Simulation extends Pick<SimulateRequest, 'root' | 'env' | 'stop'> {
  readonly copy: ThrowAway;
  readonly settings: Settings;
  /** Settings beside those of the files. */
  readonly given: Readonly<Record<string, unknown>>;
  /** `prd`: with one story. */
  readonly command: SettingsCommand;
}

export interface SimulatedRun {
  readonly events: readonly RunEvent[];
  readonly result: LoopResult;
}

/** One run with a scripted agent. */
export async function simulateOne(
  simulation: Simulation,
  scenario: Scenario,
): Promise<SimulatedRun | readonly Problem[]> {
  const { copy, stop } = simulation;
  const file = join(copy.beside, 'scenario.json');
  writeFileSync(file, JSON.stringify(scenario));
  writeFileSync(`${file}.calls`, '0');
  writeSettings(simulation, file);
  const env = { ...simulation.env, XDG_STATE_HOME: copy.beside };
  const opened = await openSimulated(simulation, projectPaths(copy.cwd, env), env);
  if (!('job' in opened)) return opened;
  const { job, ready, release } = opened;
  const events: RunEvent[] = [];
  const run = await openRun({
    ...{ ...ready, job, env, stop, alone: true },
    onEvent: event => {
      if (event.type !== 'agent') events.push(event);
    },
  });
  try {
    return isProblem(run) ? [run] : { result: await run.run(), events };
  } finally {
    release();
  }
}

const TASK = 'A simulated task.';

async function openSimulated(simulation: Simulation, project: ProjectPaths, env: Env) {
  const { command, copy, given } = simulation;
  const flags = { layer: given, problems: [] };
  const setUp = (own?: SetUpRequest['own']) =>
    setUpRun(command, { project, env, flags, ...(own && { own }) });
  if (command === 'prd') {
    const paths = prdPaths(copy.cwd, STORY_FOLDER);
    return openStories({ root: copy.cwd, env, paths, isTrusted: false, setUp });
  }
  const ready = setUp();
  if (!('settings' in ready)) return ready;
  const release = () => {};
  if (command === 'loop') return { job: taskJob({ task: TASK }), ready, release };
  const prompt = `${TASK} When it is done, say ${markerOf(DONE_RULES.run(ready.settings).rule)}`;
  return { job: promptJob({ source: { read: () => prompt }, prompt }), ready, release };
}

/** The user's own files, and over them who works, and nothing that would reach the world outside or take hours. */
function writeSettings({ root, copy, settings }: Simulation, scenario: string): void {
  const from = projectPaths(root);
  const to = projectPaths(copy.cwd);
  mkdirSync(to.folder, { recursive: true });
  if (existsSync(from.settings)) writeFileSync(to.settings, readFileSync(from.settings));
  const local = existsSync(from.localSettings) ? JSON.parse(readFileSync(from.localSettings, 'utf8')) : {};
  writeFileSync(to.localSettings, JSON.stringify(mergeLayers(local, overlay(settings, scenario)), null, 2));
}

function overlay(settings: Settings, scenario: string): Readonly<Record<string, unknown>> {
  const agent = packageFile('dist/bin/scripted-agent.cjs');
  const scripted = { command: joinWords([process.execPath, agent, scenario, '0']), adapter: 'claude' };
  const shorter = (seconds: number) => Math.min(seconds, SHORT);
  return {
    agent: 'simulated',
    agents: { simulated: scripted, 'simulated-fallback': scripted },
    implementer: 'simulated',
    reviewer: 'simulated',
    fallback: settings.fallback.length > 0 ? ['simulated-fallback'] : [],
    notify: { on: [] },
    streamAgentOutput: true,
    maximumIterations: settings.maximumIterations === 0 ? 4 : Math.min(settings.maximumIterations, 4),
    idleTimeout: shorter(settings.idleTimeout),
    iterationTimeout: settings.iterationTimeout === 0 && !hangsForever(settings) ? 0 : SHORT * 4,
    lingerTimeout: shorter(settings.lingerTimeout),
    maxWait: Math.min(settings.maxWait, SHORT * 5),
    maxRetries: Math.min(settings.maxRetries, 1),
  };
}

/** Nothing in the settings ends a turn that is silent; the simulation must. */
export function hangsForever({ idleTimeout, iterationTimeout, maxTime }: Settings): boolean {
  return idleTimeout === 0 && iterationTimeout === 0 && maxTime === undefined;
}

const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|c|cc|cpp|h|cs|php|swift|sh|ex|scala|vue|svelte)$/;

/** Whom the liar and the tamperer go for: a file of the code, and one that is protected or looks like a test. */
export async function targets({ copy, env, settings }: Simulation, claim: string): Promise<SimulatedProject> {
  const here = git(copy.cwd, env);
  const list = async (...specs: readonly string[]) =>
    (await here.list(['ls-files', '-z', '--', ...specs])).records;
  const all = await list('.');
  const guarded =
    settings.protect.length > 0 ? await list(...settings.protect.map(glob => `:(glob)${glob}`)) : [];
  const read = (path: string) => tryTo(() => readFileSync(join(copy.cwd, path), 'utf8')) ?? '';
  const scripts = listCheckInputs({ cwd: copy.cwd, env, commands: settings.checks }).filter(path =>
    all.includes(path),
  );
  const [script] = scripts.flatMap(path => {
    const content = disarmScript(path, read(path));
    return content === undefined ? [] : [{ path, content }];
  });
  const isCode = (path: string) => CODE.test(path) && !isTestFile(path) && !guarded.includes(path);
  const victim = all.find(path => isCode(path) && !scripts.includes(path));
  // A protected file that is a test tells more than one that is not.
  const test = guarded.find(isTestFile) ?? guarded[0] ?? all.find(isTestFile);
  const weakened = test === undefined ? undefined : weakenTest(test, read(test));
  return { claim, victim, guarded: test, weakened, script };
}

/** A list with one story, for a run of `ralph prd` in the copy. */
export function writeStory({ copy }: Simulation): void {
  const folder = join(copy.cwd, STORY_FOLDER);
  mkdirSync(folder, { recursive: true });
  const story = {
    id: STORY,
    title: 'A simulated story',
    description: 'Simulated.',
    priority: 1,
    ...UNTOUCHED,
  };
  const list = { project: 'Simulated', branchName: '', description: '', verifyCommands: [] };
  const userStories = [{ ...story, acceptanceCriteria: ['It works'] }];
  writeFileSync(join(folder, 'tasks.json'), `${JSON.stringify({ ...list, userStories }, null, 2)}\n`);
  for (const name of ['prd.md', 'prompt.md']) writeFileSync(join(folder, name), 'A simulated task.\n');
  writeFileSync(join(folder, 'progress.txt'), '');
}
