/** `ralph fleet submit loop|prd …`: hands work to whichever worker is free. */
import { userInfo } from 'node:os';
import { ADAPTERS } from '../../../agents/registry.ts';
import { flagsOf, settingsFromFlags } from '../../../config/flags.ts';
import { loadSettings } from '../../../config/load.ts';
import type { Settings } from '../../../config/settings-shape.ts';
import type { Problem } from '../../../domain/problem.ts';
import { createRedactor, redactDeep } from '../../../domain/secrets.ts';
import { allCommands } from '../../../domain/verify-commands.ts';
import { openFleet } from '../../../fleet/open.ts';
import { sourceOf, submitUnit } from '../../../fleet/submit.ts';
import { shownBranch, type UnitConfig } from '../../../fleet/unit.ts';
import { counted } from '../../../report/numbers.ts';
import { projectPaths } from '../../../store/paths.ts';
import { prdPaths } from '../../../store/prd-paths.ts';
import { isList } from '../../../store/tasks-file.ts';
import { loadStories } from '../../../stories/load.ts';
import { policyOf } from '../../../stories/standing.ts';
import {
  answer,
  type Call,
  type CliCommand,
  orThrow,
  Problems,
  refuse,
  refuseInside,
} from '../../command.ts';
import { collect, declareFlag } from '../../set-up.ts';
import { DATABASE } from './database-option.ts';

export const submit: CliCommand = {
  declare(command) {
    command
      .argument('<kind>', 'loop: one task; prd: a list of stories, each a unit of its own')
      .argument('[task]', 'of a loop: what to do')
      .option(...DATABASE)
      .option('--repo <url>', 'a repository that all workers can reach (default: the remote origin)')
      .option('--base <commit>', 'where the work starts; it must be there (default: HEAD)')
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
      .option('--after <unit>', 'begin when this unit is done (may be repeated)', collect)
      .option('--owner <name>', 'for fair shares (default: you)');
    command.option('--dir <name>', 'of stories: the folder with tasks.json (default: ralph)');
    const loop = flagsOf('loop');
    const stories = flagsOf('prd').filter(
      ({ setting }) => !loop.some(flag => flag.setting.key === setting.key),
    );
    for (const flag of [...loop, ...stories]) declareFlag(command, flag, undefined);
    command.addHelpText('after', HELP);
  },
  async run(call) {
    refuseInside('fleet submit', call);
    const { args, options, root, env } = call;
    const [kind, task = ''] = args;
    if (kind !== 'loop' && kind !== 'prd') refuse(`fleet submit ${kind}`, 'is not known', EXAMPLE);
    const given = kind === 'loop' ? loopOf(call, task) : storiesOf(call);
    const { settings, layer, title } = given;
    const config: UnitConfig =
      kind === 'loop' ? { flags: layer, task } : { flags: layer, folder: given.folder };
    const problems = [...given.problems, ...secretProblems(config, env)];
    if (problems.length > 0) throw new Problems(problems);
    const source = orThrow(await sourceOf(root, env, texts(options)));
    const database = orThrow(await openFleet(options, env));
    try {
      const agent = agentOf(settings);
      const unit = orThrow(
        await submitUnit(
          database,
          {
            kind,
            title,
            owner: String(options.owner ?? userInfo().username),
            ...source,
            config,
            needs: [
              ...new Set([
                ...(agent === undefined ? [] : [agent]),
                ...((options.need ?? []) as readonly string[]),
              ]),
            ],
            account: String(options.account ?? agent ?? 'agent'),
            budget: typeof options.budget === 'string' ? options.budget : null,
            priority: priorityOf(options.priority),
            depends: (options.after ?? []) as readonly string[],
          },
          new Date(),
        ),
      );
      answer(
        call.output,
        { unit },
        () =>
          `${unit}\nIt waits for a worker. See it with \`ralph fleet status\`, its log with \`ralph fleet logs ${unit} --follow\`.\nWhat comes of it will be on the branch ${shownBranch({ id: unit, kind, parent: null })} of ${source.repoUrl}.${kind === 'prd' ? `\nIts stories may take ${counted(settings.maximumIterations, 'iteration')} together: --max-iterations N changes it.` : ''}`,
      );
      return 0;
    } finally {
      await database.close();
    }
  },
};

