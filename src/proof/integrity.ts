/** Looks after what checks rest on while they run, wherever that is: protected files, what a sandbox trusts, and the check inputs. */
import type { Emit } from '../domain/run/event.ts';
import type { Violation } from '../domain/run/evidence.ts';
import type { InputWatch } from '../workspace/check-inputs.ts';
import type { ProtectedCopy, Protection } from '../workspace/protect.ts';

/** What is looked at before and after every check. Must not throw. */
export interface RoundWatch {
  /** Puts everything right before a try, unless that has just been done. Returns what had been changed since the last look, while no check ran. */
  before(): Promise<readonly string[]>;
  /** Looks again after it, and puts everything right. Returns what was changed meanwhile; `command` did it. */
  after(command: string, isSetup?: boolean): Promise<readonly string[]>;
}

export interface Watched {
  /** Of the work tree, wherever the checks run. */
  readonly protection?: Protection | undefined;
  readonly inputs?: InputWatch;
  readonly sandbox?: { restore(): readonly Violation[] } | undefined;
  readonly emit: Emit;
}

/** The same where checks run in a copy of the work tree. */
export interface WatchedCopy {
  readonly protected?: ProtectedCopy | undefined;
  readonly inputs: InputWatch;
  /** What runs there does not see the work tree, which is then not looked at. */
  readonly isApart?: boolean | undefined;
  /** What tools would find above it, by path. */
  strangers?(): readonly string[];
}

export type IntegrityWatch = ReturnType<typeof createIntegrityWatch>;

export function createIntegrityWatch({ protection, inputs, sandbox, emit }: Watched) {
  let changed = new Set<string>();
  const look = () => {
    for (const path of inputs?.changed() ?? []) changed.add(path);
  };
  const restore = async (iteration: number, copy?: WatchedCopy, by?: string, mayAdd = false) => {
    const found = (what: readonly string[]) => emit({ type: 'tampered', what });
    const there = due(copy?.protected, by);
    const here = copy?.isApart ? undefined : due(protection, by);
    const violations = [
      ...((await there?.restore(mayAdd)) ?? []),
      ...(sandbox?.restore() ?? []),
      ...((await here?.restore(iteration, { found, pending: [] })) ?? []),
    ];
    for (const violation of violations)
      emit({ type: 'violation', violation: by === undefined ? violation : { ...violation, by } });
    return violations.map(({ what }) => what);
  };
  return {
    /** For a round of checks of this iteration; `copy`: where they run, if that is not the work tree. */
    during(iteration: number, copy?: WatchedCopy): RoundWatch {
      // What one check leaves above a checkout, the next one would find.
      const above = () => copy?.strangers?.().map(path => `${path} is new`) ?? [];
      let written = (): readonly string[] => [];
      let writtenInputs = written;
      let hasBegun = false;
      let inputsIn = (_: boolean): readonly string[] => [];
      return {
        async before() {
          const meanwhile = [...(await restore(iteration, copy, undefined, !hasBegun)), ...above()];
          hasBegun = true;
          look();
          written = (copy?.protected ?? protection)?.watch() ?? written;
          writtenInputs = inputs?.watch() ?? writtenInputs;
          inputsIn = copy ? changesSince(copy.inputs) : inputsIn;
          return meanwhile;
        },
        async after(command, isSetup = false) {
          look();
          for (const path of writtenInputs()) changed.add(path);
          const undone = await restore(iteration, copy, command, isSetup);
          // What was changed and put back within the check is nowhere to be seen afterwards, but for its times.
          const touched = written();
          const others = [...inputsIn(isSetup), ...above()];
          if (undone.length > 0) return [...undone, ...others];
          for (const what of touched)
            emit({ type: 'violation', violation: { what, restored: true, by: command } });
          return [...touched, ...others];
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

/** Before something is run, what was just looked at is not looked at again: what changes in between is seen afterwards. */
function due<Files extends { isFresh(): boolean }>(files: Files | undefined, by: string | undefined) {
  return by === undefined && files?.isFresh() ? undefined : files;
}

/** In these a check or `setup` may make what is not there yet. */
const INSTALLED = /(^|\/)(node_modules|\.?venv|vendor|target)\//;

/** In a copy that nobody works in only a check can change what the next one rests on. `setup` may add to it. */
function changesSince(inputs: InputWatch): (isSetup: boolean) => readonly string[] {
  const was = Object.entries(inputs.take()).filter(([, hash]) => hash !== '');
  const known = new Set(was.map(([key]) => key.split('#')[0]));
  const written = inputs.watch();
  return isSetup => {
    const mayBeNew = (path: string) => isSetup || INSTALLED.test(path) || path.startsWith('program ');
    const changed = inputs.changed().filter(path => known.has(path) || !mayBeNew(path));
    return [...new Set([...changed, ...(isSetup ? [] : written())])].map(
      path => `${path}, which the checks rest on`,
    );
  };
}
