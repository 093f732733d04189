/** Reads the settings files and lays the layers over each other: defaults, settings.json, settings.local.json, flags. */
import { relative } from 'node:path';
import { isObject, type Json } from '../domain/text/json.ts';
import type { Problem } from '../domain/text/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { readIfThere } from '../platform/files.ts';
import { checkField, readFields } from './kinds.ts';
import { renamedTo, settingCalled, versionProblems } from './names.ts';
import type { SettingsCommand, SettingsLayer } from './setting.ts';
import { defaultSettings, SETTINGS } from './settings.ts';
import type { Settings } from './settings-shape.ts';

export interface SettingsFiles {
  readonly root: string;
  readonly settings: string;
  readonly localSettings: string;
}

export interface LoadedSettings extends Pick<SettingsLayer, 'problems'> {
  /** Only what the files say, without the defaults. */
  readonly fromFiles: Readonly<Record<string, unknown>>;
  readonly settings: Settings;
  /** The files that were there, relative to the project. */
  readonly files: readonly string[];
}

/** `over` are layers already checked, the strongest last. With problems, `settings` is not to be used. */
export function loadSettings(
  paths: SettingsFiles,
  command: SettingsCommand,
  ...over: readonly Readonly<Record<string, unknown>>[]
): LoadedSettings {
  const layers = [paths.settings, paths.localSettings].map(path =>
    readLayer(path, relative(paths.root, path)),
  );
  const fromFiles = layers.reduce<Readonly<Record<string, unknown>>>(
    (below, { layer }) => mergeLayers(below, layer),
    {},
  );
  const given = over.reduce(mergeLayers, fromFiles);
  const settings = sealed(
    withAllChecks(mergeLayers({ ...defaultSettings(command, given) }, given) as unknown as Settings),
  );
  const problems = layers.flatMap(layer => layer.problems);
  return {
    fromFiles,
    settings,
    files: layers.filter(layer => layer.there).map(layer => layer.name),
    problems: problems.length > 0 ? problems : sealedProblems(settings),
  };
}

/** One list of checks for every loop: `checks` names the guardrails too, each command once. With problems there may be no list. */
function withAllChecks(settings: Settings): Settings {
  const { guardrails, checks } = settings;
  if (!Array.isArray(guardrails) || !Array.isArray(checks)) return settings;
  return { ...settings, checks: [...new Set([...guardrails.map(({ command }) => command), ...checks])] };
}

/** A sealed proof accepts nothing that a strict one would not. */
function sealed(settings: Settings): Settings {
  return settings.proof === 'sealed' ? { ...settings, strict: true } : settings;
}

/** What a sealed proof needs, all at once. */
function sealedProblems({ proof, only, sandbox }: Settings): readonly Problem[] {
  if (proof !== 'sealed') return [];
  const where = '--proof sealed';
  return [
    ...(only.length > 0
      ? []
      : [{ where, what: 'needs the paths that may change', fix: "name them, such as --only 'src/**'" }]),
    ...(sandbox.provider === 'none' || sandbox.provider === 'sbx'
      ? [
          {
            where,
            what: `needs a sandbox that can hide what the agent wrote${sandbox.provider === 'sbx' ? '; sbx cannot' : ''}`,
            fix: 'add --sandbox; `ralph doctor` says which ones work here',
          },
        ]
      : []),
  ];
}

interface Layer extends SettingsLayer {
  readonly name: string;
  readonly there: boolean;
}

function readLayer(path: string, name: string): Layer {
  let source: string | undefined;
  try {
    source = readIfThere(path);
  } catch (error) {
    const problems = [{ where: name, what: `cannot be read: ${errorWords(error)}` }];
    return { name, there: true, layer: {}, problems };
  }
  return source === undefined
    ? { name, there: false, layer: {}, problems: [] }
    : { name, there: true, ...parseSettings(source, name) };
}

/** What a settings file says, and what is wrong in it. */
export function parseSettings(source: string, name: string): SettingsLayer {
  const broken = (what: string, fix?: string): SettingsLayer => ({
    layer: {},
    problems: [{ where: name, what, ...(fix && { fix }) }],
  });
  let value: unknown;
  try {
    value = JSON.parse(source.replace(/^\uFEFF/, ''));
  } catch (error) {
    const what = `is not valid JSON: ${jsonTrouble(source, error)}`;
    return broken(what, 'comments and trailing commas are not allowed');
  }
  if (!isObject(value)) return broken('must hold a JSON object');
  const { $schema: _, version, ...own } = value;
  // What a later version calls its settings is not known here: that one sentence is enough.
  const later = versionProblems(version, name);
  if (later.length > 0) return { layer: {}, problems: later };
  const problems = Object.entries(own).flatMap(([key, inner]) => checkSetting(key, inner, `${name}: ${key}`));
  return { layer: readFields(FIELDS, own), problems };
}

/** Where the JSON breaks, as a line and column, if the engine says so. */
function jsonTrouble(source: string, error: unknown): string {
  const message = errorWords(error);
  const position = Number(/at position (\d+)/.exec(message)?.[1] ?? Number.NaN);
  if (Number.isNaN(position)) return message;
  const before = source.slice(0, position).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${message.replace(/ \(line.*\)$/, '')}`;
}

/** What is wrong in a layer that somebody else has written down. What a later version knows besides is left to that. */
export function layerProblems(layer: Json, where: string): readonly Problem[] {
  const known = Object.keys(layer).filter(key => Object.hasOwn(FIELDS, key));
  return known.flatMap(key => checkField(FIELDS, key, layer[key], `${where}: ${key}`));
}

const FIELDS = Object.fromEntries(SETTINGS.map(row => [row.key, { kind: row.kind }]));

function checkSetting(key: string, value: unknown, where: string): readonly Problem[] {
  const meant = Object.hasOwn(FIELDS, key) ? undefined : settingCalled(key);
  if (meant) return [{ where, what: 'unknown setting', ...renamedTo(meant.key) }];
  return checkField(FIELDS, key, value, where);
}

/** Lays one layer of settings over another: scalars override, arrays replace, objects merge. */
export function mergeLayers(base: Json, over: Json): Json {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    const below = Object.hasOwn(base, key) ? base[key] : undefined;
    merged[key] = isObject(below) && isObject(value) ? mergeLayers(below, value) : value;
  }
  return merged;
}
