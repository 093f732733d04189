/** A way to a server that is as bad as networks are: answers come late, or not at all, or the connection is gone. What is sent always arrives. */
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ProxyServer {
  readonly port: number;
  /** Each answer is so many milliseconds late. */
  delay(milliseconds: number): void;
  /** Every connection ends, and no new one is let in. */
  close(): void;
  /** Resolves when somebody has got an answer. */
  open(): Promise<void>;
  /** The connection over which this text is sent ends when the server has answered; what it said is lost. Once. Resolves then. */
  loseAnswerTo(text: string): Promise<void>;
}

export async function startProxy(to: number): Promise<ProxyServer> {
  const sockets = new Set<Socket>();
  let [late, isOpen] = [0, true];
  let answered = () => {};
  let wanted: { readonly text: string; readonly lost: () => void } | undefined;
  const server = createServer(client => {
    if (!isOpen) return void client.destroy();
    const upstream = connect(to, '127.0.0.1');
    const end = () => {
      for (const each of [client, upstream]) {
        each.destroy();
        sockets.delete(each);
      }
    };
    for (const each of [client, upstream]) sockets.add(each.on('error', end).on('close', end));
    let lost: (() => void) | undefined;
    client.on('data', chunk => {
      if (wanted && chunk.includes(wanted.text)) {
        lost = wanted.lost;
        wanted = undefined;
      }
      upstream.write(chunk);
    });
    upstream.on('data', chunk => {
      if (lost) {
        end();
        lost();
        return;
      }
      setTimeout(() => client.destroyed || client.write(chunk), late);
      answered();
    });
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  const close = () => {
    isOpen = false;
    for (const each of sockets) each.destroy();
  };
  onTestFinished(() => {
    close();
    server.close();
  });
  return {
    port: (server.address() as { readonly port: number }).port,
    delay(milliseconds) {
      late = milliseconds;
    },
    close,
    open: () =>
      new Promise(resolve => {
        isOpen = true;
        answered = resolve;
      }),
    loseAnswerTo: text =>
      new Promise(lost => {
        wanted = { text, lost };
      }),
  };
}
