/** Starts a program that outlives us. What it prints is read only until it is known whether it has begun. */
import { spawn } from 'node:child_process';
import type { Command } from './confinement.ts';
import { createLineSplitter } from './lines.ts';

export type Begun<Sign> =
  | { readonly sign: Sign }
  /** It ended before that; with what it printed on stderr. */
  | { readonly code: number | null; readonly errors: string };

const MOST_ERRORS = 10_000;

/** `isSign` looks at each line of its stdout. */
export function startDetached<Sign>(
  { argv: [program, ...args], cwd, env }: Command,
  isSign: (line: string) => Sign | undefined,
): Promise<Begun<Sign>> {
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors = (errors + text).slice(-MOST_ERRORS);
  });
  return new Promise(resolve => {
    const lines = createLineSplitter({
      line(text) {
        const sign = isSign(text);
        if (sign === undefined) return;
        // From here on nobody listens, and whoever writes to a pipe without a reader must bear it.
        for (const stream of [child.stdout, child.stderr]) stream.destroy();
        child.unref();
        resolve({ sign });
      },
    });
    child.stdout.on('data', chunk => lines.push(chunk));
    child.once('error', error => resolve({ code: null, errors: error.message }));
    child.once('close', code => resolve({ code, errors }));
  });
}
