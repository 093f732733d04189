/** Every file that Ralph keeps, and where. Nothing else builds these names. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

export type ProjectPaths = Readonly<ReturnType<typeof projectPaths>>;

export function projectPaths(root: string) {
  const folder = join(root, '.ralph');
  const worktrees = join(folder, 'worktrees');
  return {
    root,
    /** `.ralph`, Ralph's own folder in the project. */
    folder,
    gitignore: join(folder, '.gitignore'),
    settings: join(folder, 'settings.json'),
    localSettings: join(folder, 'settings.local.json'),
    runs: join(folder, 'runs'),
    /** A lease for each run that is running, so that the others need not be looked at. */
    live: join(folder, 'live'),
    /** Worktrees that Ralph made, one folder each, and beside them who works in which. */
    worktrees,
    worktree: (name: string) => join(worktrees, name),
    worktreeOwner: (name: string) => join(worktrees, '.owners', `${name}.json`),
    /** The same as in a run's folder, for a session of the user's own. */
    contextAlerts: (session: string) => join(folder, 'context', `${fileName(session)}.json`),
    /** Seed 004's progress file, of the latest run. */
    progress: join(folder, 'ralph-progress.md'),
    /** Seed 001's places for what an iteration leaves behind. */
    prompt: (iteration: number) => join(folder, `prompt_${String(iteration).padStart(3, '0')}.txt`),
    guardrailLog: (iteration: number, slug: string) => join(folder, `guardrail_${iteration}_${slug}.log`),
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

export type RunPaths = Readonly<ReturnType<typeof runPathsIn>>;
export type IterationPaths = Readonly<ReturnType<typeof iterationPaths>>;

export function runPaths(runs: string, id: string): RunPaths {
  return runPathsIn(join(runs, id));
}

/** The same from the run's own folder. */
export function runPathsIn(folder: string) {
  const below = belowOf(folder);
  return {
    folder,
    run: below('run.json'),
    /** Its lease, in the project's `live`. */
    live: join(folder, '../../live', basename(folder)),
    events: below('events.jsonl'),
    progress: below('progress.md'),
    /** Ralph's own copy of the story list, in `ralph prd`, as it was at some time. */
    stories: (hash: string) => below(`stories/${hash}.json`),
    /** The results of the checks of a session, and for which files. */
    checks: below('checks.json'),
    /** The commit that changes are counted from. */
    startRef: below('start-ref'),
    /** Messages to the run that nobody has acted on yet, a file each. */
    inbox: below('inbox'),
    /** What the run had done at some place of its ledger. */
    checkpoint: below('checkpoint.json'),
    /** How full its context was when an agent was last told, a file a session. */
    contextAlerts: (session: string) => below(`context/${fileName(session)}.json`),
    /** What the hooks of the agent have to say to the run; the ledger has one writer. */
    hookNotes: below('hook-notes.jsonl'),
    /** How often the agent was sent back in an iteration. */
    stopBlocks: below('stop-blocks'),
    /** Files that were moved out of the way, each with `.changed` behind its name so that nobody runs it. */
    aside: below('aside'),
    /** The protected files as they were at the start. */
    kept: below('kept'),
    /** All files as they were when a review began, for as long as it lasts. */
    keptForReview: below('kept-for-review'),
    /** The user's prompt or task, byte for byte. */
    task: below('task.md'),
    /** Held while a process makes the run its own. */
    lock: below('lock'),
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
