/** Which session a command means. */
import { isProblem, type Problem } from '../domain/problem.ts';
import { listSessions, type SessionFile } from '../store/session-file.ts';
import type { Call } from './command.ts';

/** Loops are where their host was started: here, or in the root of the project. */
export function sessionRoot({ cwd, root }: Pick<Call, 'cwd' | 'root'>): string {
  return listSessions(cwd).length > 0 ? cwd : root;
}

/** The one that is named, or the only one that has a loop. */
export function sessionNamed(
  call: Pick<Call, 'cwd' | 'root' | 'options'>,
): { readonly root: string; readonly sessionId: string } | Problem {
  const root = sessionRoot(call);
  const sessionId = onlyOne(root, call.options.session);
  return isProblem(sessionId) ? sessionId : { root, sessionId };
}

function onlyOne(root: string, named: unknown): string | Problem {
  if (typeof named === 'string') return named;
  const all = listSessions(root).filter((file): file is SessionFile => 'state' in file);
  const [only] = all;
  if (only && all.length === 1) return only.state.sessionId;
  if (!only)
    return { where: 'session', what: 'there is no in-session loop here', fix: 'ralph session status' };
  return {
    where: '--session',
    what: `there are ${all.length} loops: ${all.map(file => file.state.sessionId).join(', ')}`,
    fix: `add --session ${only.state.sessionId}`,
  };
}
