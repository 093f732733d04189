/** Finds the command, parses its flags, runs it, and turns every ending into an exit code. The one place that does. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError } from 'commander';
import { closest, formatProblem, type Problem } from '../domain/problem.ts';
import type { ExitCode } from '../domain/stop-reason.ts';
import { diskTrouble } from '../platform/disk.ts';
import { errorCode, errorWords } from '../platform/error-words.ts';
import { environment } from '../platform/shell.ts';
import { VERSION } from '../platform/version.ts';
import { projectRoot } from '../store/paths.ts';
import {
  type Call,
  type CliCommand,
  type CommandGroup,
  type CommandRow,
  Problems,
  refuse,
} from './command.ts';
import { COMMANDS, GLOBAL_FLAGS, rootHelp } from './command-list.ts';
import { createOutput, type Output, pasteable } from './output.ts';
import { shortenHelp } from './short-help.ts';

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

/** Global flags may stand before the command; those with a value take the next word with them. */
function findCommand(argv: readonly string[]): {
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
  definition.declare(command);
  addGlobalFlags(command);
  if (help !== -1 && !isAll) shortenHelp(command, name);
  try {
    command.parse(isAll ? argv.toSpliced(help + 1, 1) : [...argv], { from: 'user' });
    return { options: command.opts(), args: command.args };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    const { explainFlag } = await import('./flag-elsewhere.ts');
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
