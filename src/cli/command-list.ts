/** The commands. The help, the parser and the shell completions are views of these tables; each command is loaded when it is called. */
import type { CommandGroup, CommandRow } from './command.ts';

function rowsOf<Name extends string, Load>(
  summaries: Readonly<Record<Name, string>>,
  loads: Readonly<Record<NoInfer<Name>, Load>>,
) {
  const names = Object.keys(summaries) as Name[];
  return names.map(name => ({ name, summary: summaries[name], load: loads[name] }));
}

/** Seed 002: a PRD, a list of stories, and no story done before a fresh context has reviewed it. */
const PRD: CommandGroup = {
  actions: rowsOf(
    {
      init: 'create ralph/ with prd.md, tasks.json, progress.txt and prompt.md',
      plan: 'plan the feature with an agent, in this terminal',
      import: 'import the stories of a prd.json, the format of other loops',
      run: 'loop an agent until every story is implemented and approved',
      status: 'list the stories and their state',
      archive: 'move a finished list to ralph-archive/ and start a new one',
    },
    {
      init: async () => (await import('./commands/prd/init.ts')).init,
      plan: async () => (await import('./commands/prd/plan.ts')).plan,
      import: async () => (await import('./commands/prd/import.ts')).importList,
      run: async () => (await import('./commands/prd/run.ts')).run,
      status: async () => (await import('./commands/prd/status.ts')).status,
      archive: async () => (await import('./commands/prd/archive.ts')).archive,
    },
  ),
  examples: `
Examples:
  ralph prd init --name "Saved searches"
  ralph prd plan
  ralph prd run -n 20 --max-cost 10
  ralph prd status
  ralph prd archive
`,
};

/** Many machines, one scheduler, on PostgreSQL. */
const FLEET: CommandGroup = {
  actions: rowsOf(
    {
      up: 'start a PostgreSQL of your own, or prepare one that exists',
      down: 'stop the PostgreSQL that `ralph fleet up` started',
      submit: 'hand a task to whichever worker is free',
      status: 'list units, workers, budgets, and what waits for what',
      logs: 'show what happened in a unit, or follow it',
      cancel: 'end a unit',
      remove: 'remove units that are over from the database',
      tell: 'tell the agent of a unit something',
      pause: 'pause a unit between two steps',
      continue: 'continue a unit that was paused',
      drain: 'let a worker give back its units and end',
      budget: 'set what the units of a budget may spend together',
      account: 'set how many units may use an account at a time',
    },
    {
      up: async () => (await import('./commands/fleet/up.ts')).up,
      down: async () => (await import('./commands/fleet/down.ts')).down,
      submit: async () => (await import('./commands/fleet/submit.ts')).submit,
      status: async () => (await import('./commands/fleet/status.ts')).status,
      logs: async () => (await import('./commands/log.ts')).logs,
      cancel: async () => (await import('./commands/fleet/steer.ts')).cancel,
      remove: async () => (await import('./commands/fleet/remove.ts')).remove,
      tell: async () => (await import('./commands/fleet/steer.ts')).tell,
      pause: async () => (await import('./commands/fleet/steer.ts')).pause,
      continue: async () => (await import('./commands/fleet/steer.ts')).continueUnit,
      drain: async () => (await import('./commands/fleet/steer.ts')).drain,
      budget: async () => (await import('./commands/fleet/steer.ts')).budget,
      account: async () => (await import('./commands/fleet/steer.ts')).account,
    },
  ),
  examples: `
Examples:
  ralph fleet up
  ralph worker
  ralph fleet submit loop "Make the login work" --check "npm test"
  ralph fleet submit prd --check "npm test"
  ralph fleet status --watch
  ralph fleet down
`,
};

