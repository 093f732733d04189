/** `ralph fleet submit loop|prd …`: hands work to whichever worker is free. */
import { userInfo } from 'node:os';
import { ADAPTERS } from '../../../agents/registry.ts';
import { flagsOf, settingsFromFlags } from '../../../config/flags.ts';
import { loadSettings } from '../../../config/load.ts';
import type { Settings } from '../../../config/settings-shape.ts';
import type { Problem } from '../../../domain/problem.ts';
import { createRedactor, redactDeep } from '../../../domain/secrets.ts';
import { openFleet } from '../../../fleet/open.ts';
import { sourceOf, submitUnit } from '../../../fleet/submit.ts';
import type { UnitConfig } from '../../../fleet/unit.ts';
import { projectPaths } from '../../../store/paths.ts';
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
      .argument('<kind>', 'loop')
      .argument('[task]', 'what to do')
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
    for (const flag of flagsOf('loop')) declareFlag(command, flag, undefined);
    command.addHelpText('after', HELP);
  },
  async run(call) {
    refuseInside('fleet submit', call);
    const { args, options, root, env } = call;
    const [kind, task = ''] = args;
    if (kind !== 'loop')
      refuse(
        `fleet submit ${kind}`,
        'is not known',
        'ralph fleet submit loop "Fix the login" --check "npm test"',
      );
    const flags = settingsFromFlags('loop', options);
    const loaded = loadSettings(projectPaths(root, env), 'loop', flags.layer);
    const problems = [
      ...flags.problems,
      ...loaded.problems,
      ...ownProblems(task, loaded.settings),
      ...secretProblems({ flags: flags.layer, task }, env),
    ];
    if (problems.length > 0) throw new Problems(problems);
    const source = orThrow(await sourceOf(root, env, texts(options)));
    const database = orThrow(await openFleet(options, env));
    try {
      const agent = agentOf(loaded.settings);
      const unit = orThrow(
        await submitUnit(
          database,
          {
            kind: 'loop',
            title: titleOf(task),
            owner: String(options.owner ?? userInfo().username),
            ...source,
            config: { flags: flags.layer, task },
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
          `${unit}\nIt waits for a worker. See it with \`ralph fleet status\`, its log with \`ralph fleet logs ${unit} --follow\`.\nWhat comes of it will be on the branch ralph/${unit} of ${source.repoUrl}.`,
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
  ralph fleet submit loop "Faster parser" --check "npm test" --priority 5 --budget team --need gpu

What is committed and pushed travels, with the settings in .ralph/settings.json;
settings.local.json, uncommitted files and environment variables stay here.
`;

function ownProblems(task: string, { checks }: Settings): readonly Problem[] {
  const none = {
    where: 'task',
    what: 'there is none',
    fix: 'ralph fleet submit loop "Fix the login" --check "npm test"',
  };
  const unchecked = {
    where: '--check',
    what: 'at least one is needed: a loop without a check would have to believe the agent',
    fix: '--check "npm test"',
  };
  return [...(task.trim() === '' ? [none] : []), ...(checks.length === 0 ? [unchecked] : [])];
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
