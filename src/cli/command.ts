/** What a command is to the CLI: flags declared on a parser, and a function from parsed input to an exit code. */
import { isAbsolute, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { ExitCode } from '../domain/run/stop-reason.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { hasMark } from '../platform/spawn.ts';
import { type Output, pasteable } from './output.ts';

export interface CliCommand {
  declare?(command: Command): unknown;
  /** Behind its flags in its help: examples, and what else to know. */
  readonly help: string;
  run(call: Call): Promise<ExitCode>;
}

/** One row of a list of commands. The help, the parser and the shell completions are views of it. */
export interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Loaded only when it is called. */
  load(): Promise<CliCommand | CommandGroup>;
}

/** A command whose first word names what to do, each with flags of its own. */
export interface CommandGroup {
  readonly actions: readonly ActionRow[];
  /** Behind the list of actions in its help. */
  readonly examples: string;
}

export interface ActionRow extends CommandRow {
  load(): Promise<CliCommand>;
}

export interface Call {
  readonly options: Readonly<Record<string, unknown>>;
  readonly args: readonly string[];
  /** The folder that the user is in, `-C` applied: names of files on the command line are relative to it. */
  readonly cwd: string;
  /** The root of the project: there are its settings and its runs, and there the agent works. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: Output;
}

/** A file that was named on the command line, as a run can find it again: from the root of the project. */
export function fromRoot({ cwd, root }: Pick<Call, 'cwd' | 'root'>, file: string): string {
  return cwd === root || isAbsolute(file) ? file : relative(root, resolve(cwd, file));
}

/** The value; a problem is thrown, for main to print. */
export function orThrow<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new Problems([value]);
  return value;
}

/** Throws the one problem there is. */
export function refuse(where: string, what: string, fix?: string): never {
  throw new Problems([{ where, what, ...(fix !== undefined && { fix }) }]);
}

/** The whole number that a flag holds. */
export function wholeNumber(flag: string, given: unknown, least: number, most: number, what: string): number {
  const number = Number(given);
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
  return refuse(`${flag} ${given}`, what);
}

/** What an agent or a check starts is not the user, whatever it says. */
export function refuseInside(name: string, { env }: Pick<Call, 'env'>): void {
  if (!hasMark(env)) return;
  const what = 'an agent or a check of a run has started this command, and only the user may steer runs';
  refuse(`ralph ${name}`, what, 'use a terminal of your own');
}

/** What was asked for, as the answer on stdout: JSON for a program, or the lines for people. */
export function answer(output: Output, value: unknown, lines: () => string): void {
  output.answer(output.json ? `${JSON.stringify(value)}\n` : `${pasteable(lines(), output)}\n`);
}

/** Thrown by a command when the user has something to fix; main prints them all and exits with 2. */
export class Problems extends Error {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super('problems');
    this.problems = problems;
  }
}
