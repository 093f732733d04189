/** Looks after what the checks rest on while they run: protected files, what a sandbox trusts, and the check inputs. */
import type { CheckKeeper } from '../checks/run-checks.ts';
import type { Emit } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import type { InputWatch } from '../workspace/check-inputs.ts';
import type { ProtectedCopy, Protection } from '../workspace/protect.ts';
import type { TurnWorld } from './agent-turn.ts';

export interface Kept {
  readonly protection: Protection | undefined;
  readonly inputs: InputWatch;
  readonly sandbox?: TurnWorld['sandbox'];
  readonly emit: Emit;
}

export type CheckKeeping = ReturnType<typeof createCheckKeeping>;

export function createCheckKeeping({ protection, inputs, sandbox, emit }: Kept) {
  let changed = new Set<string>();
  const look = () => {
    for (const path of inputs.changed()) changed.add(path);
  };
  const restore = async (
    iteration: number,
    there?: ProtectedCopy,
    by?: string,
  ): Promise<readonly string[]> => {
    const found = (what: readonly string[]) => emit({ type: 'tampered', what });
    const violations = [
      ...(there?.restore() ?? []),
      ...(sandbox?.restore() ?? []),
      ...((await protection?.restore(iteration, { found, pending: [] })) ?? []),
    ];
    for (const violation of violations) emit({ type: 'violation', violation: blamed(violation, by) });
    return violations.map(({ what }) => what);
  };
  return {
    /** For a round of checks of this iteration; `there`: the protected files where they run, if that is not the work tree. */
    keeper(iteration: number, there?: ProtectedCopy): CheckKeeper {
      let written = (): readonly string[] => [];
      return {
        async before() {
          const meanwhile = await restore(iteration, there);
          look();
          written = (there ?? protection)?.watch() ?? written;
          return meanwhile;
        },
        async after(command) {
          look();
          // What was changed and put back within the check is nowhere to be seen afterwards, but for its times.
          const touched = written();
          const changed = await restore(iteration, there, command);
          if (changed.length > 0) return changed;
          for (const what of touched)
            emit({ type: 'violation', violation: { what, restored: true, by: command } });
          return touched;
        },
      };
    },
    /** The check inputs that were not as they should be, before, between or after the checks; since it was last asked. */
    takeChanged(): readonly string[] {
      look();
      const taken = [...changed].sort();
      changed = new Set();
      return taken;
    },
  };
}

function blamed(violation: Violation, by: string | undefined): Violation {
  return by === undefined ? violation : { ...violation, by };
}
