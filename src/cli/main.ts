/** Finds the command, parses its flags, runs it, and turns every ending into an exit code. The one place that does. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError, type Option } from 'commander';
import type { ExitCode } from '../domain/run/stop-reason.ts';
import { closest, formatProblem, type Problem } from '../domain/text/problem.ts';
import { diskTrouble } from '../platform/disk.ts';
import { errorCode, errorWords } from '../platform/error-words.ts';
import { environment } from '../platform/shell.ts';
import { VERSION } from '../platform/version.ts';
import { projectRoot } from '../store/paths.ts';
import { laterState } from '../store/state.ts';
import {
  type Call,
  type CliCommand,
  type CommandGroup,
  type CommandRow,
  Problems,
  refuse,
} from './command.ts';
import { COMMANDS, findCommand, GLOBAL_FLAGS, rootHelp } from './command-list.ts';
import { createOutput, type Output, pasteable } from './output.ts';

export async function main(argv: readonly string[], env: NodeJS.ProcessEnv = environment()): Promise<number> {
  const plain = createOutput({}, env);
  const { name, rest } = findCommand(argv);
  const row = COMMANDS.find(each => each.name === name);
  if (name === 'help') return main([...rest, '--help'], env);
  if (!row) return unknownCommand(name, argv, plain);
  const loaded = await row.load();
  if (!('actions' in loaded)) return runCommand(row.name, row.summary, loaded, rest, env);
  const { name: wanted, rest: words } = findCommand(rest);
  const action = loaded.actions.find(each => each.name === wanted);
  if (!action) return unknownAction(row, loaded, wanted, plain);
  return runCommand(`${row.name} ${action.name}`, action.summary, await action.load(), words, env);
}

async function runCommand(
  name: string,
  summary: string,
  command: CliCommand,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const parsed = await parse(name, summary, command, words, createOutput({}, env));
  if (typeof parsed === 'number') return parsed;
  const output = createOutput(parsed.options, env);
  try {
    const cwd = workingFolder(parsed.options);
    const later = name === 'hook' ? undefined : laterState(env); // a hook says it in words of its host
    if (later) throw new Problems([later]);
    return await command.run({ ...parsed, cwd, root: projectRoot(cwd), env, output });
  } catch (error) {
    return reportError(error, output);
  }
}

/** Without an action, prints the help. */
function unknownAction(
  { name, summary }: CommandRow,
  { actions, examples }: CommandGroup,
  wanted: string | undefined,
  output: Output,
): number {
  if (wanted === undefined) {
    const width = Math.max(...actions.map(action => action.name.length)) + 2;
    const rows = actions.map(action => `  ${action.name.padEnd(width)}${action.summary}`);
    output.answer(
      `Usage: ralph ${name} ACTION [flags]\n\n${summary}\n\nActions:\n${rows.join('\n')}\n\n\`ralph ${name} ACTION --help\` shows the flags of one.\n${examples}`,
    );
    return 0;
  }
  const meant = didYouMean(wanted, actions);
  output.error(
    `ralph ${name}: unknown action '${wanted}'.${meant}\n\`ralph ${name} --help\` lists the actions.\n`,
  );
  return 2;
}

function unknownCommand(name: string | undefined, argv: readonly string[], output: Output): number {
  const words = argv.filter(word => word !== 'all');
  if (name === undefined && words.every(word => ['-h', '--help', '-v', '--version'].includes(word))) {
    const isAll = words.length < argv.length;
    output.answer(argv.includes('-v') || argv.includes('--version') ? `${VERSION}\n` : rootHelp(isAll));
    return 0;
  }
  output.error(
    name === undefined
      ? `ralph: no command given. Did you mean \`ralph run ${argv.join(' ')}\`?\n`
      : `ralph: unknown command '${name}'.${didYouMean(name, COMMANDS)}\n`,
  );
  output.error('`ralph --help` lists the commands.\n');
  return 2;
}

function didYouMean(word: string, rows: readonly CommandRow[]): string {
  const names = rows.map(row => row.name);
  const near = closest(word, names);
  return near ? ` Did you mean ${near}?` : '';
}

async function parse(
  name: string,
  summary: string,
  definition: CliCommand,
  argv: readonly string[],
  output: Output,
): Promise<Pick<Call, 'options' | 'args'> | number> {
  const help = argv.findIndex(word => word === '--help' || word === '-h');
  const isAll = help !== -1 && argv[help + 1] === 'all';
  const command = new Command(`ralph ${name}`)
    .description(summary)
    .exitOverride()
    .allowExcessArguments(false)
    .showSuggestionAfterError()
    .configureOutput({ writeOut: text => output.answer(text), writeErr: () => {} })
    .configureHelp({ showGlobalOptions: false });
  definition.declare?.(command);
  command.addHelpText('after', definition.help);
  addGlobalFlags(command);
  if (help !== -1 && !isAll) shortenHelp(command, name);
  try {
    command.parse(isAll ? argv.toSpliced(help + 1, 1) : [...argv], { from: 'user' });
    return { options: command.opts(), args: command.args };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    const more =
      error.code === 'commander.unknownOption' ? await explainFlag(error.message, name, command) : '';
    output.error(
      `ralph ${name}: ${error.message.replace(/^error: /, '').replace(/\n/g, ' ')}${more}\n\`ralph ${name} --help all\` shows its flags.\n`,
    );
    return 2;
  }
}

