/**
 * The files of a run that its readers show beside its ledger, as rows in the database: capped, and without secrets. The raw streams of
 * agents are not among them: they are large, and stay where the agent ran.
 */

import { lstatSync } from 'node:fs';
import type { Redact } from '../domain/text/secrets.ts';
import { namesIn, readPart, tryTo } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import type { RunPaths } from '../store/paths.ts';
import type { Querying } from './database.ts';

export interface Artifact {
  /** From the folder of the run. */
  readonly name: string;
  readonly content: string;
}

/** Bytes, of all files of a unit together: those of the latest iterations are kept. */
const MOST = 4 * 1024 * 1024;

const WHOLE = 1024 * 1024;

/** How much of a file is taken, and from which end: as much as a report shows. */
const PARTS: readonly (readonly [name: RegExp, most: number, from: 'head' | 'tail'])[] = [
  [/^(run\.json|task\.md|stories\/[0-9a-f]{1,64}\.json)$/, WHOLE, 'head'],
  [/^progress\.md$/, 100_000, 'tail'],
  [/^iterations\/\d{4,9}\/prompt\.md$/, 100_000, 'head'],
  [/^iterations\/\d{4,9}\/changes\.diff$/, 200_000, 'head'],
  [/^iterations\/\d{4,9}\/agent\.stderr\.log$/, 10_000, 'head'],
  [/^iterations\/\d{4,9}\/checks\/\w{1,100}\.log$/, 50_000, 'tail'],
];

/** Whether a name from outside is one of ours: nothing else becomes a path. */
export function isArtifact(name: string): boolean {
  return PARTS.some(([pattern]) => pattern.test(name));
}

type Place = Pick<RunPaths, 'folder' | 'run' | 'task'>;

export function collectArtifacts(paths: Place, redact: Redact): readonly Artifact[] {
  const found: Artifact[] = [];
  let left = MOST;
  for (const name of namesOf(paths.folder)) {
    const artifact = artifactOf(paths, name, redact);
    if (!artifact) continue;
    left -= Buffer.byteLength(artifact.content);
    if (left < 0) break;
    found.push(artifact);
  }
  return found;
}

/** What is needed first comes first: the run itself, then the latest iteration. */
function namesOf(folder: string): readonly string[] {
  // The agent can write there: a link leads nowhere, and what cannot be read is not there.
  const isFolder = (name: string) => lstatSync(`${folder}/${name}`, { throwIfNoEntry: false })?.isDirectory();
  const below = (name: string) =>
    (tryTo(() => (isFolder(name) ? namesIn(`${folder}/${name}`) : [])) ?? []).map(each => `${name}/${each}`);
  const iterations = [...below('iterations')].sort().reverse();
  return [
    ...['run.json', 'task.md', 'progress.md', ...below('stories')],
    ...iterations.flatMap(each => [...below(each), ...below(`${each}/checks`)]),
  ];
}

function artifactOf({ folder, run, task }: Place, name: string, redact: Redact): Artifact | undefined {
  const [, most, from] = PARTS.find(([pattern]) => pattern.test(name)) ?? [];
  const path = { 'run.json': run, 'task.md': task }[name] ?? `${folder}/${name}`;
  const part = most === undefined ? undefined : tryTo(() => readPart(path, most, from));
  if (!part || most === undefined || part.bytes === 0) return undefined;
  const text = redact(part.text);
  if (part.bytes <= most) return { name, content: text };
  // Half of a file that a program reads is worth nothing.
  if (most === WHOLE) return undefined;
  const note = `[${part.bytes - most} bytes more stayed on the worker]\n`;
  return { name, content: from === 'tail' ? `${note}${text}` : `${text}\n${note}` };
}

/** In the transaction in which the unit is given up: nobody else writes them. */
export async function putArtifacts(
  tx: Querying,
  unit: string,
  artifacts: readonly Artifact[],
): Promise<void> {
  if (artifacts.length === 0) return;
  await tx.query(
    `insert into ralph.artifact (unit, name, sha256, content)
     select $1, n, s, c from unnest($2::text[], $3::text[], $4::bytea[]) as new (n, s, c)
     on conflict (unit, name) do update set sha256 = excluded.sha256, content = excluded.content`,
    [
      unit,
      artifacts.map(({ name }) => name),
      artifacts.map(({ content }) => sha256(content)),
      artifacts.map(({ content }) => Buffer.from(content)),
    ],
  );
}

/** Those that are not here yet; `here` answers the hash of one that is. */
export async function readArtifacts(
  database: Querying,
  unit: string,
  here: (name: string) => string | undefined,
): Promise<readonly Artifact[]> {
  const { rows } = await database.query<{ name: string; sha256: string }>(
    'select name, sha256 from ralph.artifact where unit = $1',
    [unit],
  );
  const names = rows.filter(row => isArtifact(row.name) && here(row.name) !== row.sha256);
  if (names.length === 0) return [];
  const found = await database.query<{ name: string; content: Buffer }>(
    'select name, content from ralph.artifact where unit = $1 and name = any($2)',
    [unit, names.map(({ name }) => name)],
  );
  return found.rows.map(({ name, content }) => ({ name, content: content.toString('utf8') }));
}
