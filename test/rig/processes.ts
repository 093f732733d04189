/** Whether a process is still there, by the process table. */
import { identify, isAlive } from '../../src/platform/process-table.ts';

export function isThere(pid: number): boolean {
  const found = identify(pid);
  return found !== undefined && isAlive(found);
}
