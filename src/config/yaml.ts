/** `-c FILE.yaml`: seed 004's `ralph_loop:` block, with the line of everything that is wrong in it. */
import { readFileSync } from 'node:fs';
import type { YAMLMap } from 'yaml';
import { didYouMean, type Problem } from '../domain/text/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { loadBundled } from '../platform/package.ts';
import { readValue } from './kinds.ts';
import { renamedTo, settingCalled, versionProblems, yamlName } from './names.ts';
import type { Setting, SettingsLayer } from './setting.ts';
import { SETTINGS } from './settings.ts';

export const BLOCK = 'ralph_loop';

const { isMap, isNode, LineCounter, parseDocument } = loadBundled('yaml') as typeof import('yaml');

export function loadYaml(path: string, name: string): SettingsLayer {
  try {
    return parseYaml(readFileSync(path, 'utf8'), name);
  } catch (error) {
    return { layer: {}, problems: [{ where: name, what: `cannot be read: ${errorWords(error)}` }] };
  }
}

export function parseYaml(source: string, name: string): SettingsLayer {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const at = (position: number | undefined) => `${name}:${lines.linePos(position ?? 0).line}`;
  const errors = document.errors.map(error => ({ where: at(error.pos[0]), what: error.message }));
  if (errors.length > 0) return { layer: {}, problems: errors };
  const root: unknown = document.contents;
  if (!isMap(root))
    return { layer: {}, problems: [{ where: name, what: `must hold a block named ${BLOCK}:` }] };
  const problems: Problem[] = [];
  const layer: Record<string, unknown> = {};
  for (const { key, value, position } of entries(root)) {
    if (key !== BLOCK) problems.push(unknownKey(at(position), key, [BLOCK]));
    else if (isMap(value)) readBlock(value, { name, at }, layer, problems);
    else problems.push({ where: at(position), what: `${BLOCK} must hold settings` });
  }
  return { layer, problems };
}

/** Settings that `ralph loop` takes, by their names here. */
const KNOWN: ReadonlyMap<string, Setting> = new Map(
  SETTINGS.filter(row => row.flag?.loop !== undefined).map(row => [yamlName(row), row]),
);

function readBlock(
  block: YAMLMap,
  { name, at }: { readonly name: string; at(position: number | undefined): string },
  layer: Record<string, unknown>,
  problems: Problem[],
): void {
  const plainOf = (value: unknown) => (isNode(value) ? value.toJSON() : value);
  const version = entries(block).find(({ key }) => key === 'version');
  const later = versionProblems(plainOf(version?.value), at(version?.position));
  if (later.length > 0) return void problems.push(...later);
  for (const { key, value, position } of entries(block)) {
    if (key === 'version') continue;
    const setting = KNOWN.get(key);
    const plain = plainOf(value);
    if (!setting) problems.push({ ...unknownKey(at(position), key, KNOWN.keys()), ...renamed(key, name) });
    else if (plain === null)
      continue; // null: no limit, the default
    else {
      const kind = setting.yaml?.kind ?? setting.kind;
      const found = kind.check(plain, `${at(position)}: ${key}`);
      if (found.length > 0) problems.push(...found);
      else layer[setting.key] = readValue(kind, plain);
    }
  }
}

function renamed(key: string, file: string): Pick<Problem, 'fix'> {
  const meant = settingCalled(key);
  return meant && KNOWN.has(yamlName(meant)) ? renamedTo(yamlName(meant), file) : {};
}

function entries(map: YAMLMap) {
  return map.items.map(({ key, value }) => {
    const node = key as { value?: unknown; range?: readonly number[] } | null;
    return { key: String(node?.value ?? key), value, position: node?.range?.[0] };
  });
}

function unknownKey(where: string, key: string, known: Iterable<string>): Problem {
  return { where, what: `unknown setting ${key}`, ...didYouMean(key, known) };
}
