/**
 * Runs commands of the real program one after the other in a process that lives on: to start Ralph takes longer than most commands. For
 * tests in which no process of Ralph's is looked at, signalled or killed; in each file one call at a time, others are started as a user would.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Finished, type RalphOptions, startRalph, testEnv } from './ralph.ts';

export interface Answer {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

let server: ChildProcess | undefined;
let isBusy = false;
let count = 0;

/** Answered before anything is loaded (`--version`), or by a process that is told things in its environment at its start. */
const ALONE = /^(-|help$|hook$)/;

/** As `ralph` of ./ralph.ts, for whoever wants nothing but its answer. */
export async function ralph(args: readonly string[], options: RalphOptions): Promise<Finished> {
  const { input, prefix, bin } = options;
  if (isBusy || input !== undefined || prefix || bin !== undefined || ALONE.test(args[0] ?? '-'))
    return startRalph(args, options).finished;
  const { code, stdout, stderr } = await answerTo(args, options.cwd, testEnv(options));
  if (typeof code !== 'number') throw new Error(`ralph ${args.join(' ')}: ${stderr}`);
  return { code, signal: null, stdout, stderr };
}

/** What `main` returns; `threw` where it does not. */
export async function answerTo(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Answer> {
  server ??= startServer();
  const child = server;
  isBusy = true;
  // What hangs is not asked again.
  const giveUp = () => {
    child.kill('SIGKILL');
    if (server === child) server = undefined;
  };
  onTestFinished(() => {
    if (isBusy) giveUp();
  });
  try {
    return await ask(child, { argv, cwd, env, mark: `\u0001${++count}\n` });
  } catch (error) {
    giveUp();
    throw error;
  } finally {
    isBusy = false;
  }
}

/** It ends when we do. */
function startServer(): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'command-server.mjs')], {
    cwd: tmpdir(),
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  });
  child.stdin?.end();
  for (const stream of [child.stdout, child.stderr])
    (stream?.setEncoding('utf8') as Socket | undefined)?.unref();
  child.channel?.unref();
  child.unref();
  return child;
}

interface Question {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mark: string;
}

function ask(child: ChildProcess, question: Question): Promise<Answer> {
  const { argv, mark } = question;
  const words = argv.join(' ');
  const printed = { stdout: '', stderr: '' };
  const names = ['stdout', 'stderr'] as const;
  const undo: (() => void)[] = [];
  return new Promise<Answer>((resolve, reject) => {
    const fail = (what: string) => reject(new Error(`${what} ${words}:\n${printed.stdout}${printed.stderr}`));
    const timer = setTimeout(() => fail('no end of'), 240_000);
    let code: unknown;
    const look = () => {
      if (code === undefined || !names.every(name => printed[name].endsWith(mark))) return;
      const [stdout, stderr] = names.map(name => printed[name].slice(0, -mark.length));
      resolve({ code, stdout: stdout ?? '', stderr: stderr ?? '' });
    };
    const died = () => fail('it ended in');
    const answered = (message: unknown) => {
      code = (message as { readonly code: unknown }).code;
      look();
    };
    child.once('exit', died).once('message', answered);
    undo.push(
      () => clearTimeout(timer),
      () => void child.off('exit', died).off('message', answered),
    );
    for (const name of names) {
      const hear = (chunk: string) => {
        printed[name] += chunk;
        look();
      };
      child[name]?.on('data', hear);
      undo.push(() => void child[name]?.off('data', hear));
    }
    child.send(question);
  }).finally(() => {
    for (const each of undo) each();
  });
}
