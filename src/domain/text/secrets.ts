/** Keeps secrets out of what Ralph writes, shows and puts into prompts: docs/reference/secrets.md. */

import { matchesText } from './glob.ts';
import { HIDDEN, hideTokens, openWord } from './secret-formats.ts';
import { createFinder, type SecretFinder, type SecretScan } from './secret-scan.ts';
import { type Env, passwordsIn, secretNeedles } from './secret-values.ts';
import { visible } from './visible.ts';

export interface Redact {
  (text: string): string;
  /** Where the end of a text may be the beginning of a secret whose rest is still to come; its length: nowhere. */
  readonly openTail: (text: string) => number;
  /** Looks through bytes before they are read as a text. */
  readonly scan: () => SecretScan;
}

/**
 * Takes secrets out of a text: the values of variables that look like secrets, however they are written, passwords in addresses, and tokens
 * of known formats. What colours or marks of no width stand inside a secret do not hide it.
 */
export function createRedactor(env: Env): Redact {
  let made: SecretFinder | undefined;
  const finder = () => {
    made ??= createFinder(secretNeedles(env));
    return made;
  };
  const clean = (text: string) => {
    if (text.length < SHORTEST_TEXT || !finder().mayHold(bytesOf(text))) return text;
    const plain = hideValues(text, finder());
    const seen = visible(plain);
    const clean = hideTokens(seen);
    return plain === text && clean === seen ? text : clean;
  };
  return Object.assign(clean, {
    openTail: (text: string) => openValue(text, openWord(text), finder()),
    scan: () => finder().scan(),
  });
}

/** Nothing shorter holds a secret. */
const SHORTEST_TEXT = 6;

const utf8 = new TextEncoder();

/** Of every text that is looked through: buffers of their own would be megabytes of garbage in a flood. */
let room = new Uint8Array(0);
const MOST_ROOM = 1024 * 1024;

/** Until the next text. */
function bytesOf(text: string): Uint8Array {
  const most = 3 * text.length;
  if (most > MOST_ROOM) return utf8.encode(text);
  if (most > room.length) room = new Uint8Array(Math.min(MOST_ROOM, 2 * most));
  return room.subarray(0, utf8.encodeInto(text, room).written);
}

function hideValues(text: string, finder: SecretFinder): string {
  if (!finder.hasValues) return text;
  const bytes = utf8.encode(text);
  const ranges = finder.find(bytes);
  if (ranges.length === 0) return text;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let clean = '';
  let from = 0;
  for (const [start, end] of ranges) {
    clean += decoder.decode(bytes.subarray(from, start)) + HIDDEN;
    from = end;
  }
  return clean + decoder.decode(bytes.subarray(from));
}

/** Before the beginning of a value with which the text before `end` ends, where there is one. */
function openValue(text: string, end: number, finder: SecretFinder): number {
  if (!finder.hasValues) return end;
  const bytes = utf8.encode(text.slice(0, end));
  const at = finder.openAt(bytes);
  if (at === bytes.length) return end;
  // With the word in which it begins, which may be a token.
  return openWord(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, at)));
}

/** Takes secrets out of a text that comes in pieces, wherever it is cut: a word is passed on when it is whole. */
export function createStreamRedactor(redact: Redact) {
  let held = '';
  let found = false;
  const pass = (end: number) => {
    const head = held.slice(0, end);
    held = held.slice(end);
    const clean = redact(head);
    found ||= clean !== head;
    return clean;
  };
  return {
    push(text: string): string {
      held += text;
      return pass(redact.openTail(held));
    },
    end: () => pass(held.length),
    /** Whether there was a secret so far. */
    found: () => found,
  };
}

/** The same value with secrets taken out of every text in it. What names the kind of a thing is not touched. */
export function redactDeep<T>(value: T, redact: Redact): T {
  if (typeof value === 'string') return redact(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(each => redactDeep<unknown>(each, redact));
    return items.some((each, at) => each !== value[at]) ? (items as T) : value;
  }
  let changed: Record<string, unknown> | undefined;
  for (const [name, before] of Object.entries(value)) {
    const after = name === 'type' || name === 'kind' ? before : redactDeep<unknown>(before, redact);
    if (after === before) continue;
    changed = { ...(changed ?? value), [name]: after };
  }
  return changed === undefined ? value : (changed as T);
}

/** Whole words of a variable's name: `NPM_TOKEN` is a secret, `TOKENIZERS_PARALLELISM` and `GIT_AUTHOR_NAME` are none. */
const SECRET_WORD =
  /(^|_)(API_?KEY|ACCESS_?KEY|KEY|TOKEN|PAT|SECRET|PASS|CREDENTIALS?|AUTH|DSN|COOKIE)(_|\d*$)|PASSW(OR)?D|_PWD$|(?<!COM|BY)PASS$/i;

/** Settings for git: the names of the variables say nothing of what is in them. */
const GIT_SETTING = /^GIT_CONFIG_(COUNT|(KEY|VALUE)_\d+)$/;
/** Settings of git that hold what opens a door. */
const SECRET_SETTING = /^http\..*extraheader$|^credential\./i;

/** A name that says so, or a password in an address. */
function isSecret(name: string, value = ''): boolean {
  const says = GIT_SETTING.test(name) ? SECRET_SETTING.test(value) : SECRET_WORD.test(name);
  return says || (value.includes('://') && passwordsIn(value).length > 0);
}

export interface Visible {
  /** Names or patterns such as `AWS_*` that are hidden whatever they look like. */
  readonly hide: readonly string[];
  /** Those that stay although they look like secrets; undefined: no looks are judged. */
  readonly keep?: readonly string[];
}

/** Who has one of them gives orders to Ralph: to the workers of a fleet, to all runs of a dashboard. */
const OF_RALPH = ['RALPH_DATABASE_URL', 'RALPH_DASHBOARD_TOKEN'];

/** What of an environment others may see. */
export function filterEnv<E extends Env>(env: E, { hide, keep }: Visible): E {
  if (hide.length === 0 && keep === undefined && !OF_RALPH.some(name => name in env)) return env;
  const isHidden = (name: string, value: string | undefined) =>
    OF_RALPH.includes(name) ||
    matchesAny(name, hide) ||
    (keep !== undefined && isSecret(name, value) && !matchesAny(name, keep));
  const hidden = new Set(Object.keys(env).filter(name => isHidden(name, env[name])));
  // git refuses to run with some of them.
  const isGitHidden = [...hidden].some(name => GIT_SETTING.test(name));
  const isSeen = (name: string) => !hidden.has(name) && !(isGitHidden && GIT_SETTING.test(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isSeen(name))) as E;
}

function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some(pattern => matchesText(name, pattern, { ignoreCase: true }));
}

const SECRET_FLAG = /^--?[\w-]*(key|token|secret|passw|credential)[\w-]*$/i;

/** Arguments with the value behind a secret-looking flag taken out. */
export function redactWords(words: readonly string[]): readonly string[] {
  return words.map((word, index) => {
    const [flag = '', value] = word.split(/=(.*)/s);
    if (value !== undefined && SECRET_FLAG.test(flag)) return `${flag}=${HIDDEN}`;
    return SECRET_FLAG.test(words[index - 1] ?? '') && !word.startsWith('-') ? HIDDEN : word;
  });
}

/** An address with all that comes after the host taken out: webhooks keep their secrets there. */
export function redactAddress(address: string): string {
  const [, scheme, host] = /^(https?:\/\/)(?:[^/@]*@)?([^/?#]*)/.exec(address) ?? [];
  return scheme === undefined ? HIDDEN : `${scheme}${host}/${HIDDEN}`;
}
