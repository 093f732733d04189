/** The integration branch of stories that a fleet works on: it is in the remote, and moves there only from where Ralph left it. */
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Integration } from '../workspace/integration.ts';
import type { Remote } from '../workspace/remote.ts';
import { pinRef, shownBranch, type Unit } from './unit.ts';

export async function remoteIntegration(
  here: Integration,
  remote: Remote,
  unit: Pick<Unit, 'id' | 'fence' | 'kind' | 'parent'>,
): Promise<Integration | Problem> {
  const ref = `refs/heads/${shownBranch(unit)}`;
  // What the holder before has merged and put into the queue.
  const known = await remote.bring([`refs/ralph/${unit.id}/*`]);
  if (known) return known;
  const there = await remote.tip(ref);
  if (isProblem(there)) return there;
  const missing = there === undefined ? undefined : await remote.bring([ref]);
  if (missing) return missing;
  if (there !== undefined) await here.swap(await here.tip(), there);
  return {
    ...here,
    /** The remote first: what is not there has not landed. */
    async swap(from, to) {
      const moved = await remote.swap(ref, from, to);
      if (isProblem(moved)) throw new Error(`${moved.where}: ${moved.what}`);
      return moved === 'done' && here.swap(from, to);
    },
    async pin(name, commit) {
      const problem = await remote.put(commit, pinRef(unit.id, unit.fence, name));
      if (problem) throw new Error(`${problem.where}: ${problem.what}`);
      await here.pin(name, commit);
    },
  };
}
