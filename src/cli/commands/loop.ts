/** `ralph loop`: seed 004's loop. A clean context each time, until every check passes. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Settings } from '../../config/settings-shape.ts';
import { buildLoopPrompt } from '../../domain/run/loop-prompt.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import {
  iterationsFor,
  type LoopInput,
  loopJob,
  parallelProblems,
} from '../../opening/jobs/parallel-tasks.ts';
import { yamlSettings } from '../../opening/set-up.ts';
import { DONE_RULES } from '../../run/turns/goal.ts';
import { type PromptSource, readInput, specSource, text } from '../../run/turns/prompt-source.ts';
import { type Call, type CliCommand, fromRoot, orThrow } from '../command.ts';
import { DRY_RUN, declareSettings, setUp, showPlan } from '../set-up.ts';
import { startLoop } from '../start.ts';
import { PR_FLAG, withPullRequest } from './pr.ts';

export const loop: CliCommand = {
  declare(command) {
    command
      .argument('[task]', 'what to do; - reads it from stdin')
      .option('--spec <file>', 'a file that says what to do, instead of the task')
      .option(
        '--tasks <file>',
        'a Markdown list of tasks (`- [ ] …`), each worked on for itself; see --parallel',
      )
      .option('-c, --config <file>', 'a YAML file with a ralph_loop: block')
      .option(
        '--worktree [name]',
        'work in a git worktree of its own; on the branch ralph/NAME, auto chooses a name',
      )
      .option('--junit <file>', 'write the checks of the last iteration as JUnit XML');
    declareSettings(command, 'loop');
    command.option(...PR_FLAG).option(...DRY_RUN);
  },
  help: `
Examples:
  ralph loop "Make the login work" --check "npm test" --check "npm run lint"
  ralph loop --spec specs/auth.md --check "npm test" --protect "test/**" --max-cost 5
  ralph loop "Migrate to async/await" --check "npm test" --worktree async
  ralph loop --tasks tasks.md --parallel 4 --check "npm test"
  ralph loop "Make the parser faster" --check "npm test" --best-of 3 --agents claude,codex
`,
  async run(asked) {
    const { call, proven } = withPullRequest(asked);
    const given = taskOf(call);
    const ready = setUp(
      'loop',
      call,
      settings => [...ownProblems(given, settings), ...parallelProblems(typedBy(call), settings, given)],
      await yamlSettings(text(call.options.config), call.cwd),
      call.options.tasks === undefined || isProblem(given) ? undefined : iterationsFor(given),
    );
    const task = orThrow(given);
    if (call.options.dryRun === true) {
      showPlan(call, ready, firstPrompt(ready.settings, task), ready.settings.checks);
      return 0;
    }
    const { worktree, config, spec: name, tasks } = call.options;
    const source = specOf(call);
    const yaml = text(config);
    const job = loopJob(
      {
        task,
        tasks: typeof tasks === 'string' ? fromRoot(call, tasks) : undefined,
        spec: source && { name: fromRoot(call, String(name)), source },
        yaml: yaml === undefined ? undefined : fromRoot(call, yaml),
        worktree: worktree as string | boolean | undefined,
      },
      ready.settings,
    );
    return startLoop(job, call, ready, { proven });
  },
};

/** The name of a text, and nothing else. */
const NAMES_FILE = /^\S+\.(?:md|markdown|txt)$/i;

/** No model reads more than a few million characters; better said now than by the agent. */
const LONGEST_TASK = 4_000_000;

function specOf({ options: { spec }, cwd }: Call): PromptSource | undefined {
  return typeof spec === 'string' ? specSource(spec, cwd) : undefined;
}

function taskOf(call: Call): string | Problem {
  const {
    args: [task],
    options,
  } = call;
  if (typeof options.tasks === 'string') return specSource(options.tasks, call.cwd, '--tasks').read();
  const spec = specOf(call);
  if (spec) {
    const read = spec.read();
    return typeof read === 'string' ? fitting(`spec file ${options.spec}`, read) : read;
  }
  if (task === '-') return fitting('stdin', readInput());
  if (task !== undefined && NAMES_FILE.test(task) && existsSync(resolve(call.cwd, task)))
    return { where: 'the task', what: `${task} is a file`, fix: `--spec ${task} takes what is in it` };
  if (task !== undefined && task.trim() !== '') return fitting('the task', task);
  const greedy = ['worktree', 'sandbox'].find(name => typeof options[name] === 'string');
  const swallowed = greedy === undefined ? undefined : `put it first, or write --${greedy}=NAME`;
  return {
    where: 'task',
    what: 'there is none',
    fix: swallowed ?? 'ralph loop "Fix the login" --check "npm test"',
  };
}

function fitting(where: string, task: string): string | Problem {
  if (task.trim() === '') return { where, what: 'it is empty' };
  if (task.length <= LONGEST_TASK) return task;
  const what = `it has ${(task.length / 1e6).toFixed(1)} million characters, more than any model reads`;
  return { where, what, fix: 'shorten it, or let it name the files to read' };
}

function ownProblems(task: string | Problem, settings: Settings): readonly Problem[] {
  const noChecks = {
    where: '--check',
    what: 'at least one is needed: a loop without a check would have to believe the agent',
    fix: '--check "npm test", or `ralph init` for those of the settings',
  };
  return [...(settings.checks.length === 0 ? [noChecks] : []), ...(isProblem(task) ? [task] : [])];
}

/** A settings file may hold them for others: only what was typed is refused. */
function typedBy({ args, options }: Call): LoopInput {
  const { tasks, spec, worktree, parallel, bestOf, agents } = options;
  return {
    task: args[0],
    tasks: text(tasks),
    spec: text(spec),
    worktree: Boolean(worktree),
    parallel: parallel !== undefined && parallel !== '1',
    bestOf: bestOf !== undefined,
    agents: agents !== undefined,
  };
}

function firstPrompt(settings: Settings, task: string): string {
  return buildLoopPrompt({
    task,
    checks: settings.checks.map(command => ({ command })),
    rule: DONE_RULES.loop(settings).rule,
    iteration: 1,
    maxIterations: settings.maximumIterations,
    protect: settings.protect,
    only: settings.only,
    diff: '',
    feedback: [],
    progress: '',
  });
}
