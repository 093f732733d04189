/** `ralph resume` for a `ralph prd run`: the list that counts comes from the run's own records. */
import type { Past } from '../../../domain/past.ts';
import type { ExitCode } from '../../../domain/stop-reason.ts';
import type { RunPaths } from '../../../store/paths.ts';
import { type PrdPaths, prdPaths } from '../../../store/prd-paths.ts';
import { isList } from '../../../store/tasks-file.ts';
import { readTemplate } from '../../../store/templates.ts';
import { loadStories } from '../../../stories/load.ts';
import { claimDirectory, planPrd, promptTemplate } from '../../../stories/open.ts';
import { policyOf } from '../../../stories/plan.ts';
import { standOf, unknown } from '../../../stories/recover.ts';
import { type Call, orThrow, Problems } from '../../command.ts';
import type { SetUp } from '../../set-up.ts';
import { type Parts, type StartOptions, startLoop } from '../../start.ts';

export interface Again {
  readonly call: Call;
  readonly ready: SetUp;
  readonly run: RunPaths;
  readonly past: Past;
  /** The folder of the list. */
  readonly name: string;
  readonly options: StartOptions;
  readonly kept?: string;
}

export async function goOnWithStories(again: Again): Promise<ExitCode> {
  const { call, ready, name, options, kept } = again;
  const paths = prdPaths(call.cwd, name);
  const stand = standAgain(again, paths);
  const claim = orThrow(await claimDirectory(paths, ready.project));
  try {
    const makePlan = async (parts: Parts) => {
      const notices = [...parts.notices, ...claim.notices];
      const template = () => promptTemplate(paths, () => readTemplate('prompt.md'));
      return orThrow(
        await planPrd({
          ...parts,
          ...stand,
          notices,
          prd: paths,
          template,
          ...(kept !== undefined && { kept }),
        }),
      );
    };
    return await startLoop('prd', call, ready, makePlan, options);
  } finally {
    claim.release();
  }
}

/**
 * While it was paused, or since it stopped in good order, the list was the user's. Else it is what the ledger vouches for, and
 * where it never got so far, what is there.
 */
function standAgain({ ready, run, past, options }: Again, paths: PrdPaths) {
  const stand = past.paused || past.result ? undefined : standOf(run);
  if (stand === 'unknown') throw new Problems([unknown(paths, options.resumed?.file.id ?? '')]);
  if (stand) return { list: stand.trusted, ...(stand.begun && { begun: stand.begun }) };
  const list = loadStories(paths, policyOf(ready.settings));
  if (!isList(list)) throw new Problems(list);
  return { list };
}
