/** What OpenCode makes itself where it has a network; without it, it hangs. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostSession } from '../rig/hosts/session.ts';

export async function withoutInstalling({ place }: HostSession): Promise<void> {
  await mkdir(join(place.home, '.config/opencode/node_modules'), { recursive: true });
  await place.writeHome('.config/opencode/package-lock.json', {
    packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
  });
}
