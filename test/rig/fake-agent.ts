/** A fake agent on the PATH that a test steers over a socket: no sleeps, no guessing what it does when. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createGate } from './gate.ts';
import { outerPid, outerPidNear } from './processes.ts';
import { writeScript } from './repo.ts';

export interface Called {
  readonly argv: readonly string[];
  /** What it got on stdin. */
  readonly input: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Its number out here, whatever it calls itself behind a wall. */
  readonly pid: number;
}

/** One call of the agent. Each order resolves when it has been carried out. */
export interface FakeTurn extends Called {
  print(text: string | Buffer): Promise<unknown>;
  line(record: unknown): Promise<unknown>;
  printError(text: string): Promise<unknown>;
  write(file: string, content: string): Promise<unknown>;
  shell(command: string): Promise<unknown>;
  /** Starts a process that it does not wait for; answers its number out here. */
  background(
    command: string,
    options?: { readonly detached?: boolean; readonly stdio?: 'ignore' | 'inherit' },
  ): Promise<number>;
  ignore(signal: string): Promise<unknown>;
  /** Does not answer: it is gone. */
  exit(code?: number): void;
}

export type Handler = (turn: FakeTurn) => unknown;

export interface FakeAgent {
  /** The folder to put on the PATH. */
  readonly bin: string;
  /** Every call so far. */
  readonly calls: readonly Called[];
}

/** The n-th call is played by the n-th handler, later ones by the last. */
export async function fakeAgent(name: string, ...handlers: readonly Handler[]): Promise<FakeAgent> {
  const bin = mkdtempSync(join(tmpdir(), 'ralph-bin-'));
  const socketPath = join(bin, 'socket');
  const calls: Called[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    const orders = new Map<number, (answer: unknown) => void>();
    let buffer = '';
    socket.setEncoding('utf8').on('data', chunk => {
      buffer += chunk;
      for (let end = buffer.indexOf('\n'); end !== -1; end = buffer.indexOf('\n')) {
        const message = JSON.parse(buffer.slice(0, end));
        buffer = buffer.slice(end + 1);
        if (message.done !== undefined) orders.get(message.done)?.(message.answer);
        else {
          const handler = handlers[Math.min(calls.length, handlers.length - 1)];
          const called: Called = { ...message, pid: outerPid(message.pid, socketPath) };
          calls.push(called);
          // A handler that fails must end its turn, or the test would wait for it until its time is over.
          Promise.resolve(handler?.(createTurn(called, socket, orders))).catch(error => {
            console.error('The fake agent failed:', error);
            socket.destroy();
          });
        }
      }
    });
  });
  await new Promise<void>(resolve => server.listen(socketPath, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(bin, { recursive: true, force: true });
  });
  const body = join(import.meta.dirname, 'fake-agent-process.pl');
  // Without a word on a locale that is not there.
  writeScript(join(bin, name), `PERL_BADLANG=0 exec /usr/bin/perl '${body}' '${socketPath}' "$@"`);
  return { bin, calls };
}

function createTurn(
  called: Called,
  socket: Socket,
  orders: Map<number, (answer: unknown) => void>,
): FakeTurn {
  const order = (name: string, ...fields: readonly (string | Buffer)[]) =>
    new Promise<unknown>(resolve => {
      const id = orders.size + 1;
      orders.set(id, resolve);
      const words = fields.map(field => Buffer.from(field as string).toString('base64'));
      socket.write(`${[id, name, ...words].join(' ')}\n`);
    });
  const print = (text: string | Buffer) => order('print', text);
  return {
    ...called,
    print,
    line: record => print(`${JSON.stringify(record)}\n`),
    printError: text => order('printError', text),
    write: (file, content) => order('write', file, content),
    shell: command => order('shell', command),
    background: async (command, { detached = false, stdio = 'ignore' } = {}) =>
      outerPidNear((await order('background', command, String(detached), stdio)) as number, called.pid),
    ignore: signal => order('ignore', signal),
    exit: (code = 0) => void order('exit', String(code)),
  };
}

/** The same words every time. */
export function says(text: string, code = 0): Handler {
  return async turn => {
    await turn.print(text);
    turn.exit(code);
  };
}

/** A turn that the test ends when it likes. */
export function held() {
  const { open: begin, opened: begun } = createGate<FakeTurn>();
  return { begun, handler: (turn => begin(turn)) as Handler };
}

export async function finish(turn: FakeTurn, words: string): Promise<void> {
  await turn.print(`${words}\n`);
  turn.exit();
}