const HELP = `
Examples:
  ralph fleet submit loop "Make the login work" --check "npm test"
  ralph fleet submit prd --check "npm test" --parallel 8
  ralph fleet submit loop "Faster parser" --check "npm test" --priority 5 --budget team --need gpu

What is committed and pushed travels, with the settings in .ralph/settings.json;
settings.local.json, uncommitted files and environment variables stay here.
Only on one machine: lists of tasks (--tasks) and several attempts (--best-of).
`;

const EXAMPLE = 'ralph fleet submit loop "Fix the login" --check "npm test"';
const NO_CHECK: Problem = {
  where: '--check',
  what: 'at least one is needed: without a check Ralph would have to believe the agent',
  fix: '--check "npm test"',
};

const ONLY_HERE = [
  ['bestOf', '--best-of'],
  ['agents', '--agents'],
  ['parallel', '--parallel'],
] as const;
const ONE_MACHINE = {
  what: 'a loop of the fleet is one attempt at one task',
  fix: '`ralph loop` does this on one machine; of the fleet, submit a unit for each, or a list of stories with `ralph fleet submit prd`',
};

interface Work {
  readonly settings: Settings;
  readonly layer: Readonly<Record<string, unknown>>;
  readonly title: string;
  readonly folder: string;
  readonly problems: readonly Problem[];
}

function loopOf({ options, root, env }: Call, task: string): Work {
  const { layer, problems } = settingsFromFlags('loop', options);
  const loaded = loadSettings(projectPaths(root, env), 'loop', layer);
  const typed = ONLY_HERE.filter(([name]) => options[name] !== undefined);
  const noTask = { where: 'task', what: 'there is none', fix: EXAMPLE };
  const own = [
    ...(task.trim() === '' ? [noTask] : []),
    ...(loaded.settings.checks.length === 0 ? [NO_CHECK] : []),
    ...typed.map(([, where]) => ({ ...ONE_MACHINE, where })),
  ];
  return {
    settings: loaded.settings,
    layer,
    title: titleOf(task),
    folder: '',
    problems: [...problems, ...loaded.problems, ...own],
  };
}

/** How many stories at a time, where nobody says: the fleet has its own limits. */
const AT_A_TIME = 16;

function storiesOf({ options, root, env }: Call): Work {
  const { layer: given, problems } = settingsFromFlags('prd', options);
  const layer = { parallel: AT_A_TIME, ...given };
  const loaded = loadSettings(projectPaths(root, env), 'prd', layer);
  const { settings } = loaded;
  const folder = typeof options.dir === 'string' ? options.dir : 'ralph';
  const list = loadStories(prdPaths(root, folder), policyOf(settings));
  const isUnchecked = isList(list) && allCommands(list, settings.checks).length === 0 && !settings.unchecked;
  return {
    settings,
    layer,
    title: isList(list) ? list.project || 'Stories' : '',
    folder,
    problems: [
      ...problems,
      ...loaded.problems,
      ...(isList(list) ? [] : list),
      ...(isUnchecked ? [NO_CHECK] : []),
    ],
  };
}

/** What is in the database is read by everybody in the fleet, and by every worker. */
function secretProblems(config: UnitConfig, env: Call['env']): readonly Problem[] {
  if (JSON.stringify(redactDeep(config, createRedactor(env))) === JSON.stringify(config)) return [];
  const what = 'there is a secret of your environment in it, and units hold none';
  return [
    { where: 'the task or a flag', what, fix: 'let the command read it from the environment of the worker' },
  ];
}

function titleOf(task: string): string {
  return (task.split('\n').find(line => line.trim() !== '') ?? '')
    .replace(/^#+\s*/, '')
    .trim()
    .slice(0, 100);
}

/** One that every Ralph knows; a command of the user's own is a matter of labels. */
function agentOf({ agent }: Settings): string | undefined {
  return typeof agent === 'string' && ADAPTERS.some(({ name }) => name === agent) ? agent : undefined;
}

function priorityOf(given: unknown): number {
  if (given === undefined) return 0;
  const priority = Number(given);
  if (Number.isSafeInteger(priority) && Math.abs(priority) <= 1_000) return priority;
  return refuse(`--priority ${given}`, 'must be a whole number from -1000 to 1000');
}

function texts({ repo, base }: Call['options']): { repo?: string; base?: string } {
  return { ...(typeof repo === 'string' && { repo }), ...(typeof base === 'string' && { base }) };
}
