/** Brings a settings file to the names of this version. Only those words are changed: the rest of the file stays as its author wrote it. */
import type { YAMLMap } from 'yaml';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import { loadBundled } from '../platform/package.ts';
import { parseSettings } from './load.ts';
import { SETTINGS_VERSION, settingCalled, yamlName } from './names.ts';
import { BLOCK, parseYaml } from './yaml.ts';

const { isMap, isScalar, parseDocument } = loadBundled('yaml') as typeof import('yaml');

export interface Migrated {
  readonly text: string;
  readonly renamed: readonly Renamed[];
  /** Empty: there is nothing to change. */
  readonly diff: string;
}

interface Renamed {
  readonly from: string;
  readonly to: string;
}

/** A part of a file, never more than a line, and what comes in its place. */
interface Edit {
  readonly at: number;
  readonly until: number;
  readonly text: string;
  readonly renamed?: Renamed;
}

/** `name` is the file as it is shown; one that is not JSON is the YAML of a loop. Nothing is changed where something in it is wrong. */
export function migrateSettings(
  source: string,
  name: string,
  isJson: boolean,
): Migrated | readonly Problem[] {
  const parse = isJson ? parseSettings : parseYaml;
  const map = mapIn(source, isJson);
  const { problems: before } = parse(source, name);
  if (!map) return before.length > 0 ? before : { text: source, renamed: [], diff: '' };
  const found = [
    ...addVersion(map, source),
    ...map.items.flatMap(pair => renameKey(pair, map, { name, source, isJson })),
  ];
  const twice = found.filter(isProblem);
  const edits = found.filter((each): each is Edit => !isProblem(each));
  const text = applyEdits(source, edits);
  const problems = [...twice, ...(twice.length > 0 ? [] : parse(text, name).problems)];
  if (problems.length > 0) return problems;
  const renamed = edits.flatMap(edit => edit.renamed ?? []);
  return { text, renamed, diff: edits.length === 0 ? '' : formatDiff(name, source, edits) };
}

/** JSON is YAML: one reader knows where each key stands. */
function mapIn(source: string, isJson: boolean): YAMLMap | undefined {
  if (isJson && parseSettings(source, '').problems.some(({ where }) => where === '')) return undefined;
  // One that nests too deep for it has no settings of ours.
  // To JSON a lone carriage return is a space.
  const text = isJson ? source.replace(/\r(?!\n)/g, ' ') : source;
  const document = tryTo(() => parseDocument(text, { uniqueKeys: false, prettyErrors: false }));
  if (!document || document.errors.length > 0) return undefined;
  const { contents } = document;
  const inner: unknown = isJson || !isMap(contents) ? contents : contents.get(BLOCK, true);
  return isMap(inner) ? inner : undefined;
}

type Pair = YAMLMap['items'][number];

const keyOf = ({ key }: Pair) => (isScalar(key) ? String(key.value) : '');

function startOf({ key }: Pair): number {
  return (isScalar(key) ? key.range?.[0] : undefined) ?? 0;
}

function addVersion(map: YAMLMap, source: string): readonly Edit[] {
  const [first] = map.items;
  if (first === undefined || map.items.some(pair => keyOf(pair) === 'version')) return [];
  const at = startOf(first);
  const begin = map.flow === true ? (map.range?.[0] ?? 0) + 1 : source.lastIndexOf('\n', at - 1) + 1;
  const space = source.slice(begin, at);
  const newline = source.includes('\r\n') ? '\r\n' : '\n';
  const between = map.flow === true ? `,${space || ' '}` : `${newline}${space}`;
  const key = source[at] === '"' ? '"version"' : 'version';
  return [{ at, until: at, text: `${key}: ${SETTINGS_VERSION}${between}` }];
}

function renameKey(
  pair: Pair,
  map: YAMLMap,
  { name, source, isJson }: { readonly name: string; readonly source: string; readonly isJson: boolean },
): readonly (Edit | Problem)[] {
  const from = keyOf(pair);
  const setting = from === '$schema' || from === 'version' ? undefined : settingCalled(from);
  if (setting === undefined || !isScalar(pair.key) || !pair.key.range) return [];
  const to = isJson ? setting.key : yamlName(setting);
  if (to === from) return [];
  if (map.items.filter(other => settingCalled(keyOf(other)) === setting).length > 1)
    return [
      {
        where: `${name}: ${from}`,
        what: `stands beside ${to}, which is the same`,
        fix: 'remove one of them',
      },
    ];
  const [at, until] = pair.key.range;
  const renamed = { from, to };
  const edit = { at, until, text: source[at] === '"' ? JSON.stringify(to) : to, renamed };
  return [edit, ...asList(pair, source, setting.kind)];
}

/** One text where a list is expected. */
function asList(
  { value }: Pair,
  source: string,
  { check }: { check(value: unknown, where: string): readonly Problem[] },
): readonly Edit[] {
  if (!isScalar(value) || typeof value.value !== 'string' || !value.range) return [];
  const [at, until] = value.range;
  const fits = (each: unknown) => check(each, '').length === 0;
  if (fits(value.value) || !fits([value.value]) || source.slice(at, until).includes('\n')) return [];
  return [{ at, until, text: JSON.stringify([value.value]) }];
}

function applyEdits(source: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((one, other) => other.at - one.at || other.until - one.until)
    .reduce((text, { at, until, text: now }) => text.slice(0, at) + now + text.slice(until), source);
}

const CONTEXT = 3;
const NO_NEWLINE = '\n\\ No newline at end of file';

/** As `diff -u` writes it. */
function formatDiff(name: string, source: string, edits: readonly Edit[]): string {
  let end = 0;
  const lines = source.split(/(?<=\n)/).map(line => {
    const [start, own] = [end, line.replace(/\n$/, '')];
    end += line.length;
    const inside = edits
      .filter(({ at }) => at >= start && at < end)
      .map(edit => ({ ...edit, at: edit.at - start, until: edit.until - start }));
    const mark = line.endsWith('\n') ? '' : NO_NEWLINE;
    const now = applyEdits(own, inside).split('\n');
    return { own, now, mark, isChanged: inside.length > 0 };
  });
  const isShown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ isChanged }) => isChanged),
  );
  const out = [`--- ${name}`, `+++ ${name}`];
  let shift = 0;
  for (let from = isShown.indexOf(true); from !== -1; ) {
    const gap = isShown.indexOf(false, from);
    const hunk = lines.slice(from, gap === -1 ? undefined : gap);
    const count = hunk.reduce((sum, { now }) => sum + now.length, 0);
    out.push(`@@ -${from + 1},${hunk.length} +${from + 1 + shift},${count} @@`);
    for (const { own, now, mark, isChanged } of hunk)
      out.push(
        ...(isChanged
          ? [`-${own}${mark}`, `${now.map(line => `+${line}`).join('\n')}${mark}`]
          : [` ${own}${mark}`]),
      );
    shift += count - hunk.length;
    from = gap === -1 ? -1 : isShown.indexOf(true, gap);
  }
  return `${out.join('\n')}\n`;
}
