/** `ralph fleet submit loop|prd …`: hands work to whichever worker is free. */
import { userInfo } from 'node:os';
import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { ADAPTERS } from '../../../agents/registry.ts';
import { flagsOf, settingsFromFlags } from '../../../config/flags.ts';
import { loadSettings } from '../../../config/load.ts';
import type { Settings } from '../../../config/settings-shape.ts';
import { allCommands } from '../../../domain/checks/verify-commands.ts';
import type { ExitCode } from '../../../domain/run/stop-reason.ts';
import { titleOf } from '../../../domain/run/title.ts';
import { defined } from '../../../domain/text/fields.ts';
import type { Problem } from '../../../domain/text/problem.ts';
import { secretIn, sourceOf, submitUnit, textAt } from '../../../fleet/submit.ts';
import { shownBranch, type UnitConfig } from '../../../fleet/unit.ts';
import { isCommit } from '../../../opening/jobs/parallel.ts';
import { iterationsFor, listFlaw } from '../../../opening/jobs/parallel-tasks.ts';
import { withRoom } from '../../../opening/set-up.ts';
import { counted } from '../../../report/numbers.ts';
import { loadStories, policyOf } from '../../../run/stories/load.ts';
import { projectPaths } from '../../../store/paths.ts';
import { prdPaths } from '../../../store/prd-paths.ts';
import { isList } from '../../../store/tasks-file.ts';
import { reachingGit } from '../../../workspace/remote.ts';
import {
  answer,
  type Call,
  type CliCommand,
  orThrow,
  Problems,
  refuse,
  refuseInside,
  wholeNumber,
} from '../../command.ts';
import { collect, declareFlag } from '../../set-up.ts';
import { DATABASE, withDatabase } from '../../which-run.ts';

export const submit: CliCommand = {
  declare(command) {
    command
      .argument('<kind>', 'loop: one task; prd: a list of stories, each a unit of its own')
      .argument('[task]', 'of a loop: what to do')
      .option(...DATABASE)
      .option('--repo <url>', 'a repository that all workers can reach (default: the remote origin)')
      .option('--base <commit>', 'where the work starts; it must be there (default: HEAD)')
      .option('--again', 'the same list once more, although it was submitted already')
      .option('--after <unit>', 'begin when this unit is done (may be repeated)', collect);
    declareTerms(command);
    command.option(
      '--tasks <file>',
      'of a loop: a Markdown list of tasks (`- [ ] …`), each a unit of its own',
    );
    command.option('--dir <name>', 'of stories: the folder with tasks.json (default: ralph)');
    const loop = flagsOf('loop');
    const stories = flagsOf('prd').filter(
      ({ setting }) => !loop.some(flag => flag.setting.key === setting.key),
    );
    for (const flag of [...loop, ...stories]) declareFlag(command, flag, undefined);
  },
  help: `
Examples:
  ralph fleet submit loop "Make the login work" --check "npm test"
  ralph fleet submit prd --check "npm test" --parallel 8
  ralph fleet submit loop --tasks tasks.md --check "npm test" --parallel 8
  ralph fleet submit loop "Faster parser" --check "npm test" --priority 5 --budget team --need gpu

What is committed and pushed travels, with the settings in .ralph/settings.json;
settings.local.json, uncommitted files and environment variables stay here.
Only on one machine: several attempts at a task (--best-of).
`,
  async run(call) {
    refuseInside('fleet submit', call);
    const { args, options, root, env } = call;
    const [command] = args;
    if (command !== 'loop' && command !== 'prd') refuse(`fleet submit ${command}`, 'is not known', EXAMPLE);
    const given = command === 'loop' ? loopOf(call) : storiesOf(call);
    const { title } = given;
    let { settings, config } = given;
    const kind = config.task === undefined ? 'prd' : 'loop';
    const secret = secretIn(config, env);
    const problems = [...given.problems, ...(secret ? [secret] : [])];
    if (problems.length > 0) throw new Problems(problems);
    const { repo, base } = options as { readonly repo?: string; readonly base?: string };
    const source = orThrow(await sourceOf(root, env, defined({ repo, base })));
    if (config.tasks !== undefined) ({ settings, config } = await withTasks(call, source.base, given));
    return withDatabase<ExitCode>(call, async database => {
      const { unit, before } = orThrow(
        await submitUnit(
          database,
          {
            ...{ kind, title, ...source, config, ...termsOf(call, settings) },
            depends: (options.after ?? []) as readonly string[],
            again: options.again === true,
          },
          new Date(),
        ),
      );
      const words = () =>
        before === undefined
          ? submittedWords(unit, kind, source.repoUrl, settings).join('\n')
          : `${unit}\nThis list was submitted already, and is ${before}: see it with \`ralph fleet status ${unit}\`. --again submits it once more.`;
      answer(
        call.output,
        { unit, ...(before !== undefined && { before }) },
        call.output.quiet ? () => unit : words,
      );
      return 0;
    });
  },
};

function submittedWords(
  unit: string,
  kind: 'loop' | 'prd',
  repoUrl: string,
  { maximumIterations, scm }: Settings,
): readonly string[] {
  const branch = shownBranch({ id: unit, kind, parent: null });
  const others = (scm?.tasks ?? []).filter(task => !isCommit(task));
  const most = counted(maximumIterations, 'iteration');
  return [
    unit,
    `It waits for a worker. See it with \`ralph fleet status\`, its log with \`ralph fleet logs ${unit} --follow\`.`,
    `What comes of it will be on the branch ${branch} of ${repoUrl}.`,
    ...(kind === 'prd' ? [`All of the list together may take ${most}: --max-iterations N changes it.`] : []),
    ...(others.length > 0
      ? [`Left out of scm.tasks: ${others.join(', ')}. Workers commit, and Ralph itself pushes that branch.`]
      : []),
  ];
}

