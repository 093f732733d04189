/**
 * git, asked so that it answers the same everywhere: it prompts for nothing, runs no hook, takes no lock it can do
 * without, and finds its repository by the folder alone, also when Ralph itself was started by a git hook.
 */

import { isAbsolute } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { type Answered, askProgram, TOO_LONG } from './ask.ts';
import { type Captured, type CaptureOptions, capture } from './capture.ts';
import type { Command, Confinement } from './confinement.ts';
import { errorLine } from './error-words.ts';
import { watchGit } from './git-watch.ts';
import { startProcess } from './process.ts';
import { outsideEnv, programPath } from './programs.ts';

export type { Env };

export interface Git {
  readonly cwd: string;
  /** By its absolute path. */
  readonly program: string;
  /** For a short answer; `limits` for one that comes over a network. */
  run(args: readonly string[], limits?: Pick<CaptureOptions, 'timeout' | 'signal'>): Promise<Captured>;
  /** For no answer but whether it was done; else git's own words behind `what`. */
  order(args: readonly string[], where: string, what?: string): Promise<Problem | undefined>;
  /** The same behind a wall, if there is one: for a repository that the inside could write. */
  runBehind(wall: Confinement | undefined, args: readonly string[]): Promise<Captured>;
  /** Asks for a few names or objects, now: git starts nothing for that, and answers at once. */
  ask(args: readonly string[], input: string | Buffer): Answered;
  /** For an answer of any length that is a list of NUL-terminated records. git is given `records` in the same form. */
  list(args: readonly string[], records?: readonly string[]): Promise<Listed>;
  /** The same with one character for each byte, for names that are not UTF-8. */
  bytes(args: readonly string[], records?: readonly string[]): Promise<Listed>;
  /** Hands stdout to `read`, chunk by chunk. git is ended as soon as `read` says that it has enough. */
  stream(
    args: readonly string[],
    read: (chunk: Buffer) => 'more' | 'enough',
    input?: string | Buffer,
  ): Promise<Streamed>;
  /** The same git with more in its environment. */
  with(env: Env): Git;
  /** The same git in another folder. */
  at(cwd: string): Git;
}

export interface Listed extends Streamed {
  readonly records: readonly string[];
}

export interface Streamed {
  readonly code: number;
  readonly errors: string;
}

/** Nothing that we ask takes longer, but a checkout of a large repository on a slow disk may come near. */
const TIMEOUT = 600_000;
/** What is asked now holds up everything, and is answered at once. */
const MOMENT = 10_000;

export function git(cwd: string, env: Env): Git {
  return bareGit(cwd, env, withConfig(ownEnvironment(env), CONFIG));
}

/** git that is given this environment and nothing else, for a directory whose settings are Ralph's; found by the PATH of the user's. */
export function bareGit(cwd: string, { PATH }: Env, env: Env): Git {
  return gitIn(programPath('git', { PATH }, cwd), cwd, outsideEnv({ ...env, PATH }, cwd), QUIET);
}

/** What only reads and writes objects, names and an index: with no settings but Ralph's own it starts nothing. */
const QUIET: ReadonlySet<string> = new Set([
  ...['rev-parse', 'rev-list', 'for-each-ref', 'ls-files', 'ls-tree', 'diff-tree', 'cat-file', 'merge-base'],
  ...[
    'write-tree',
    'commit-tree',
    'hash-object',
    'merge-tree',
    'check-ignore',
    'check-attr',
    'config',
    'init',
  ],
]);

function gitIn(program: string, cwd: string, env: Env, quiet: ReadonlySet<string> = new Set()): Git {
  const isQuiet = (args: readonly string[]) => quiet.has((args[0] === '-c' ? args[2] : args[0]) ?? '');
  const talk = (args: readonly string[]) => (traffic: Traffic) =>
    streamed({ argv: [program, ...args], cwd, env, isQuiet: isQuiet(args) }, traffic);
  const run: Git['run'] = (args, limits) =>
    captureGit([program, ...args], { cwd, env, timeout: TIMEOUT, isQuiet: isQuiet(args), ...limits });
  return {
    cwd,
    program,
    run,
    async order(args, where, what) {
      const { code, output } = await run(args);
      const words = complaint(output, code);
      return code === 0 ? undefined : { where, what: what === undefined ? words : `${what}: ${words}` };
    },
    runBehind: (confinement, args) =>
      captureGit([program, ...CONFIG_FLAGS, ...args], {
        cwd,
        env: withoutConfig(env),
        timeout: TIMEOUT,
        confinement,
      }),
    ask: (args, input) => askProgram({ argv: [program, ...args], cwd, env }, input, MOMENT),
    list: (args, records) => listed(talk(args), records, 'utf8'),
    bytes: (args, records) => listed(talk(args), records, 'latin1'),
    stream: (args, read, input) =>
      talk(args)({ read, ...(input !== undefined && { input: Buffer.from(input) }) }),
    with: more => gitIn(program, cwd, { ...env, ...more }, quiet),
    at: elsewhere => gitIn(program, elsewhere, env, quiet),
  };
}

