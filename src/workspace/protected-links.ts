/** Where symbolic links lead: who protects a link means what is behind it. */
import { lstatSync, readlinkSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { tryTo } from '../platform/files.ts';
import { isRalphs } from './repository.ts';

export interface Followed {
  /** From the top: the links on the way, and the file at its end. */
  readonly paths: readonly string[];
  /** The folder at its end, from the top. */
  readonly folder?: string;
  /** Why what is behind it cannot be protected. */
  readonly note?: string;
}

const MOST_LINKS = 40;

/** Step by step, as the system would: each part of a path may be a link of its own. */
export function followLink(top: string, path: string): Followed {
  const paths: string[] = [];
  let left = path.split('/');
  let at: string[] = [];
  for (let links = 0; left.length > 0; ) {
    const [part = '', ...rest] = left;
    left = rest;
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (at.pop() === undefined) return { paths, note: 'leads out of the repository' };
      continue;
    }
    const here = [...at, part].join('/');
    const target = tryTo(() => readlinkSync(join(top, here)));
    if (target === undefined) {
      at.push(part);
      continue;
    }
    paths.push(here);
    if (++links > MOST_LINKS) return { paths, note: 'leads to itself' };
    const inside = isAbsolute(target) ? relative(top, target) : target;
    if (isAbsolute(target)) at = [];
    left = [...inside.split('/'), ...left];
  }
  return endOf(top, at.join('/'), paths);
}

function endOf(top: string, end: string, paths: readonly string[]): Followed {
  if (end === '' || isRalphs(end) || end.split('/').includes('.git'))
    return { paths, note: 'leads to what is not part of the project' };
  const stat = lstatSync(join(top, end), { throwIfNoEntry: false });
  if (!stat) return { paths, note: 'leads to nothing' };
  return stat.isDirectory() ? { paths, folder: end } : { paths: [...paths, end] };
}
