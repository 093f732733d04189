/** The log of what clients asked, with waiting for the n-th request by event and not by the clock. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Json } from './json.ts';
import type { Asked, ProtocolName } from './protocol.ts';

/**
 * `step`: answered by the script. `side`: a title, a summary and the like; uses up no step.
 * `used-up`: came after the last step. `refused`: malformed, or the script could not be played; answered 400.
 */
export type RequestKind = 'step' | 'side' | 'used-up' | 'refused';

/** `answered`: whole. `cut`: by the script. `gone`: the client left first, or the server was closed. */
export type Ending = 'answered' | 'cut' | 'gone';

export interface ModelRequest extends Asked {
  /** 1 for the first request of all. */
  readonly n: number;
  readonly kind: RequestKind;
  /** The script's step that answered it, from 0. */
  readonly step?: number;
  readonly protocol: ProtocolName;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly lastUserText: string;
  readonly toolNames: readonly string[];
  /** The body as it came over the wire, and parsed; {} when it is no JSON object. */
  readonly body: string;
  readonly json: Json;
  /** Settles when the answer is over; never rejects. */
  readonly ended: Promise<Ending>;
}

interface Waiter {
  readonly n: number;
  readonly kind: RequestKind | undefined;
  readonly found: (request: ModelRequest) => void;
  readonly failed: (error: Error) => void;
}

export interface Log {
  readonly requests: readonly ModelRequest[];
  add(request: ModelRequest): void;
  /** The n-th request (of that kind), counted from 1, as soon as it is there. Rejects when the server closes first. */
  request(n: number, kind?: RequestKind): Promise<ModelRequest>;
  close(): void;
}

export function requestLog(): Log {
  const requests: ModelRequest[] = [];
  let waiters: readonly Waiter[] = [];
  let closed = false;

  const find = (n: number, kind: RequestKind | undefined) =>
    requests.filter(request => kind === undefined || request.kind === kind)[n - 1];
  const tooLate = (n: number, kind: RequestKind | undefined) =>
    new Error(
      `the model server was closed before ${kind ?? 'any'} request ${n} came (${requests.length} in all)`,
    );

  return {
    requests,
    add(request) {
      requests.push(request);
      const waiting = waiters;
      waiters = [];
      for (const waiter of waiting) {
        const found = find(waiter.n, waiter.kind);
        if (found === undefined) waiters = [...waiters, waiter];
        else waiter.found(found);
      }
    },
    request(n, kind) {
      const found = find(n, kind);
      if (found !== undefined) return Promise.resolve(found);
      if (closed) return Promise.reject(tooLate(n, kind));
      return new Promise((resolve, reject) => {
        waiters = [...waiters, { n, kind, found: resolve, failed: reject }];
      });
    },
    close() {
      closed = true;
      for (const waiter of waiters) waiter.failed(tooLate(waiter.n, waiter.kind));
      waiters = [];
    },
  };
}
