/** OpenCode: no stop hook; the plugin puts its continuation in before the session has ended. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostSession } from '../rig/hosts/session.ts';
import { describeLoop } from './in-session.ts';

/** What OpenCode makes itself where it has a network; without it, it hangs. */
export async function withoutInstalling({ place }: HostSession): Promise<void> {
  await mkdir(join(place.home, '.config/opencode/node_modules'), { recursive: true });
  await place.writeHome('.config/opencode/package-lock.json', {
    packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
  });
}

describeLoop('opencode', { before: withoutInstalling });