/** An agent may have set any of these in the repository; what they name would run outside of its sandbox. */
const CONFIG: Readonly<Record<string, string>> = {
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'core.quotePath': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'advice.detachedHead': 'false',
};

const CONFIG_FLAGS = Object.entries(CONFIG).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

/** A wall may hide a variable with KEY in its name, and git refuses to run with the rest of them. */
function withoutConfig(env: Env): Env {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^GIT_CONFIG_(COUNT|KEY_|VALUE_)/.test(name)),
  );
}

/** What git sets for its hooks, or a user for one command: it would lead us to another repository or index. */
const NOT_OURS =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|INDEX_VERSION|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|QUARANTINE_PATH|EXTERNAL_DIFF|DIFF_OPTS|PAGER|TRACE.*|(LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS)$/;

function ownEnvironment(env: Env): Env {
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !NOT_OURS.test(name))),
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    GIT_OPTIONAL_LOCKS: '0',
    // An object that is missing is not fetched: the repository would say with which program.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    LC_ALL: 'C',
  };
}

/** Settings for git in its environment, after those that are there: unlike `-c`, a name may hold any character. */
export function withConfig(env: Env, config: Readonly<Record<string, string>>): Env {
  const entries = Object.entries(config);
  const before = Number(env.GIT_CONFIG_COUNT ?? 0) || 0;
  const numbered = entries.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${before + index}`, key],
    [`GIT_CONFIG_VALUE_${before + index}`, value],
  ]);
  return { ...env, ...Object.fromEntries(numbered), GIT_CONFIG_COUNT: String(before + entries.length) };
}

/** For programs that use git: what it tidies up is done before it ends. In the background it would be ended with them, in the middle. */
export function withAttachedGit(env: Env): Env {
  const given = env.GIT_CONFIG_PARAMETERS ? [env.GIT_CONFIG_PARAMETERS] : [];
  return { ...env, GIT_CONFIG_PARAMETERS: [...given, "'gc.autodetach=false'"].join(' ') };
}

/** For git, and for what starts it: what keeps it for ever is named, and ends it. */
export async function captureGit(
  argv: readonly [string, ...string[]],
  options: CaptureOptions,
): Promise<Captured> {
  const waits = new AbortController();
  const folders = [options.cwd, ...argv.slice(1).filter(isAbsolute)];
  const watch = watchGit(folders, why => waits.abort(why));
  const signal = AbortSignal.any([waits.signal, ...(options.signal ? [options.signal] : [])]);
  const answer = await capture(argv, { ...options, signal, started: watch.over }).finally(watch.end);
  return waits.signal.aborted ? { code: TOO_LONG, stdout: '', output: String(waits.signal.reason) } : answer;
}

interface Traffic {
  readonly input?: Buffer;
  readonly read: (chunk: Buffer) => 'more' | 'enough';
}

const MAX_ERRORS = 8_192;

async function streamed(
  command: Command & { readonly isQuiet: boolean },
  traffic: Traffic,
): Promise<Streamed> {
  let errors = '';
  let enough = false;
  const child = startProcess<'enough' | 'waits'>({
    ...command,
    stdout: chunk => {
      if (enough || traffic.read(chunk) === 'more') return;
      enough = true;
      child.stop('enough', 'at-once');
    },
    stderr: chunk => {
      if (errors.length < MAX_ERRORS) errors += chunk.toString('utf8');
    },
    timeout: TIMEOUT,
    ...(traffic.input !== undefined && { input: traffic.input }),
  });
  const watch = watchGit([command.cwd], why => {
    errors = why;
    child.stop('waits', 'at-once');
  });
  watch.over(child.pid);
  const { end, endedBy } = await child.done.finally(watch.end);
  if (endedBy === 'enough') return { code: 0, errors: '' };
  if (endedBy === 'waits') return { code: TOO_LONG, errors };
  if (end.kind === 'not-started') return { code: 127, errors: `git: cannot be started (${end.code})` };
  return { code: endedBy === 'timeout' ? TOO_LONG : end.kind === 'exited' ? end.code : 130, errors };
}

async function listed(
  talk: (traffic: Traffic) => Promise<Streamed>,
  given: readonly string[] | undefined,
  encoding: 'utf8' | 'latin1',
): Promise<Listed> {
  const chunks: Buffer[] = [];
  const read = (chunk: Buffer) => {
    chunks.push(chunk);
    return 'more' as const;
  };
  const input = given && Buffer.from(given.map(each => `${each}\0`).join(''), encoding);
  const { code, errors } = await talk(input ? { read, input } : { read });
  const records = Buffer.concat(chunks).toString(encoding).split('\0');
  records.pop(); // what follows the last NUL is nothing
  return { code, records, errors };
}

/** git explains at length after the line that says what is wrong. */
export function complaint(output: string, code: number): string {
  const mute = code === TOO_LONG ? 'it gave no answer in time' : `exit code ${code}`;
  return errorLine(output) || mute;
}

export function lastLine(output: string): string {
  return (
    output
      .split('\n')
      .filter(line => line.trim() !== '')
      .at(-1)
      ?.trim() ?? ''
  );
}