export const COMMANDS: readonly CommandRow[] = rowsOf(
  {
    run: 'loop an agent on a prompt, until the agent says so and every check passes',
    loop: 'loop an agent on a task with a clean context until every check passes',
    prd: 'build a PRD story by story, each reviewed with fresh eyes: init, plan, run, status …',
    fleet: 'many machines on one PostgreSQL: up, submit, status, cancel, drain, budget …',
    worker: 'take units of the fleet and work on them',
    session: 'manage the loop inside an agent session: start, status, cancel',
    hook: "called by an agent's hooks: JSON on stdin, JSON on stdout",
    init: 'ask a few questions and write .ralph/settings.json',
    migrate: 'bring settings to the names of this version, shown as a diff',
    resume: 'continue a run that was interrupted or has stopped',
    'continue-here': 'take the loop of an agent session into this terminal',
    fork: 'start a new run from an iteration of another one, in a worktree',
    status: 'list the runs of this project',
    explain: 'explain why a run stopped, and what to do next',
    show: 'show what a run was about and what it changed',
    log: 'show what happened in a run, event by event',
    land: 'merge what a run left into your branch, once its checks pass on the merged tree',
    pr: 'push what a proven run left, and open a draft pull request with its proof',
    watch: 'turn the issues with a label into runs and pull requests, until Ctrl-C',
    discard: 'throw away what a run left, with the command that brings it back',
    pause: 'pause a run from another terminal, to change things by hand',
    continue: 'continue a paused run',
    tell: 'send a hint to the agent of a run, for its next iteration',
    answer: 'answer what a story of a run asks',
    report: 'report on one run, or all of them, as HTML, Markdown, JSON, JUnit or SARIF',
    verify: 'verify the bundle of a run: signature, ledger, checks, commit',
    dashboard: 'show the runs in a browser, live, with pause, continue, tell and cancel',
    cancel: 'stop a run from another terminal, or remove a worktree',
    doctor: 'check which agents and sandboxes work here, and how to fix those that do not',
    plugin: 'manage the plugin for loops inside an agent session: install, remove, path, check',
    demo: 'watch a loop fix a broken project: no key, no model, no network',
    simulate: 'test your settings against scripted failures, in a copy, in seconds',
    mutate: 'would your checks notice a fault in the changed lines?',
    replay: 'judge a recorded run again, with the current adapters and rules',
    prune: 'remove old runs, or only the raw output of their agents; never a running one',
    uninstall: 'take away what Ralph has put on this machine: plugins; with --all also runs and state',
    support: 'write one file for a bug report, without secrets; it sends nothing',
    completion: 'print a completion script for bash, zsh or fish',
  },
  {
    run: async () => (await import('./commands/run.ts')).run,
    loop: async () => (await import('./commands/loop.ts')).loop,
    prd: async () => PRD,
    fleet: async () => FLEET,
    worker: async () => (await import('./commands/worker.ts')).worker,
    session: async () => (await import('./commands/session.ts')).session,
    hook: async () => (await import('./commands/hook.ts')).hook,
    init: async () => (await import('./commands/init.ts')).init,
    migrate: async () => (await import('./commands/migrate.ts')).migrate,
    resume: async () => (await import('./commands/resume.ts')).resume,
    fork: async () => (await import('./commands/fork.ts')).fork,
    'continue-here': async () => (await import('./commands/continue-here.ts')).continueHere,
    status: async () => (await import('./commands/status.ts')).status,
    explain: async () => (await import('./commands/explain.ts')).explain,
    show: async () => (await import('./commands/show.ts')).show,
    log: async () => (await import('./commands/log.ts')).log,
    land: async () => (await import('./commands/land.ts')).land,
    pr: async () => (await import('./commands/pr.ts')).pr,
    watch: async () => (await import('./commands/watch.ts')).watch,
    discard: async () => (await import('./commands/land.ts')).discard,
    pause: async () => (await import('./commands/steer.ts')).pause,
    continue: async () => (await import('./commands/steer.ts')).continueRun,
    tell: async () => (await import('./commands/steer.ts')).tell,
    answer: async () => (await import('./commands/steer.ts')).answerQuestion,
    report: async () => (await import('./commands/report.ts')).report,
    verify: async () => (await import('./commands/verify.ts')).verify,
    dashboard: async () => (await import('./commands/dashboard.ts')).dashboard,
    cancel: async () => (await import('./commands/steer.ts')).cancel,
    doctor: async () => (await import('./commands/doctor.ts')).doctor,
    plugin: async () => (await import('./commands/plugin.ts')).plugin,
    demo: async () => (await import('./commands/demo.ts')).demo,
    simulate: async () => (await import('./commands/simulate.ts')).simulate,
    mutate: async () => (await import('./commands/mutate.ts')).mutate,
    replay: async () => (await import('./commands/replay.ts')).replay,
    prune: async () => (await import('./commands/prune.ts')).prune,
    uninstall: async () => (await import('./commands/uninstall.ts')).uninstall,
    support: async () => (await import('./commands/support.ts')).support,
    completion: async () => (await import('./commands/completion.ts')).completion,
  },
);

