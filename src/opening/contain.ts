/** The containment of a run without a sandbox, and what keeps Ralph's state folder in its place with one and without. */
import type { Violation } from '../domain/run/evidence.ts';
import type { Among, Command, Confinement, Span } from '../platform/confinement.ts';
import { findContainment } from '../platform/containment.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder } from '../platform/files.ts';
import { pinFolder } from '../platform/pinned-folder.ts';
import { statePaths } from '../store/state.ts';

export interface StateGuard {
  readonly folder: string;
  /** Why there is no such folder, if it cannot be made. */
  readonly missing?: string;
  /** The same confinement; what was behind it and moved the folder has it put back before anything is read from it or written to it. */
  watch(confinement: Confinement): Confinement;
  /** What the inside did to the folder since it was last asked. */
  restore(): readonly Violation[];
  close(): void;
}

/** `failed` is called when the folder is lost. */
export function guardState(
  env: Readonly<Record<string, string | undefined>>,
  failed: (what: string) => void,
): StateGuard {
  const { folder } = statePaths(env);
  try {
    ensureFolder(folder); // what is hidden must be there
  } catch (error) {
    const missing = `${folder} cannot be created (${errorWords(error)})`;
    return { folder, missing, watch: confinement => confinement, restore: () => [], close() {} };
  }
  const pin = pinFolder(folder);
  const what = `${folder}, where Ralph keeps its own records`;
  let found: Violation[] = [];
  const ended = () => {
    const now = pin.putBack();
    if (now === 'moved') found.push({ what, restored: true });
    if (now === 'lost') failed(`${what}: it was moved, and cannot be put back`);
  };
  return {
    folder,
    watch: confinement => ({
      ...confinement,
      async wrap(command: Command) {
        const wrapped = await confinement.wrap(command);
        return 'code' in wrapped ? wrapped : { ...wrapped, ended };
      },
    }),
    restore() {
      const taken = found;
      found = [];
      return taken;
    },
    close: pin.close,
  };
}

export interface ContainWorld {
  readonly containment: 'auto' | 'off';
  /** The work tree. */
  readonly tree: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly state: StateGuard;
  /** The time of the run: what its turns leave in the user's own folders decides no clean proof. */
  readonly time?: Span | undefined;
  /** Where others work beside it. */
  readonly among?: Among | undefined;
}

interface Contain {
  readonly wall?: Confinement;
  readonly notices: readonly string[];
}

/** Without a wall there is nothing but the mark; unless that was asked for, Ralph says why. */
export async function contain({
  containment,
  tree,
  env,
  state,
  time,
  among,
}: ContainWorld): Promise<Contain> {
  if (containment === 'off') return { notices: [] };
  if (state.missing !== undefined) return notContained(state.missing);
  const found = await findContainment({ tree, env, hide: state.folder, kept: statePaths(env).containment });
  if (!found.ok) return notContained(found.why);
  const { wall } = found;
  const wrap = (command: Command) =>
    wall.wrap({ ...command, ...(time && { without: time }), ...(among && { among }) });
  return { wall: state.watch({ ...wall, wrap }), notices: [] };
}

function notContained(why: string): Contain {
  return { notices: [`Not contained: ${why}. A process that hides its traces can outlive its turn.`] };
}
