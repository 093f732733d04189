/**
 * A Node program of our own that works for us in a process of its own, and answers questions. It belongs to us: it ends when
 * we close it, and when we are killed, because the channel between us closes then.
 */
import { fork } from 'node:child_process';
import { errorWords } from './error-words.ts';
import { outsideEnv } from './programs.ts';

export interface HelperSpec {
  /** The program: a JavaScript file. It must end when its channel closes. */
  readonly program: string;
  readonly cwd: string;
  /** Where the agent works: programs from there are not run. */
  readonly work: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What it says without having been asked. */
  onMessage(message: unknown): void;
}

export type Helper = ReturnType<typeof startHelper>;

export type Answer = { readonly ok: unknown } | { readonly error: string };

/** What goes through the channel, in the shape both sides expect. */
export type FromHelper = (Answer & { readonly answer: number }) | { readonly message: unknown };

const GRACE = 3_000;

export function startHelper({ program, cwd, work, env, onMessage }: HelperSpec) {
  // In a group of its own, so that a Ctrl-C in the terminal does not reach it before it has done its last work.
  const child = fork(program, [], {
    cwd,
    env: outsideEnv(env, work),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  let said = '';
  let gone: string | undefined;
  let questions = 0;
  const leave = (why: string) => {
    gone ??= said.trim().split('\n').at(-1) || why;
    for (const answer of waiting.values()) answer({ error: gone });
    waiting.clear();
  };
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-2_000);
  });
  child.on('error', error => leave(errorWords(error)));
  child.on('message', (message: FromHelper) => {
    if (!('answer' in message)) return onMessage(message.message);
    waiting.get(message.answer)?.(message);
    waiting.delete(message.answer);
  });
  // Not `close`: after a disconnect of ours it does not come.
  const ended = new Promise<void>(resolve => {
    child.once('exit', (code, signal) => {
      const why = `it ended with ${signal ?? `exit code ${code}`}`;
      if (child.stderr?.closed === false) child.stderr.once('close', () => leave(why));
      else leave(why);
      resolve();
    });
  });
  return {
    /** Its answer; an error when it gave none, because it is gone. Never rejects. */
    ask(question: unknown): Promise<Answer> {
      if (gone !== undefined) return Promise.resolve({ error: gone });
      const number = ++questions;
      return new Promise(resolve => {
        waiting.set(number, resolve);
        child.send({ number, question }, error => error && leave(errorWords(error)));
      });
    },
    /** Asks it to end, and ends it. */
    async close(): Promise<void> {
      if (child.connected) child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), GRACE);
      await ended;
      clearTimeout(timer);
    },
  };
}
