/** `tasks.json`: read with care, written whole. */
import { lstatSync, readFileSync } from 'node:fs';
import { readList, type StoryList } from '../domain/stories/story.ts';
import type { Problem } from '../domain/text/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { isUntouchedTemplate } from './prd-paths.ts';

/** No list is longer; a file that is would only cost memory. */
const LARGEST = 16 * 1024 * 1024;

/** What is in the file; undefined when it is not a file, or not JSON. */
export function readLeft(path: string): unknown {
  return createTasksReader(path).read();
}

export function createTasksReader(path: string) {
  let bytes: Buffer | undefined;
  let believed: StoryList | undefined;
  return {
    /** As `readLeft`. When nothing has changed since it was believed, the very list that was: it need not be looked at again. */
    read(): unknown {
      const now = leftBytes(path);
      if (now === undefined || bytes === undefined || !now.equals(bytes)) believed = undefined;
      bytes = now;
      return believed ?? (now && tryTo(() => parse(now.toString('utf8'))));
    },
    /** What was read last is this list, and in order. */
    believe(list: StoryList): void {
      believed = list;
    },
  };
}

/** Never follows a link: whoever made it may read less than we do. */
export function leftBytes(path: string): Buffer | undefined {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.size <= LARGEST ? readFileSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** The list, or everything that is wrong with it. `name` is what the user calls the file. */
export function loadTasks(path: string, name: string): StoryList | readonly Problem[] {
  let source: string | undefined;
  try {
    source = readIfThere(path);
  } catch (error) {
    return [{ where: name, what: `cannot be read: ${errorWords(error)}` }];
  }
  if (source === undefined)
    return [{ where: name, what: 'there is none', fix: '`ralph prd init` makes one' }];
  if (isUntouchedTemplate(source))
    return [{ where: name, what: 'it is still the template', fix: '`ralph prd plan` fills it in with you' }];
  let value: unknown;
  try {
    value = parse(source);
  } catch (error) {
    return [{ where: name, what: `is not valid JSON: ${errorWords(error)}` }];
  }
  const list = readList(value);
  if (isList(list)) return list;
  return list.map(flaw => ({ where: name, what: flaw.message }));
}

export function isList(list: StoryList | readonly unknown[]): list is StoryList {
  return !Array.isArray(list);
}

function parse(source: string): unknown {
  return JSON.parse(source.replace(/^\uFEFF/, ''));
}

export function formatTasks(list: StoryList): string {
  return `${JSON.stringify(list, null, 2)}\n`;
}

/** `aside`: what a kill leaves of it lies there, where no agent commits it. On the same disk. */
export function writeTasks(path: string, list: StoryList, aside?: string): void {
  writeAtomic(path, formatTasks(list), 0o644, aside);
}
