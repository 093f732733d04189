/** A git first on the PATH that stands still at one of its commands until it is let go or killed: a signal then meets Ralph exactly there. */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Repo } from '../rig/repo.ts';

export interface HeldGit {
  /** Part of the command line of git; in a hook: of that. */
  readonly git: string;
  /** It stands still before it has done it, when it has, or in the hook at this place below `.git`. */
  readonly when: 'before' | 'after' | `${string}hooks/${string}`;
}

/** As long as Ralph needs to end what is to be ended at once; what is let finish goes on after it. */
const LET_GO = 300;

export function holdGit(
  { bin, project }: { readonly bin: string; readonly project: Repo },
  { git, when }: HeldGit,
  reached: () => void,
): { release(): void } {
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const [meeting, go] = [join(bin, 'meeting'), join(bin, 'go')];
  for (const path of [meeting, go]) rmSync(path, { recursive: true, force: true });
  const wait = `mkdir '${meeting}' 2>/dev/null && while [ ! -e '${go}' ]; do sleep 0.02; done`;
  const meet = `case " $* " in *' ${git} '*) ${wait};; esac`;
  const isHook = when !== 'before' && when !== 'after';
  const script =
    when === 'before'
      ? `${meet}\nexec ${real} "$@"`
      : isHook
        ? `${meet}\nexit 0`
        : `${real} "$@"; code=$?\n${meet}\nexit $code`;
  const file = isHook ? project.path(`.git/${when}`) : join(bin, 'git');
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(bin, () => {
    if (timer !== undefined || !existsSync(meeting)) return;
    reached();
    timer = setTimeout(() => writeFileSync(go, ''), LET_GO);
  });
  return {
    release() {
      watcher.close();
      clearTimeout(timer);
      writeFileSync(go, '');
    },
  };
}
