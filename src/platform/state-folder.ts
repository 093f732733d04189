/** Where Ralph keeps what it must be able to believe, its compiled code included: containment and sandboxes hide this folder from the inside. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export function stateFolder({ XDG_STATE_HOME, HOME }: Readonly<Record<string, string | undefined>>): string {
  return join(XDG_STATE_HOME || join(HOME || homedir(), '.local/state'), 'ralph');
}