function addGlobalFlags(command: Command): void {
  for (const { declaration, help } of GLOBAL_FLAGS) command.option(declaration, help);
  command.helpOption('-h, --help', 'this help; --help all: every flag');
}

function workingFolder(options: Readonly<Record<string, unknown>>): string {
  const cwd = resolve(typeof options.cwd === 'string' ? options.cwd : '.');
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return cwd;
  return refuse(`--cwd ${options.cwd}`, 'there is no such folder');
}

function reportError(error: unknown, output: Output): ExitCode {
  if (error instanceof Problems) return reportProblems(error.problems, output);
  const disk = diskTrouble(error);
  const where = /^E[MN]FILE$/.test(errorCode(error) ?? '') ? 'this machine' : 'the disk';
  if (disk !== undefined) return reportProblems([{ where, what: disk }], output);
  // The file system refused: the user can fix that.
  if (errorCode(error) !== undefined && error instanceof Error && 'path' in error) {
    return reportProblems([{ where: String(error.path), what: errorWords(error) }], output);
  }
  output.error(
    `ralph: a bug in Ralph: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 1;
}

function reportProblems(problems: readonly Problem[], output: Output): ExitCode {
  const count = problems.length === 1 ? '' : `${problems.length} problems:\n`;
  const lines = problems.map(problem => `${problems.length === 1 ? '' : '  - '}${formatProblem(problem)}`);
  output.error(pasteable(`ralph: ${count}${lines.join('\n')}\n`, output));
  if (output.json)
    output.answer(`${JSON.stringify({ success: false, stopReason: 'invalid_config', problems })}\n`);
  return 2;
}

/** What was meant: a flag of this command that is not in its help, or one of another command; '': nobody knows. */
async function explainFlag(message: string, own: string, command: Command): Promise<string> {
  const flag = /'(--?[\w-]+)/.exec(message)?.[1];
  if (flag === undefined || message.includes('Did you mean')) return '';
  const near = closest(
    flag,
    command.options.flatMap(({ long }) => long ?? []),
  );
  if (near !== undefined) return `. Did you mean ${near}?`;
  const owners: string[] = [];
  for (const { name, load } of COMMANDS) {
    const loaded = await load();
    if (!('actions' in loaded)) owners.push(...(hasFlag(loaded, flag) ? [name] : []));
    else
      for (const action of loaded.actions)
        if (hasFlag(await action.load(), flag)) owners.push(`${name} ${action.name}`);
  }
  const others = owners.filter(name => name !== own).map(name => `\`ralph ${name}\``);
  return others.length === 0 ? '' : `. ${flag} is a flag of ${others.slice(0, 3).join(', ')}`;
}

function hasFlag(definition: CliCommand, flag: string): boolean {
  const command = new Command();
  definition.declare?.(command);
  return command.options.some(({ long, short, hidden }) => !hidden && (long === flag || short === flag));
}

/** As many flags as a screen has room for; a command with fewer shows them all. */
const ROOM = 24;

/** Those that most runs need, by what they are for. */
const BASIC: Readonly<Record<string, string>> = {
  Task: 'prompt prompt-file spec title worktree',
  Checks: 'check protect dry-run',
  Agent: 'agent model sandbox',
  Limits: 'maximum-iterations max-iterations max-cost max-time',
  Options: 'json quiet',
};

function shortenHelp(command: Command, name: string): void {
  const all = command.options.filter(({ hidden }) => !hidden);
  if (all.length <= ROOM) return;
  let shown = 0;
  for (const option of all) {
    const group = Object.keys(BASIC).find(each =>
      BASIC[each]?.split(' ').includes(option.long?.slice(2) ?? ''),
    );
    if (group === undefined) option.hideHelp();
    else {
      shown++;
      option.helpGroup(`${group}:`);
      option.flags = option.flags.replace(/\[[^\]]*\|[^\]]*\]/, '[name]');
      option.description = firstWords(option.description);
    }
  }
  // The groups come in the order of their first flags.
  const groups = Object.keys(BASIC).map(group => `${group}:`);
  const rank = ({ helpGroupHeading = 'Options:' }: Option) => groups.indexOf(helpGroupHeading);
  (command.options as Option[]).sort((a, b) => rank(a) - rank(b));
  command.addHelpText('after', `${all.length - shown} more flags: ralph ${name} --help all`);
}

/** Its first sentence, and what it is by default. */
function firstWords(help: string): string {
  const [first = help] = help.split(/(?<=[.;]) |; /);
  const fallback = / \(default: [^)]*\)$/.exec(help)?.[0] ?? '';
  return `${first.replace(/[.;:]$/, '').replace(fallback, '')}${fallback}`;
}
