/** `ralph prd run --parallel N` as a kind of run. */
import type { Settings } from '../config/settings-shape.ts';
import type { Past } from '../domain/past.ts';
import { readList, type StoryList } from '../domain/story.ts';
import { approvalsPath, claimedStories, readApprovals, withoutClaims } from '../store/approvals.ts';
import type { RunPaths } from '../store/paths.ts';
import { readStoryCopy } from '../store/story-copies.ts';
import { isList } from '../store/tasks-file.ts';
import { storiesHash } from '../stories/keeper.ts';
import { liveLoop } from '../stories/open.ts';
import { policyOf } from '../stories/standing.ts';
import type { RunKind } from './kind.ts';
import { parallelKind } from './parallel-kind.ts';
import { storiesCrew } from './stories-crew.ts';
import type { StoriesGiven } from './stories-kind.ts';

export function parallelStories(
  { prd, list, isTrusted = false, recovery }: Pick<StoriesGiven, 'prd' | 'list' | 'isTrusted' | 'recovery'>,
  settings: Settings,
): RunKind {
  return parallelKind(
    {
      command: 'prd',
      given: { ralphDir: prd.name, crew: 'stories' },
      title: list.project,
      async check({ project, resumed }) {
        recovery?.write();
        return liveLoop(prd, project, { own: resumed });
      },
      async crew(base) {
        const { env, project, paths, past } = base.parts;
        const known = readApprovals(approvalsPath(env, project.root, prd));
        const claims = isTrusted ? [] : claimedStories(list, known);
        // Of a run that is resumed its own copy counts.
        const own = recordedList(paths, past()) ?? withoutClaims(list, claims);
        return storiesCrew({ prd, list: own, policy: policyOf(settings) }, base);
      },
    },
    settings.parallel,
  );
}

function recordedList(paths: RunPaths, { stories }: Past): StoryList | undefined {
  const text = stories && readStoryCopy(paths, stories.hash);
  if (text === undefined || storiesHash(text) !== stories?.hash) return undefined;
  const list = readList(JSON.parse(text));
  return isList(list) ? list : undefined;
}
