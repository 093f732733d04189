/** The containment of a run without a sandbox: tried, opened, and Ralph's state folder kept where it is. */
import type { Violation } from '../domain/evidence.ts';
import type { Command, Confinement } from '../platform/confinement.ts';
import { findContainment } from '../platform/containment.ts';
import { ensureFolder, errorWords } from '../platform/files.ts';
import { pinFolder } from '../platform/pinned-folder.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { statePaths } from '../store/projects.ts';

interface ContainWorld {
  readonly containment: 'auto' | 'off';
  readonly project: ProjectPaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told that the state folder is lost. */
  failed(what: string): void;
}

interface Containing {
  /** Absent: there is nothing but the mark. */
  readonly wall?: Confinement;
  readonly notices: readonly string[];
  /** What the inside did to the state folder since it was last asked. */
  restore(): readonly Violation[];
  close(): Promise<void>;
}

export async function contain({ containment, project, env, failed }: ContainWorld): Promise<Containing> {
  const { folder } = statePaths(env);
  const without = (notices: readonly string[]) => ({ notices, restore: () => [], async close() {} });
  if (containment === 'off') return without([]);
  try {
    ensureFolder(folder); // what is covered must be there
  } catch (error) {
    return without([notContained(`${folder} cannot be created (${errorWords(error)})`)]);
  }
  const found = await findContainment({ tree: project.root, env, hide: folder });
  return found.ok ? guardState(found.wall, folder, failed) : without([notContained(found.why)]);
}

function notContained(why: string): string {
  return `Not contained: ${why}. A process that hides its traces can outlive its turn.`;
}

/** What the inside moved is back before anything is read from it or written to it. */
function guardState(wall: Confinement, folder: string, failed: ContainWorld['failed']): Containing {
  const pin = pinFolder(folder);
  const what = `${folder}, where Ralph keeps its own records`;
  let found: Violation[] = [];
  const ended = () => {
    const now = pin.putBack();
    if (now === 'moved') found.push({ what, restored: true });
    if (now === 'lost') failed(`${what}: it was moved, and cannot be put back`);
  };
  return {
    wall: {
      async wrap(command: Command) {
        const wrapped = await wall.wrap(command);
        return 'code' in wrapped ? wrapped : { ...wrapped, ended };
      },
    },
    notices: [],
    restore() {
      const taken = found;
      found = [];
      return taken;
    },
    async close() {
      pin.close();
    },
  };
}
