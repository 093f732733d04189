/** `ralph watch`: issues with a label become runs in worktrees and pull requests, until Ctrl-C. */
import { settingsFromFlags } from '../../config/flags.ts';
import { loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings-shape.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { createRedactor, redactDeep } from '../../domain/text/secrets.ts';
import type { WatchRequest } from '../../forge/watch.ts';
import { type IssueLine, issueLine } from '../../report/issue-words.ts';
import { createStopRequest } from '../../run/stop.ts';
import { projectPaths } from '../../store/paths.ts';
import { type Call, type CliCommand, orThrow, Problems, refuseInside } from '../command.ts';
import type { OwnIssueFleet } from '../issue-fleet.ts';
import { pasteable } from '../output.ts';
import { openEvents } from '../reporters.ts';
import { declareSettings, setUp } from '../set-up.ts';
import { listenForSignals } from '../signals.ts';
import { DATABASE } from '../which-run.ts';
import { declareTerms, termsOf } from './fleet/submit.ts';
import { declareFollowing, followFlags, followRequest } from './pr.ts';

export const watch: CliCommand = {
  declare(command) {
    command
      .option('--label <name>', 'work on open issues with this label', 'ralph')
      .option('--once', 'work through what is there, and end')
      .option('--fleet', 'let a fleet work on the issues: each becomes one unit')
      .option(...DATABASE);
    declareFollowing(command);
    declareTerms(command);
    declareSettings(command, 'loop');
  },
  help: `
Examples:
  ralph watch --check "npm test" --ready
  ralph watch --label agent --parallel 3 --max-cost 20
  ralph watch --once --check "npm test"
  ralph watch --fleet --check "npm test" --budget team

An open issue counts where somebody with write permission has set the label.
Each becomes one run in a worktree, and its work a pull request, which is
followed as \`ralph pr --follow\` does it. Its agent may ask: the question is a
comment, the next comment of somebody with write permission is the answer.
Take the label away, or close the issue, and it is stopped. --parallel says
how many at a time; --max-cost and --max-tokens hold for all together.
With --fleet each issue is one unit of a fleet, on whichever worker is free;
--max-cost and --max-tokens then hold for each, --budget for all together.
Exit code 130: Ctrl-C; the same command continues. With --once 0: all is done,
1: some need you. 2: something you can fix.
`,
  async run(call) {
    refuseInside('watch', call);
    const { options, output } = call;
    const stop = createStopRequest();
    const flags = { ...followFlags({ options: { ...options, follow: true } }), stop };
    const workers = options.fleet === true ? await fleetWork(call, flags) : localWork(call, flags);
    const signals = listenForSignals(text => output.error(text), stop);
    const label = String(options.label);
    const show = createShow(call);
    let isAny = false;
    try {
      const { watchIssues } = await import('../../forge/watch.ts');
      const ended = orThrow(
        await watchIssues({
          ...{ ...followRequest(call, workers.project), ...flags, ...workers },
          ...{ label, once: options.once === true },
          shows(line) {
            isAny = true;
            show(line);
          },
        }),
      );
      if (ended.outcome === 'over' && !isAny && !output.json)
        output.human(`No open issue has the label ${label}.\n`);
      return ended.outcome === 'interrupted' ? 130 : ended.open > 0 ? 1 : 0;
    } finally {
      signals.dispose();
      await workers.close();
    }
  },
};

type Workers = Pick<WatchRequest, 'project' | 'who' | 'work'> & { close(): Promise<void> };
type Flags = ReturnType<typeof followFlags> & Pick<WatchRequest, 'stop'>;

/** Runs in worktrees of this project. */
function localWork(call: Call, flags: Flags): Workers {
  const ready = setUp('loop', call, settings => [...problemsOf(call, settings), ...fleetOnly(call)]);
  const { settings, project } = ready;
  const { maxCost, maxTokens, parallel } = settings;
  const events = openEvents(call);
  const given = { ...followRequest(call, project), ...flags, ready, parallel, money: { maxCost, maxTokens } };
  const about = (issue: number) => followRequest(call, project, `#${issue}: `);
  return {
    project,
    async work(access) {
      const { createIssueWork } = await import('../../forge/issue-work.ts');
      return createIssueWork({ ...given, access, about, onEvent: (_issue, event) => events?.write(event) });
    },
    close: async () => events?.close(),
  };
}

/** Units of a fleet. Neither the agent nor the programs of the checks need to be here. */
async function fleetWork(call: Call, flags: Flags): Promise<Workers> {
  const { options, env, root, output } = call;
  const project = projectPaths(root, env);
  const { layer, problems } = settingsFromFlags('loop', options);
  const { parallel, ...own } = layer;
  const loaded = loadSettings(project, 'loop', own);
  const wrong = [
    ...[...problems, ...loaded.problems, ...problemsOf(call, loaded.settings)],
    ...(output.events === undefined ? [] : [NO_EVENTS]),
  ];
  if (wrong.length > 0) throw new Problems(wrong);
  const terms = termsOf(call, loaded.settings);
  const [{ openFleet }, { openIssueFleet }, { createUnitWork }] = await Promise.all([
    import('../../fleet/open.ts'),
    import('../issue-fleet.ts'),
    import('../../forge/issue-units.ts'),
  ]);
  const database = orThrow(await openFleet(options, env));
  const given = { ...followRequest(call, project), ...flags };
  const about = (issue: number) => followRequest(call, project, `#${issue}: `);
  let opened: OwnIssueFleet | undefined;
  return {
    ...{ project, who: 'fleet' },
    async work(access) {
      const { place } = access;
      opened = openIssueFleet({ database, env, project, place, flags: own, terms, say: given.say });
      const most = typeof parallel === 'number' ? parallel : undefined;
      return createUnitWork({ ...given, access, about, fleet: opened, parallel: most });
    },
    async close() {
      await opened?.close();
      await database.close();
    },
  };
}

const NO_EVENTS: Problem = {
  where: '--events',
  what: 'the events of units are in the database',
  fix: '`ralph fleet logs UNIT --follow`',
};

/** What would be silently without effect. */
function fleetOnly({ options }: Call): readonly Problem[] {
  const names = ['database', 'budget', 'need', 'account', 'owner', 'priority'];
  const given = names.filter(name => options[name] !== undefined);
  return given.map(name => ({ where: `--${name}`, what: 'it is for units of a fleet', fix: 'add --fleet' }));
}

/** On a screen the run alone is no news: it is known a moment after its issue is worked on. */
function createShow({ output, env }: Call): (line: IssueLine) => void {
  const shown = new Map<number, string>();
  const redact = createRedactor(env);
  return given => {
    const line = redactDeep(given, redact);
    if (output.json) return output.answer(`${JSON.stringify(line)}\n`);
    const news = issueLine({ ...line, runId: null });
    if (shown.get(line.issue) !== news) output.human(`${pasteable(issueLine(line), output)}\n`);
    shown.set(line.issue, news);
  };
}

function problemsOf({ options }: Call, settings: Settings): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (where: string, what: string, fix?: string) =>
    problems.push({ where, what, ...(fix !== undefined && { fix }) });
  if (settings.checks.length === 0)
    refuse(
      '--check',
      'at least one is needed: what is not checked gets no pull request',
      '--check "npm test"',
    );
  if (settings.bestOf > 1 || options.agents !== undefined)
    refuse('--best-of', 'an issue gets one run', 'leave it out');
  if (!/^[^\x00-\x1f,]{1,50}$/.test(String(options.label)))
    refuse('--label', 'must be the name of one label');
  return problems;
}
