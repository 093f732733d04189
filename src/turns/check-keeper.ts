/** Looks after what the checks rest on while they run: protected files, what a sandbox trusts, and the check inputs. */
import type { CheckKeeper } from '../checks/run-checks.ts';
import type { Emit } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import type { InputWatch } from '../workspace/check-inputs.ts';
import type { Protection } from '../workspace/protect.ts';
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
  const restore = async (iteration: number, by?: string): Promise<readonly string[]> => {
    const found = (what: readonly string[]) => emit({ type: 'tampered', what });
    const violations = [
      ...(sandbox?.restore() ?? []),
      ...((await protection?.restore(iteration, { found, pending: [] })) ?? []),
    ];
    for (const violation of violations) emit({ type: 'violation', violation: blamed(violation, by) });
    return violations.map(({ what }) => what);
  };
  return {
    /** For a round of checks of this iteration. */
    keeper(iteration: number): CheckKeeper {
      return {
        async before() {
          const meanwhile = await restore(iteration);
          look();
          return meanwhile;
        },
        async after(command) {
          look();
          return restore(iteration, command);
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
