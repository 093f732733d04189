/** Sends JSON to an address of the user's, and tries again where that may help. */
import { setTimeout as sleep } from 'node:timers/promises';
import { errorWords } from '../platform/error-words.ts';

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one try, and before each of them. */
  readonly timeout: number;
  readonly tries: readonly number[];
  /** Whether another try may help after this answer. */
  again(status: number): boolean;
  readonly pause?: ((ms: number) => Promise<unknown>) | undefined;
}

/** Returns why it was not accepted; undefined: it was. */
export async function postJson(body: string, post: Post): Promise<string | undefined> {
  const { url, headers, timeout, tries, again, pause = sleep } = post;
  let why: string | undefined;
  for (const before of tries) {
    await pause(before);
    try {
      const { ok, status } = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(timeout),
      });
      if (ok) return undefined;
      why = `it answered ${status}`;
      if (!again(status)) return why;
    } catch (error) {
      why = errorWords(error instanceof Error && error.cause ? error.cause : error);
    }
  }
  return why;
}
