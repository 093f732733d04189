/**
 * What a run was given, kept outside the project as well: `run.json` and `task.md` are in the agent's reach, and a resumed run does what
 * they say.
 */
import { existsSync } from 'node:fs';
import { isObject, parseObject, stringAt } from '../domain/json.ts';
import { readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import type { RunPaths } from './paths.ts';
import { readSealed, type Sealed, writeSealed } from './seal.ts';

type Place = Pick<RunPaths, 'key' | 'task' | 'run' | 'settings'> & {
  readonly state: Pick<RunPaths['state'], 'record'>;
};

/**
 * Records the text of `run.json` around the writing of it: a kill in between leaves the old text or the new one, and both are known.
 * Throws when the state folder cannot be written.
 */
export function recordAround(paths: Place, run: string, write: () => void): void {
  const before = tryTo(() => readIfThere(paths.run)) ?? null;
  const task = taskHash(paths);
  const text = tryTo(() => readIfThere(paths.task));
  const settings = paths.settings.map(path => tryTo(() => readIfThere(path)) ?? null);
  const record = (more: object) =>
    writeSealed(paths.key, paths.state.record, JSON.stringify({ run, task, text, settings, ...more }));
  record({ before });
  write();
  record({});
}

export function readRecord({ key, state }: Place): Sealed {
  return readSealed(key, state.record);
}

/** The name that the marks of its processes have: by its record, else (a run of 0.1) by `run.json`. Whoever acts on it looks at its form. */
export function ownerOfRun(paths: Place): unknown {
  const sealed = readRecord(paths);
  if (sealed.kind === 'fits') return parseObject(stringAt(parseObject(sealed.text), 'run') ?? '')?.owner;
  if (sealed.kind !== 'missing') return undefined;
  return parseObject(tryTo(() => readIfThere(paths.run)) ?? '')?.owner;
}

/** Writes `run.json` and `task.md` again where they are gone. False: there is no record of them. */
export function writeAgain(paths: Place): boolean {
  const known = recorded(paths);
  const run = stringAt(known, 'run');
  if (run === undefined) return false;
  const text = stringAt(known, 'text');
  if (text !== undefined && !existsSync(paths.task)) writeAtomic(paths.task, text);
  if (!existsSync(paths.run)) writeAtomic(paths.run, run); // last: with it the run is there
  return true;
}

/** The settings files of the project as they were when it began, where they are gone. */
export function writeSettingsAgain(paths: Place): void {
  const texts = recorded(paths)?.settings;
  if (!Array.isArray(texts)) return;
  for (const [at, path] of paths.settings.entries()) {
    const text: unknown = texts[at];
    if (typeof text === 'string' && !existsSync(path)) writeAtomic(path, text, 0o644);
  }
}

function recorded(paths: Place) {
  const sealed = readRecord(paths);
  return sealed.kind === 'fits' ? parseObject(sealed.text) : undefined;
}

/** What differs now from what was recorded: a sentence each. */
export function changesSince(paths: Place, record: string): readonly string[] {
  const known = parseObject(record);
  const run = tryTo(() => readIfThere(paths.run)) ?? null;
  const changes: string[] = [];
  const isKnown = run === known?.run || (known !== undefined && 'before' in known && run === known.before);
  if (run === null && !isKnown) changes.push('run.json is gone');
  else if (!isKnown)
    changes.push(
      ...differences(parseObject(stringAt(known, 'run') ?? ''), parseObject(run ?? ''), 'run.json'),
    );
  if (known?.task !== taskHash(paths)) changes.push('task.md was changed');
  return changes;
}

function taskHash({ task }: Place): string | null {
  const text = tryTo(() => readIfThere(task));
  return text === undefined ? null : sha256(text);
}

const SHOWN = 80;

/** The fields that differ, by their names. */
function differences(before: unknown, after: unknown, name: string): readonly string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [`${name} was written anew`];
  if (!isObject(before) || !isObject(after)) return [`${name}: ${shown(before)} became ${shown(after)}`];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys
    .filter(key => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .flatMap(key => differences(before[key], after[key], `${name} ${key}`));
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
