/** The files around the story list: those that are not the agent's, and the log that it may only add to. */
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Violation } from '../../domain/run/evidence.ts';
import type { Story, StoryList } from '../../domain/stories/story.ts';
import type { StoryRules } from '../../domain/stories/transitions.ts';
import { errorWords } from '../../platform/error-words.ts';
import { readIfThere, writeAtomic } from '../../platform/files.ts';
import { formatActive, writeActive } from '../../store/active-file.ts';
import { ACTIVE_FILE, type PrdPaths } from '../../store/prd-paths.ts';
import { createTasksReader, formatTasks, leftBytes } from '../../store/tasks-file.ts';
import { createFileKeeper, type KeptFile, statOf } from '../../workspace/keep-files.ts';
import { changeWords } from '../../workspace/protect.ts';
import { blockedAt, clearPath } from '../../workspace/set-aside.ts';
import { warn } from '../steps.ts';
import type { KeeperOptions } from './keeper.ts';

export function createKeptFiles(options: KeeperOptions) {
  const { paths } = options;
  const place = createPlace(options);
  const documents = keepDocuments(options, place);
  const log = keepLog(paths, place);
  const mark = keepMark(options);
  const tasks = createTasksReader(paths.tasks);
  return {
    mark: mark.write,
    left: () => (place.isBlocked(paths.tasks) ? undefined : tasks.read()),
    believe: tasks.believe,
    write: (list: StoryList, iteration: number) =>
      place.replace(paths.tasks, iteration, to => place.write(to, formatTasks(list))),
    restore: (iteration: number) => [
      ...documents.restore(iteration),
      ...log.restore(iteration),
      ...mark.restore(),
    ],
    keepAgain(): void {
      documents.keep();
      log.keep();
    },
  };
}

type Place = ReturnType<typeof createPlace>;

/** The folder of the list, as it was when the run began. */
function createPlace({ paths, run: { aside }, emit }: KeeperOptions) {
  // With links resolved once, so that a link made since then is seen as one.
  const top = realpathSync(dirname(paths.folder));
  const inside = (path: string) => `${basename(paths.folder)}/${basename(path)}`;
  return {
    isBlocked: (path: string) => blockedAt(top, inside(path)) !== undefined,
    /** Whatever is in the way is set aside; false when it could not be. */
    replace(path: string, iteration: number, write: (to: string) => void): boolean {
      try {
        clearPath(top, inside(path), join(aside, String(iteration)));
        write(join(top, inside(path)));
        return true;
      } catch (error) {
        warn(emit, `${path} cannot be put back: ${errorWords(error)}.`);
        return false;
      }
    },
    /** What a kill leaves of it lies in the run's folder, not among the user's files. */
    write: (to: string, text: string) => writeAtomic(to, text, 0o644, dirname(aside)),
  };
}

/** What the user wrote for the agent to read: one that there is not the agent does not write either, since other agents are led by it. */
function keepDocuments({ paths, run }: KeeperOptions, place: Place) {
  const keeper = createFileKeeper(run.state.kept);
  let kept: readonly (readonly [string, KeptFile | undefined])[] = [];
  const keep = () => {
    kept = [paths.prd, paths.prompt].flatMap((path): typeof kept => {
      const file = keeper.keep(path);
      return file || !statOf(path) ? [[path, file]] : [];
    });
  };
  const differenceOf = (path: string, file: KeptFile | undefined) => {
    if (!file) return statOf(path) && !place.isBlocked(path) ? ({ kind: 'added' } as const) : undefined;
    return place.isBlocked(path) ? ({ kind: 'deleted' } as const) : keeper.difference(file, path);
  };
  keep();
  return {
    keep,
    restore: (iteration: number): readonly Violation[] =>
      kept.flatMap(([path, file]) => {
        const difference = differenceOf(path, file);
        if (!difference) return [];
        const restored = place.replace(path, iteration, to => file && keeper.restore(file, to));
        return [{ what: changeWords(`${paths.name}/${basename(path)}`, difference), restored }];
      }),
  };
}

function keepLog({ progress, name }: PrdPaths, place: Place) {
  let log = readText(progress) ?? '';
  return {
    keep(): void {
      log = readText(progress) ?? '';
    },
    restore(iteration: number): readonly Violation[] {
      const before = log;
      const now = place.isBlocked(progress) ? '' : (readText(progress) ?? '');
      if (before === '' || (now !== '' && squeezed(now).includes(entriesOf(before)))) {
        log = now;
        return [];
      }
      const restored = place.replace(progress, iteration, to => place.write(to, before));
      const what = now === '' ? 'was deleted' : 'lost what earlier iterations wrote; it is only added to';
      return [{ what: `${name}/progress.txt ${what}`, restored }];
    },
  };
}

/** What tells the hooks which iteration it is. */
function keepMark({ paths, run: { aside }, ...options }: KeeperOptions) {
  let active: Buffer | undefined;
  return {
    write(terms: StoryRules, stories: readonly Story[]): void {
      active = formatActive({ ...options, now: options.now(), ralphDir: paths.name, terms, stories });
      const stat = lstatSync(paths.active, { throwIfNoEntry: false });
      if (stat && !stat.isFile()) clearPath(paths.root, ACTIVE_FILE, aside);
      writeActive(paths.active, active);
    },
    restore(): readonly Violation[] {
      if (!active || leftBytes(paths.active)?.equals(active)) return [];
      return [{ what: `${ACTIVE_FILE} was changed; it is Ralph's own`, restored: true }];
    },
  };
}

/** Never through a link; undefined when there is nothing that can be read. */
function readText(path: string): string | undefined {
  try {
    return lstatSync(path).isFile() ? readIfThere(path) : undefined;
  } catch {
    return undefined;
  }
}

const squeezed = (text: string) => text.replace(/\s+/g, ' ').trim();

/** What stands below the line: the top of the log is there to be edited. */
function entriesOf(log: string): string {
  const line = /^---\s*$/m.exec(log);
  return line ? squeezed(log.slice(line.index + line[0].length)) : '';
}
