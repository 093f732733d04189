/** Every file that Ralph keeps, and where. Nothing else builds these names. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

export interface ProjectPaths {
  readonly root: string;
  /** `.ralph`, Ralph's own folder in the project. */
  readonly folder: string;
  readonly gitignore: string;
  readonly settings: string;
  readonly localSettings: string;
  readonly runs: string;
  /** A lease for each run that is running, so that the others need not be looked at. */
  readonly live: string;
  /** Worktrees that Ralph made, one folder each, and beside them who works in which. */
  readonly worktrees: string;
  worktree(name: string): string;
  worktreeOwner(name: string): string;
  /** The same as in a run's folder, for a session of the user's own. */
  contextAlerts(session: string): string;
  /** Seed 004's progress file, of the latest run. */
  readonly progress: string;
  /** Seed 001's places for what an iteration leaves behind. */
  prompt(iteration: number): string;
  guardrailLog(iteration: number, slug: string): string;
}

export function projectPaths(root: string): ProjectPaths {
  const folder = join(root, '.ralph');
  const worktrees = join(folder, 'worktrees');
  return {
    root,
    folder,
    gitignore: join(folder, '.gitignore'),
    settings: join(folder, 'settings.json'),
    localSettings: join(folder, 'settings.local.json'),
    runs: join(folder, 'runs'),
    live: join(folder, 'live'),
    worktrees,
    worktree: name => join(worktrees, name),
    worktreeOwner: name => join(worktrees, '.owners', `${name}.json`),
    contextAlerts: session => join(folder, 'context', `${fileName(session)}.json`),
    progress: join(folder, 'ralph-progress.md'),
    prompt: iteration => join(folder, `prompt_${String(iteration).padStart(3, '0')}.txt`),
    guardrailLog: (iteration, slug) => join(folder, `guardrail_${iteration}_${slug}.log`),
  };
}

/** The project that a folder belongs to: the nearest one above it in which Ralph has run, else the folder itself. */
export function projectAt(folder: string): ProjectPaths {
  for (let root = folder; ; root = dirname(root)) {
    const project = projectPaths(root);
    if (existsSync(project.runs)) return project;
    if (dirname(root) === root) return projectPaths(folder);
  }
}

export interface RunPaths {
  readonly folder: string;
  readonly run: string;
  /** Its lease, in the project's `live`. */
  readonly live: string;
  readonly events: string;
  readonly progress: string;
  /** Ralph's own copy of the story list, in `ralph prd`, as it was at some time. */
  stories(hash: string): string;
  /** The results of the checks of a session, and for which files. */
  readonly checks: string;
  /** The commit that changes are counted from. */
  readonly startRef: string;
  /** Messages to the run that nobody has acted on yet, a file each. */
  readonly inbox: string;
  /** What the run had done at some place of its ledger. */
  readonly checkpoint: string;
  /** How full its context was when an agent was last told, a file a session. */
  contextAlerts(session: string): string;
  /** What the hooks of the agent have to say to the run; the ledger has one writer. */
  readonly hookNotes: string;
  /** How often the agent was sent back in an iteration. */
  readonly stopBlocks: string;
  /** Files that were moved out of the way, each with `.changed` behind its name so that nobody runs it. */
  readonly aside: string;
  /** The protected files as they were at the start. */
  readonly kept: string;
  /** The user's prompt or task, byte for byte. */
  readonly task: string;
  /** Held while a process makes the run its own. */
  readonly lock: string;
  iteration(iteration: number): IterationPaths;
}

export interface IterationPaths {
  readonly folder: string;
  readonly prompt: string;
  /** What the agent printed, raw. */
  readonly agent: string;
  readonly agentErrors: string;
  /** The same for each further attempt at the iteration, counted from 2. */
  attempt(number: number): { readonly agent: string; readonly agentErrors: string };
  /** What a turn that was cut off had changed. */
  readonly cutOff: string;
  /** What had changed since the run began, when the turn was over. */
  readonly diff: string;
  readonly checks: string;
  check(slug: string): string;
}

export function runPaths(runs: string, id: string): RunPaths {
  return runPathsIn(join(runs, id));
}

/** The same from the run's own folder. */
export function runPathsIn(folder: string): RunPaths {
  const below = belowOf(folder);
  return {
    folder,
    run: below('run.json'),
    live: join(folder, '../../live', basename(folder)),
    events: below('events.jsonl'),
    progress: below('progress.md'),
    stories: hash => below(`stories/${hash}.json`),
    checks: below('checks.json'),
    startRef: below('start-ref'),
    inbox: below('inbox'),
    checkpoint: below('checkpoint.json'),
    contextAlerts: session => below(`context/${fileName(session)}.json`),
    hookNotes: below('hook-notes.jsonl'),
    stopBlocks: below('stop-blocks'),
    aside: below('aside'),
    kept: below('kept'),
    task: below('task.md'),
    lock: below('lock'),
    iteration: iteration => iterationPaths(below(`iterations/${String(iteration).padStart(4, '0')}`)),
  };
}

function iterationPaths(folder: string): IterationPaths {
  const below = belowOf(folder);
  const checks = below('checks');
  return {
    folder,
    prompt: below('prompt.md'),
    agent: below('agent.jsonl'),
    agentErrors: below('agent.stderr.log'),
    attempt: number => ({
      agent: below(`agent.${number}.jsonl`),
      agentErrors: below(`agent.${number}.stderr.log`),
    }),
    cutOff: below('cut-off.diff'),
    diff: below('changes.diff'),
    checks,
    check: slug => `${checks}${sep}${slug}.log`,
  };
}

/** Names in a folder that is spelt well already: to put them together anew for every iteration would be wasted. */
function belowOf(folder: string): (name: string) => string {
  return name => `${folder}${sep}${name}`;
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
