/**
 * Takes out of a recording what is different in every run: paths, ids, times, sizes. What is left changes only
 * when the agent does, so that the next version's changes can be read as a difference.
 */

export interface Surroundings {
  /** Texts that stand for something of this machine, and what to write instead. */
  readonly places: Readonly<Record<string, string>>;
  /** Lines that come earlier, later or more often, as the machine is slow: they are left out. */
  readonly unsteady?: RegExp | undefined;
}

export function normaliseStream(raw: string, around: Surroundings): string {
  const names = createNames();
  return placed(raw, around)
    .split('\n')
    .filter(line => !around.unsteady?.test(line))
    .map(line => normaliseLine(line, names))
    .join('\n');
}

/** The same for a file that is one JSON value. */
export function normaliseReport(raw: string, around: Surroundings): string {
  const report: unknown = JSON.parse(placed(raw, around));
  return `${JSON.stringify(normaliseValue(report, '', createNames()), null, 2)}\n`;
}

function placed(raw: string, { places }: Surroundings): string {
  return Object.entries(places).reduce((all, [from, to]) => all.replaceAll(from, to), raw);
}

function normaliseLine(line: string, names: Names): string {
  try {
    return JSON.stringify(normaliseValue(JSON.parse(line), '', names));
  } catch {
    return normaliseText(line, names); // not JSON: somebody's words
  }
}

/** A time on New Year's Day stands for all times, an hour later for the end of every limit. */
const SECONDS = Date.UTC(2026, 0, 1) / 1000;
const ISO = new Date(SECONDS * 1000).toISOString();

const MEASURED =
  /duration|elapsed|timestamp|bytes$|context_current_tokens|result_token_count|tokens?_per|ttft|(?:^|[a-z_])(?:ms|Ms|time|Time)$/;
const EPOCH = /^(?:start|end|created|updated|completed)$/;
const LISTS = /^(?:tools|slash_commands|skills|agents|mcp_servers|plugins)$/;

function normaliseValue(value: unknown, key: string, names: Names): unknown {
  if (typeof value === 'string') return key === 'parentId' ? '' : normaliseText(value, names);
  if (typeof value === 'number') return normaliseNumber(value, key);
  if (Array.isArray(value)) {
    const items = value.map(item => normaliseValue(item, key, names));
    return LISTS.test(key) && items.every(item => typeof item === 'string') ? items.sort() : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      normaliseText(name, names),
      normaliseValue(inner, name, names),
    ]),
  );
}

function normaliseNumber(value: number, key: string): number {
  if (/resets?_?at/i.test(key)) return value > 1e12 ? (SECONDS + 3600) * 1000 : SECONDS + 3600;
  if (value > 1e12) return SECONDS * 1000;
  return MEASURED.test(key) || (EPOCH.test(key) && value > 1e6) ? 1 : value;
}

const TIMES: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g, ISO],
  [/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, new Date(SECONDS * 1000).toUTCString()],
  [/\b\d{1,2}:\d\d(?= ?[ap]m\b)/gi, '1:00'],
  [/(?<=retry wait time: )[\d.]+/g, '1'],
  [/(?<=PGID: |cc-socks\/|duration_ms: )\d+/g, '1'],
  [/(?<=ralph-host-)\w{6}/g, '000000'],
];

/** Ids of all kinds: UUIDs, long hexadecimal numbers, opencode's, and the clock inside a name. */
const IDS =
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?:ses|msg|prt|evt)_[0-9A-Za-z]{20,}\b|\b[0-9a-f]{16,64}\b|\b[0-9a-z]{9}-[0-9a-f]{8}\b|(?<=_)1[5-9]\d{11}(?=_)/g;

function normaliseText(text: string, names: Names): string {
  const timeless = TIMES.reduce((all, [from, to]) => all.replace(from, to), text);
  return timeless.replace(IDS, id => names.of(id));
}

interface Names {
  /** The same name for the same id, in the order in which they first came, in the shape that it had. */
  of(id: string): string;
}

function createNames(): Names {
  const known = new Map<string, string>();
  return {
    of(id) {
      const number = known.size + 1;
      const name = known.get(id) ?? shaped(id, number);
      known.set(id, name);
      return name;
    },
  };
}

function shaped(id: string, number: number): string {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-/.test(id))
    return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const prefix = /^(?:ses|msg|prt|evt)_/.exec(id)?.[0] ?? '';
  return prefix + String(number).padStart(id.length - prefix.length, '0');
}
