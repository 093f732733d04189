/** Every file that Ralph keeps, and where. Nothing else builds these names. */
import { existsSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { LedgerTrust } from '../domain/run/ledger-trust.ts';
import { pick } from '../domain/text/fields.ts';
import { belowOf, type Env, type ProjectState, type RunStatePaths, statePaths } from './state.ts';

export type ProjectPaths = Readonly<ReturnType<typeof projectPaths>>;

/** `env` says where the user's state folder is. */
export function projectPaths(root: string, env: Env = process.env) {
  const folder = join(root, '.ralph');
  const below = belowOf(folder);
  const worktrees = below('worktrees');
  let state: ProjectState | undefined;
  return {
    root,
    /** What is kept of it outside. Not before it is asked for: that costs a look at the disk. */
    state(): ProjectState {
      state ??= statePaths(env).project(root);
      return state;
    },
    /** `.ralph`, Ralph's own folder in the project. */
    folder,
    gitignore: below('.gitignore'),
    settings: below('settings.json'),
    localSettings: below('settings.local.json'),
    runs: below('runs'),
    /** Worktrees that Ralph made, one folder each, and beside them who works in which. */
    worktrees,
    worktree: (name: string) => join(worktrees, name),
    worktreeOwner: (name: string) => join(worktrees, '.owners', `${name}.json`),
    /** There while it is not ready for an agent. */
    worktreeUnready: (name: string) => join(worktrees, '.owners', `${name}.unready`),
    /** The same as in a run's folder, for a session of the user's own. */
    contextAlerts: (session: string) => join(folder, 'context', `${fileName(session)}.json`),
    /** Seed 004's progress file, of the latest run. */
    progress: below('ralph-progress.md'),
    /** Seed 001's places for what an iteration leaves behind. */
    prompt: (iteration: number) => join(folder, `prompt_${String(iteration).padStart(3, '0')}.txt`),
    guardrailLog: (iteration: number, slug: string) => join(folder, `guardrail_${iteration}_${slug}.log`),
  };
}

/**
 * The root of the project that a folder belongs to: the nearest folder with `.ralph/` up to the repository's root, else the repository's
 * root. Outside of a repository it is the folder itself: settings further up may be anybody's, and they name commands.
 */
export function projectRoot(folder: string): string {
  let nearest: string | undefined;
  for (let at = folder; ; at = dirname(at)) {
    if (nearest === undefined && existsSync(join(at, '.ralph'))) nearest = at;
    if (existsSync(join(at, '.git'))) return nearest ?? at;
    if (dirname(at) === at) return folder;
  }
}

/** The same for whoever looks at runs: from a worktree that Ralph made, those of the project it was made for. */
export function projectAt(folder: string, env: Env = process.env): ProjectPaths {
  const root = projectRoot(folder);
  const own = projectPaths(root, env);
  if (existsSync(own.runs)) return own;
  // `.ralph/worktrees/NAME`, or one folder below for those of a parallel run.
  const above = [dirname(dirname(dirname(root))), dirname(dirname(dirname(dirname(root))))];
  const owners = above.map(folder => projectPaths(folder, env));
  return (
    owners.find(({ worktrees }, at) => worktrees === (at === 0 ? dirname(root) : dirname(dirname(root)))) ??
    own
  );
}

/**
 * A run: what counts of it, and its folder in the project. `run`, `events` and `task` are in the state folder. Of a run that was not
 * recorded there they are the copies in the project, which are shown and never believed.
 */
export type RunPaths = RunFolder &
  Pick<RunStatePaths, 'run' | 'events' | 'task'> & {
    /** What this says of the ledger; whoever reads that whole adds what is wrong between its lines (`trustWith`). */
    readonly trust: LedgerTrust;
    readonly state: RunStatePaths;
    /** Its lease. */
    readonly live: string;
    readonly project: ProjectPaths;
  };
export type RunFolder = Readonly<ReturnType<typeof runFolder>>;
export type IterationPaths = Readonly<ReturnType<typeof iterationPaths>>;

export function runPaths(project: ProjectPaths, id: string): RunPaths {
  const { isInside } = project.state();
  const own = newRunPaths(project, id);
  if (!isInside && (existsSync(own.state.events) || existsSync(own.state.run))) return own;
  const why = isInside ? { why: 'the state folder is inside the project' } : {};
  return { ...own, ...own.mirror, trust: { kind: 'elsewhere', ...why } };
}

/** Of a run that is being recorded. */
export function newRunPaths(project: ProjectPaths, id: string): RunPaths {
  const { run, live } = project.state();
  const state = run(id);
  return {
    ...runFolder(join(project.runs, id)),
    ...pick(state, 'run', 'events', 'task'),
    trust: { kind: 'intact' },
    state,
    live: join(live, id),
    project,
  };
}

export function isRecorded({ trust }: Pick<RunPaths, 'trust'>): boolean {
  return trust.kind === 'intact';
}

/** What is in the project. */
export function runFolder(folder: string) {
  const below = belowOf(folder);
  return {
    folder,
    /** Copies for people of what counts. */
    mirror: { run: below('run.json'), events: below('events.jsonl'), task: below('task.md') },
    progress: below('progress.md'),
    /** A copy of the story list, in `ralph prd`, as it was at some time: for readers elsewhere. */
    stories: (hash: string) => below(`stories/${hash}.json`),
    /** How full its context was when an agent was last warned, a file a session. */
    contextAlerts: (session: string) => below(`context/${fileName(session)}.json`),
    /** What the hooks of the agent have to say to the run; the ledger has one writer. */
    hookNotes: below('hook-notes.jsonl'),
    /** How often the agent was sent back in an iteration. */
    stopBlocks: below('stop-blocks'),
    /** Files that were moved out of the way, each with `.changed` behind its name so that nobody runs it. */
    aside: below('aside'),
    iterations: below('iterations'),
    iteration: (iteration: number) =>
      iterationPaths(below(`iterations/${String(iteration).padStart(4, '0')}`)),
  };
}

function iterationPaths(folder: string) {
  const below = belowOf(folder);
  const checks = below('checks');
  return {
    folder,
    prompt: below('prompt.md'),
    /** What the agent printed, raw. */
    agent: below('agent.jsonl'),
    agentErrors: below('agent.stderr.log'),
    /** The same for each further attempt at the iteration, counted from 2. */
    attempt: (number: number) => ({
      agent: below(`agent.${number}.jsonl`),
      agentErrors: below(`agent.${number}.stderr.log`),
    }),
    /** What a turn that was cut off had changed. */
    cutOff: below('cut-off.diff'),
    /** What had changed since the run began, when the turn was over. */
    diff: below('changes.diff'),
    checks,
    check: (slug: string) => `${checks}${sep}${slug}.log`,
  };
}

/** A name that a host made up, fit for a file. */
function fileName(name: string): string {
  return (
    name
      .replace(/[^\w.-]/g, '_')
      .replace(/^\.+/, '')
      .slice(0, 100) || '_'
  );
}
