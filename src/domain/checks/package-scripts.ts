/** What of a manifest decides how checks run: enough to see a test switched off, and no alarm for a dependency that is added. */
import { asObject, parseObject } from '../text/json.ts';
import { simpleCommands } from '../text/shell-words.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What these say is for people or for a registry. */
const NO_MATTER: ReadonlySet<string> = new Set([
  ...['name', 'version', 'description', 'keywords', 'author', 'contributors', 'license', 'funding'],
  ...['repository', 'bugs', 'homepage', 'files', 'private', 'publishConfig'],
]);

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

/** Run when a fresh checkout is made ready. */
const AT_INSTALL = ['preinstall', 'install', 'postinstall', 'prepare'];

/**
 * Of a `package.json`: the scripts that are named and all that they lead to, the settings of tools in it; and under a name of its own what is
 * said of each dependency, so that one more is no change and another version of one is.
 */
export function packageParts(text: string, names: readonly string[]): Readonly<Record<string, string>> {
  const fields = parseObject(text);
  if (!fields) return { '': `not JSON: ${text}` };
  const scripts = scriptsOf(fields);
  const wanted = [...scriptClosure(scripts, [...names, ...AT_INSTALL])].sort();
  const rest = Object.entries(fields).filter(
    ([key]) => key !== 'scripts' && !NO_MATTER.has(key) && !DEPENDENCIES.includes(key),
  );
  const dependencies = DEPENDENCIES.flatMap(group =>
    Object.entries(asObject(fields[group]) ?? {}).map(([name, spec]) => [
      `#${group}/${name}`,
      JSON.stringify(spec),
    ]),
  );
  return {
    '': JSON.stringify([wanted.map(name => [name, scripts[name] ?? null]), rest.sort(byName)]),
    ...Object.fromEntries(dependencies),
  };
}

export function scriptsOf(fields: Fields): Readonly<Record<string, string>> {
  const entries = Object.entries(asObject(fields.scripts) ?? {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The named scripts, what runs before and after them, and every script whose name stands in one of these. */
export function scriptClosure(
  scripts: Readonly<Record<string, string>>,
  names: readonly string[],
): ReadonlySet<string> {
  const found = new Set<string>();
  const left = [...names];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    left.push(...[`pre${name}`, `post${name}`].filter(each => Object.hasOwn(scripts, each)));
    const words = simpleCommands(scripts[name] ?? '').flat();
    left.push(...words.filter(word => Object.hasOwn(scripts, word)));
    // `npm-run-all test:*`
    const prefixes = words
      .filter(word => word.endsWith(':*') || word.endsWith(':**'))
      .map(word => word.replace(/\*+$/, ''));
    left.push(...Object.keys(scripts).filter(each => prefixes.some(prefix => each.startsWith(prefix))));
  }
  return found;
}

/** TOML by its sections, without those that list dependencies. */
export function tomlFingerprint(text: string): string {
  const sections = text.split(/^(?=\s*\[)/m);
  return sections
    .filter(section => !/^\s*\[+[^\]]*(dependencies|dependency-groups)[^\]]*\]/.test(section))
    .map(section => (/^\s*\[project\]/.test(section) ? '' : section.trimEnd()))
    .join('\n');
}

/** `go.mod` without what it requires: `replace`, `toolchain` and the like stay. */
export function goModFingerprint(text: string): string {
  return text
    .replace(/^require\s*\([^)]*\)/gm, '')
    .replace(/^require\s.*$/gm, '')
    .trim();
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
