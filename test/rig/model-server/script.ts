/** What a test tells the scripted model to say: one `Step` for each turn of the agent. */
import { isObject } from './json.ts';

/** `do` steps fit every agent: the server picks tool name and arguments from what the client offers. */
export type ToolUse =
  | { readonly do: 'shell'; readonly command: string }
  /** `path` should be absolute: some agents refuse relative ones. */
  | { readonly do: 'write'; readonly path: string; readonly content: string }
  /** Exact. `input` is text for a tool that takes free text (OpenAI "custom" tools). */
  | { readonly name: string; readonly input: Readonly<Record<string, unknown>> | string };

/** `input` counts all input tokens, cached ones too; `output` counts reasoning tokens too. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

/** A place in the answer: after that many bytes of the body, or after that many stream events. */
export type Place = { readonly bytes: number } | { readonly events: number };

export interface Step {
  readonly text?: string;
  readonly reasoning?: string;
  readonly tools?: readonly ToolUse[];
  readonly usage?: Partial<Usage>;
  /** 400 and above: an error in the protocol's own shape, with `error` as its sentence. */
  readonly status?: number;
  readonly error?: string;
  /** Replaces the error's whole JSON body. */
  readonly errorBody?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Never answers, or stops answering at that place and keeps the connection open. */
  readonly hang?: true | Place;
  /** Closes the connection at that place. */
  readonly cut?: Place;
  /** The answer waits until the test calls `release` with this name. */
  readonly gate?: string;
  /** How many requests this step answers: 1 unless told. A client that retries an error uses up one each. */
  readonly repeat?: number | 'forever';
}

export const DEFAULT_USAGE: Usage = { input: 1000, output: 20, cached: 0, cacheWrite: 0, reasoning: 0 };

type Test = (value: unknown) => boolean;

const isText: Test = value => typeof value === 'string';
const isCount: Test = value => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isPlace: Test = value => isObject(value) && (isCount(value.bytes) || isCount(value.events));

const FIELDS: Readonly<Record<keyof Step, readonly [Test, string]>> = {
  text: [isText, 'text'],
  reasoning: [isText, 'text'],
  tools: [
    value => Array.isArray(value) && value.every(isToolUse),
    'a list of {do: shell | write} or {name, input}',
  ],
  usage: [value => isObject(value) && Object.values(value).every(isCount), 'an object of token counts'],
  status: [
    value => isCount(value) && Number(value) >= 400 && Number(value) <= 599,
    'an error status, 400 to 599',
  ],
  error: [isText, 'text'],
  errorBody: [() => true, 'anything'],
  headers: [value => isObject(value) && Object.entries(value).every(isHeader), 'an object of valid headers'],
  hang: [value => value === true || isPlace(value), 'true, {bytes} or {events}'],
  cut: [isPlace, '{bytes} or {events}'],
  gate: [isText, 'a name'],
  repeat: [value => value === 'forever' || (isCount(value) && Number(value) > 0), "a count or 'forever'"],
};

/** Why this cannot be played, as one sentence; undefined when it can. */
export function stepProblem(step: unknown, name: string): string | undefined {
  if (!isObject(step)) return `${name} of the script must be an object`;
  for (const [field, value] of Object.entries(step)) {
    const rule = Object.hasOwn(FIELDS, field) ? FIELDS[field as keyof Step] : undefined;
    if (rule === undefined) return `${name} of the script has an unknown field "${field}"`;
    if (value !== undefined && !rule[0](value)) return `${name} of the script: "${field}" must be ${rule[1]}`;
  }
  return undefined;
}

function isToolUse(value: unknown): boolean {
  if (!isObject(value)) return false;
  if (value.do === 'shell') return isText(value.command);
  if (value.do === 'write') return isText(value.path) && isText(value.content);
  return value.do === undefined && isText(value.name) && (isText(value.input) || isObject(value.input));
}

function isHeader([name, value]: [string, unknown]): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value);
}
