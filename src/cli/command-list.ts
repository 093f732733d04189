/** The commands, one row each. */
import type { CommandRow } from './command.ts';

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'loop an agent on a prompt, with guardrails from the settings',
    load: async () => (await import('./commands/run.ts')).run,
  },
  {
    name: 'loop',
    summary: 'loop an agent on a task with a clean context until every check passes',
    load: async () => (await import('./commands/loop.ts')).loop,
  },
  {
    name: 'prd',
    summary: 'build a PRD story by story, each reviewed with fresh eyes: init, plan, run, status …',
    load: async () => (await import('./commands/prd/group.ts')).prd,
  },
  {
    name: 'fleet',
    summary: 'many machines on one PostgreSQL: up, submit, status, cancel, drain, budget …',
    load: async () => (await import('./commands/fleet/group.ts')).fleet,
  },
  {
    name: 'worker',
    summary: 'take units of the fleet and work on them',
    load: async () => (await import('./commands/worker.ts')).worker,
  },
  {
    name: 'session',
    summary: 'manage the loop inside an agent session: start, status, cancel',
    load: async () => (await import('./commands/session.ts')).session,
  },
  {
    name: 'hook',
    summary: "called by an agent's hooks: JSON on stdin, JSON on stdout",
    load: async () => (await import('./commands/hook.ts')).hook,
  },
  {
    name: 'init',
    summary: 'ask a few questions and write .ralph/settings.json',
    load: async () => (await import('./commands/init.ts')).init,
  },
  {
    name: 'resume',
    summary: 'continue a run that was interrupted or has stopped',
    load: async () => (await import('./commands/resume.ts')).resume,
  },
  {
    name: 'continue-here',
    summary: 'take the loop of an agent session into this terminal',
    load: async () => (await import('./commands/continue-here.ts')).continueHere,
  },
  {
    name: 'status',
    summary: 'list the runs of this project',
    load: async () => (await import('./commands/status.ts')).status,
  },
  {
    name: 'explain',
    summary: 'explain why a run stopped, and what to do next',
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  {
    name: 'show',
    summary: 'show what a run was about and what it changed',
    load: async () => (await import('./commands/show.ts')).show,
  },
  {
    name: 'log',
    summary: 'show what happened in a run, event by event',
    load: async () => (await import('./commands/log.ts')).log,
  },
  {
    name: 'pause',
    summary: 'pause a run from another terminal, to change things by hand',
    load: async () => (await import('./commands/steer.ts')).pause,
  },
  {
    name: 'continue',
    summary: 'continue a paused run',
    load: async () => (await import('./commands/steer.ts')).continueRun,
  },
  {
    name: 'tell',
    summary: 'send a hint to the agent of a run, for its next iteration',
    load: async () => (await import('./commands/steer.ts')).tell,
  },
  {
    name: 'answer',
    summary: 'answer what a story of a run asks',
    load: async () => (await import('./commands/steer.ts')).answerQuestion,
  },
  {
    name: 'report',
    summary: 'report on one run, or all of them, as HTML, Markdown, JSON, JUnit or SARIF',
    load: async () => (await import('./commands/report.ts')).report,
  },
  {
    name: 'verify',
    summary: 'verify the bundle of a run: signature, ledger, checks, commit',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  {
    name: 'dashboard',
    summary: 'show the runs in a browser, live, with pause, continue, tell and cancel',
    load: async () => (await import('./commands/dashboard.ts')).dashboard,
  },
  {
    name: 'cancel',
    summary: 'stop a run from another terminal, or remove a worktree',
    load: async () => (await import('./commands/steer.ts')).cancel,
  },
  {
    name: 'doctor',
    summary: 'check which agents and sandboxes work here, and how to fix those that do not',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'plugin',
    summary: 'manage the plugin for loops inside an agent session: install, remove, path, check',
    load: async () => (await import('./commands/plugin.ts')).plugin,
  },
  {
    name: 'demo',
    summary: 'watch a loop fix a broken project: no key, no model, no network',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  {
    name: 'simulate',
    summary: 'test your settings against scripted failures, in a copy, in seconds',
    load: async () => (await import('./commands/simulate.ts')).simulate,
  },
  {
    name: 'mutate',
    summary: 'would your checks notice a fault in the changed lines?',
    load: async () => (await import('./commands/mutate.ts')).mutate,
  },
  {
    name: 'replay',
    summary: 'judge a recorded run again, with the current adapters and rules',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  {
    name: 'prune',
    summary: 'remove old runs, or only the raw output of their agents; never a running one',
    load: async () => (await import('./commands/prune.ts')).prune,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
];

/** The flags of every command. */
export const GLOBAL_FLAGS = [
  { declaration: '-C, --cwd <dir>', help: 'work in this folder' },
  { declaration: '-V, --verbose', help: 'print details, on stderr' },
  { declaration: '--quiet', help: 'print only the final result' },
  { declaration: '--json', help: 'one JSON result on stdout, everything else on stderr' },
  { declaration: '--events <file>', help: 'write one JSON event per line to a file, or - for stdout' },
  { declaration: '--no-color', help: 'no colour (also NO_COLOR)' },
  { declaration: '--no-emoji', help: 'text markers instead of emoji' },
] as const;

/** What a newcomer needs, by what it is for; `--help all` lists the rest. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Start here': ['demo', 'doctor', 'init'],
  'Work in a loop': ['run', 'loop', 'prd', 'resume'],
  'Look at runs': ['status', 'explain', 'show', 'log', 'report', 'dashboard'],
  'Steer a run': ['pause', 'continue', 'tell', 'answer', 'cancel'],
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
  ralph run -p "Make the tests pass. When they do, say <response>DONE</response>"
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
  ralph run -p "Make the tests pass. When they do, say <response>DONE</response>" --agent claude
  ralph run -f PROMPT.md -m 20
  ralph loop "Make the login work" --check "npm test" --check "npm run lint"
  ralph prd init --name "Saved searches"
  ralph status

Exit codes: 0 done · 1 stopped without being done · 2 something you can fix · 130 interrupted
`;
}