export const GLOBAL_FLAGS = [
  { declaration: '-C, --cwd <dir>', help: 'work in this folder' },
  { declaration: '-V, --verbose', help: 'print details, on stderr' },
  { declaration: '--quiet', help: 'print only the final result' },
  { declaration: '--json', help: 'one JSON result on stdout, everything else on stderr' },
  { declaration: '--events <file>', help: 'write one JSON event per line to a file, or - for stdout' },
  { declaration: '--no-color', help: 'no colour (also NO_COLOR)' },
  { declaration: '--no-emoji', help: 'text markers instead of emoji' },
  { declaration: '--plain', help: 'lines of text alone, nothing is drawn again: for a screen reader' },
] as const;

/** Global flags may stand before the command; those with a value take the next word with them. */
export function findCommand(argv: readonly string[]): {
  readonly name: string | undefined;
  readonly rest: readonly string[];
} {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (!word.startsWith('-')) return { name: word, rest: argv.toSpliced(at, 1) };
    const flag = GLOBAL_FLAGS.find(({ declaration }) =>
      declaration.split(/[ ,]+/).includes(word.replace(/=.*/, '')),
    );
    if (!flag) break; // a command's own flag, before its command
    if (flag.declaration.includes('<') && !word.includes('=')) at++;
  }
  return { name: undefined, rest: argv };
}

/** What a newcomer needs, by what it is for; `--help all` lists the rest. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Start here': ['demo', 'doctor', 'init'],
  'Work in a loop': ['run', 'loop', 'prd', 'resume'],
  'Look at runs': ['status', 'explain', 'show', 'log', 'report', 'dashboard'],
  'Take the work over': ['land', 'pr', 'discard'],
  'Steer a run': ['pause', 'continue', 'tell', 'cancel'],
  'Trust the result': ['simulate', 'mutate', 'verify'],
};

export function rootHelp(isAll = false): string {
  const named = Object.values(GROUPS).flat();
  const others = COMMANDS.filter(({ name }) => !named.includes(name)).map(({ name }) => name);
  const groups = Object.entries(isAll ? { ...GROUPS, Others: others } : GROUPS);
  const width = Math.max(...COMMANDS.map(row => row.name.length)) + 2;
  const row = (name: string) =>
    `  ${name.padEnd(width)}${COMMANDS.find(each => each.name === name)?.summary ?? ''}`;
  const commands = groups.map(([title, names]) => [`${title}:`, ...names.map(row)].join('\n'));
  const head = 'Ralph keeps a coding agent working until the work is provably done.';
  if (!isAll)
    return `${head}

Usage: ralph COMMAND [flags]

${commands.join('\n')}

Examples:
  ralph run -p "Make the tests pass. When they do, say <promise>COMPLETE</promise>"
  ralph loop "Make the login work" --check "npm test" --check "npm run lint"

ralph COMMAND --help shows the flags of a command, ralph --help all the rest.
Exit codes: 0 done · 1 stopped without being done · 2 something you can fix · 130 interrupted
`;
  return `${head}

Usage: ralph COMMAND [flags]

${commands.join('\n\n')}

Flags of every command:
${GLOBAL_FLAGS.map(flag => `  ${flag.declaration.padEnd(20)}${flag.help}`).join('\n')}
  -v, --version       the version
  -h, --help [all]    this help; ralph COMMAND --help for the flags of a command

Examples:
  ralph demo
  ralph init
  ralph run -p "Make the tests pass. When they do, say <promise>COMPLETE</promise>" --agent claude
  ralph run -f PROMPT.md -m 20
  ralph loop "Make the login work" --check "npm test" --check "npm run lint"
  ralph prd init --name "Saved searches"
  ralph status

Exit codes: 0 done · 1 stopped without being done · 2 something you can fix · 130 interrupted
`;
}
