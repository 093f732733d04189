/** A real agent CLI in a terminal of its own, typed into as a person would. */
import { startTerminal, type Terminal } from '../terminal.ts';
import { hostCommand } from './host.ts';
import type { HostSession } from './session.ts';
import { TERMINALS, type TerminalHost } from './terminals.ts';

export async function openTerminal(session: HostSession, more: readonly string[] = []): Promise<Terminal> {
  const { host, place, env, flags } = session;
  const terminal = TERMINALS[host.name as TerminalHost];
  await terminal.setUp?.(session);
  return startTerminal({
    cwd: place.repo,
    env: { ...place.env, ...env, ...terminal.env },
    argv: [hostCommand(host.name), ...terminal.argv(session, flags), ...more],
  });
}
