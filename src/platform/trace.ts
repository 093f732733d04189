/** The trace of a run, in W3C's form `00-TRACE-SPAN-01`. Ids are derived, so that whoever starts a process and whoever reports on it agree. */

import { createHash } from 'node:crypto';
import type { Env } from '../domain/text/secret-values.ts';
import { ownerName } from './spawn.ts';

const FORM = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/;

export function readTrace(traceparent: string | undefined) {
  const [, trace, span] = FORM.exec(traceparent ?? '') ?? [];
  return trace === undefined || span === undefined ? undefined : { trace, span };
}

/** Of a run as this process drives it: in the trace that Ralph was started in, else in one that is the run's own, whoever resumes it. */
export function runTrace(runId: string, env: Env): string {
  const trace = readTrace(env.TRACEPARENT)?.trace ?? hex(`ralph run ${runId}`, 32);
  return `00-${trace}-${hex(`${trace} ${runId} ${ownerName()}`, 16)}-01`;
}

/** Of what is below it, by the names on the way there. */
export function childTrace(parent: string, ...names: readonly string[]): string {
  return names.reduce((above, name) => {
    const at = readTrace(above);
    return at ? `00-${at.trace}-${hex(`${at.span} ${name}`, 16)}-01` : above;
  }, parent);
}

/** The names of spans, as they are derived. */
export const iterationName = (iteration: number) => `iteration ${iteration}`;
export const turnName = (purpose: string, attempt = 1) => `turn ${purpose} ${attempt}`;
export const checkName = (index: number, clean = false) => `check ${clean ? 'clean ' : ''}${index}`;

function hex(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