const EXAMPLE = 'ralph fleet submit loop "Fix the login" --check "npm test"';
const NO_CHECK: Problem = {
  where: '--check',
  what: 'at least one is needed: without a check Ralph would have to believe the agent',
  fix: '--check "npm test"',
};

const ATTEMPTS = {
  what: 'a fleet makes one attempt at a task',
  fix: '`ralph loop` makes several on one machine and chooses one; on a fleet, submit the task as often as you like, each time with another --agent, and compare the branches',
};
const PARALLEL: Problem = {
  where: '--parallel',
  what: 'there is one task, and nothing beside it',
  fix: '--tasks FILE for a list of tasks; several units run side by side anyway',
};
const NO_TASK: Problem = { where: 'task', what: 'there is none', fix: EXAMPLE };
const TWO_TASKS: Problem = {
  where: '--tasks',
  what: 'the tasks are in the file, so there is no other',
  fix: 'leave out the task',
};

interface Work {
  readonly settings: Settings;
  readonly config: UnitConfig;
  readonly title: string;
  readonly problems: readonly Problem[];
}

/** How many stories or tasks at a time, where nobody says: the fleet has its own limits. */
const AT_A_TIME = 16;

function loopOf(call: Call): Work {
  const { options, root, env } = call;
  const [, task = ''] = call.args;
  const tasks =
    typeof options.tasks === 'string' ? relative(root, resolve(call.cwd, options.tasks)) : undefined;
  const isList = tasks !== undefined;
  const { layer, problems } = settingsFromFlags('loop', options);
  const flags = isList ? { parallel: AT_A_TIME, ...layer } : layer;
  const loaded = loadSettings(projectPaths(root, env), 'loop', flags);
  const isNone = task.trim() === '';
  const attempts = (['bestOf', 'agents'] as const).filter(name => options[name] !== undefined);
  const own = [
    ...(isNone && !isList ? [NO_TASK] : []),
    ...(!isNone && isList ? [TWO_TASKS] : []),
    ...(loaded.settings.checks.length === 0 ? [NO_CHECK] : []),
    ...attempts.map(name => ({ ...ATTEMPTS, where: name === 'bestOf' ? '--best-of' : '--agents' })),
    ...(options.parallel !== undefined && !isList ? [PARALLEL] : []),
  ];
  return {
    settings: loaded.settings,
    config: isList ? { flags, tasks } : { flags, task },
    title: isList ? `Tasks of ${tasks}` : (titleOf(task) ?? ''),
    problems: [...problems, ...loaded.problems, ...own],
  };
}

/** What is in the commit counts: that is what workers see. */
async function withTasks({ root, env }: Call, base: string, { config }: Work) {
  const { tasks = '', flags: layer } = config;
  const source = orThrow(await textAt(reachingGit(root, env), base, tasks));
  const flaw = listFlaw(source);
  if (flaw)
    refuse(`--tasks ${tasks}`, `${flaw.what} at ${base.slice(0, 10)}`, `${flaw.fix}, commit and push`);
  const load = (flags: typeof layer) => loadSettings(projectPaths(root, env), 'loop', flags);
  const flags = withRoom(load(layer), { flags: { layer, problems: [] }, iterations: iterationsFor(source) });
  return { settings: load(flags).settings, config: { ...config, flags } };
}

function storiesOf({ options, root, env }: Call): Work {
  const { layer: given, problems } = settingsFromFlags('prd', options);
  const layer = { parallel: AT_A_TIME, ...given };
  const loaded = loadSettings(projectPaths(root, env), 'prd', layer);
  const { settings } = loaded;
  const folder = typeof options.dir === 'string' ? options.dir : 'ralph';
  const list = loadStories(prdPaths(root, folder), policyOf(settings));
  const isUnchecked = isList(list) && allCommands(list, settings.checks).length === 0 && !settings.unchecked;
  const notHere: Problem = {
    where: '--tasks',
    what: 'it is for loops',
    fix: 'ralph fleet submit loop --tasks FILE',
  };
  return {
    settings,
    config: { flags: layer, folder },
    title: isList(list) ? list.project || 'Stories' : '',
    problems: [
      ...problems,
      ...loaded.problems,
      ...(isList(list) ? [] : list),
      ...(options.tasks === undefined ? [] : [notHere]),
      ...(isUnchecked ? [NO_CHECK] : []),
    ],
  };
}

/** Who may work on a unit, when, and with whose money. */
export function declareTerms(command: Command): void {
  command
    .option('--priority <n>', 'higher ones begin first (default: 0)')
    .option('--budget <name>', 'whose money it is: see `ralph fleet budget`')
    .option(
      '--need <label>',
      'only on workers that have this label; the agent is needed anyway (may be repeated)',
      collect,
    )
    .option(
      '--account <name>',
      'the account of the agent that it uses, for limits (default: the name of the agent)',
    )
    .option('--owner <name>', 'for fair shares (default: you)');
}

export function termsOf({ options }: Pick<Call, 'options'>, settings: Settings) {
  // One that every Ralph knows; a command of the user's own is a matter of labels.
  const agent = ADAPTERS.find(({ name }) => name === settings.agent)?.name;
  const needs = (options.need ?? []) as readonly string[];
  return {
    owner: String(options.owner ?? userInfo().username),
    needs: [...new Set([...(agent === undefined ? [] : [agent]), ...needs])],
    account: String(options.account ?? agent ?? 'agent'),
    budget: typeof options.budget === 'string' ? options.budget : null,
    priority: wholeNumber('--priority', options.priority ?? 0, -1_000, 1_000, PRIORITY),
  };
}

const PRIORITY = 'must be a whole number from -1000 to 1000';
