/** The commands, one row each. */
import type { CommandRow } from './command.ts';
import { GLOBAL_FLAGS } from './global-flags.ts';

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
    name: 'session',
    summary: 'the in-session loop of a host: start, status, cancel',
    load: async () => (await import('./commands/session.ts')).session,
  },
  {
    name: 'hook',
    summary: "what a host's hooks call: JSON on stdin, JSON on stdout",
    load: async () => (await import('./commands/hook.ts')).hook,
  },
  {
    name: 'init',
    summary: 'write .ralph/settings.json in a short dialogue',
    load: async () => (await import('./commands/init.ts')).init,
  },
  {
    name: 'resume',
    summary: 'go on with a run that was cut off or has stopped',
    load: async () => (await import('./commands/resume.ts')).resume,
  },
  {
    name: 'status',
    summary: 'the runs of this project at a glance',
    load: async () => (await import('./commands/status.ts')).status,
  },
  {
    name: 'explain',
    summary: 'why a run stopped, and what to do next, in plain words',
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  {
    name: 'log',
    summary: 'what happened in a run, event by event',
    load: async () => (await import('./commands/log.ts')).log,
  },
  {
    name: 'pause',
    summary: 'hold a run from another terminal, to change things by hand',
    load: async () => (await import('./commands/pause.ts')).pause,
  },
  {
    name: 'continue',
    summary: 'let a paused run go on',
    load: async () => (await import('./commands/continue.ts')).goOn,
  },
  {
    name: 'tell',
    summary: 'say something to the agent of a run, in its next iteration',
    load: async () => (await import('./commands/tell.ts')).tell,
  },
  {
    name: 'report',
    summary: 'a run, or all of them, as HTML, Markdown, JSON, JUnit or SARIF',
    load: async () => (await import('./commands/report.ts')).report,
  },
  {
    name: 'dashboard',
    summary: 'the runs in a browser, live, with pause, continue, tell and cancel',
    load: async () => (await import('./commands/dashboard.ts')).dashboard,
  },
  {
    name: 'cancel',
    summary: 'end a run from another terminal, or remove a worktree',
    load: async () => (await import('./commands/cancel.ts')).cancel,
  },
  {
    name: 'doctor',
    summary: 'which agents can be used here, and how to fix what cannot',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'plugin',
    summary: 'put the in-session loop into a host: install, remove, path, check',
    load: async () => (await import('./commands/plugin.ts')).plugin,
  },
  {
    name: 'demo',
    summary: 'watch a loop fix a broken project: no key, no model, no network',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  {
    name: 'simulate',
    summary: 'your settings against scripted trouble, in a copy, in seconds',
    load: async () => (await import('./commands/simulate.ts')).simulate,
  },
  {
    name: 'replay',
    summary: 'judge a recorded run again, with the adapters and the judge of today',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  {
    name: 'prune',
    summary: 'remove old runs, or what their agents printed; never one that is alive',
    load: async () => (await import('./commands/prune.ts')).prune,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
];

export function rootHelp(): string {
  const width = Math.max(...COMMANDS.map(row => row.name.length)) + 2;
  return `Ralph keeps a coding agent working until the work is provably done.

Usage: ralph COMMAND [flags]

Commands:
${COMMANDS.map(row => `  ${row.name.padEnd(width)}${row.summary}`).join('\n')}

Flags of every command:
${GLOBAL_FLAGS.map(flag => `  ${flag.declaration.padEnd(20)}${flag.help}`).join('\n')}
  -v, --version       the version
  -h, --help          this help; ralph COMMAND --help for a command's own

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
