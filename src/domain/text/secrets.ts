/** Keeps secrets out of what Ralph writes, shows and puts into prompts: docs/reference/secrets.md. */

import { matchesText } from './glob.ts';
import { createTrigrams, HIDDEN, hideTokens, openWord } from './secret-formats.ts';
import { createScanner, type SecretScan } from './secret-scan.ts';
import { type Env, passwordsIn, type SecretForm, secretForms } from './secret-values.ts';
import { visible } from './visible.ts';

export interface Redact {
  (text: string): string;
  /** Where the end of a text may be the beginning of a secret whose rest is still to come; its length: nowhere. */
  readonly openTail: (text: string) => number;
  /** Looks through bytes before they are read as a text. */
  readonly scan: () => SecretScan;
}

/**
 * Takes secrets out of a text: the values of variables that look like secrets, in every form that they are usually printed in, passwords in
 * addresses, and tokens of known formats. What colours or marks of no width stand inside a secret do not hide it.
 */
export function createRedactor(env: Env): Redact {
  const forms = secretForms(env);
  const hideValues = hideForms(forms);
  const clean = (text: string) => {
    if (text.length < SHORTEST_TEXT) return text;
    const seen = visible(text);
    const clean = hideTokens(hideValues(seen));
    return clean === seen ? text : clean;
  };
  const openTail = (text: string) => openForm(text, openWord(text), forms);
  let scanner: (() => SecretScan) | undefined;
  const scan = () => {
    scanner ??= createScanner(forms);
    return scanner();
  };
  return Object.assign(clean, { openTail, scan });
}

/** Nothing shorter holds a secret. */
const SHORTEST_TEXT = 6;

/** A printer breaks a long value into lines. */
const LINE_BREAK = /\n[ \t]*/g;
const MAYBE_BROKEN = '(?:\\n[ \\t]*)?';

function hideForms(forms: readonly SecretForm[]): (text: string) => string {
  const trigrams = createTrigrams(forms.map(({ text }) => text));
  const byStart = new Map<string, SecretForm[]>();
  for (const form of forms) {
    const start = form.text.slice(0, 3);
    byStart.set(start, [...(byStart.get(start) ?? []), form]);
  }
  const patterns = new Map<SecretForm, RegExp>();
  return text => {
    if (forms.length === 0) return text;
    const flat = text.includes('\n') ? text.replace(LINE_BREAK, '') : text;
    const found = new Set<SecretForm>();
    trigrams.each(flat, at => {
      for (const form of byStart.get(flat.slice(at, at + 3)) ?? [])
        if (!found.has(form) && flat.startsWith(form.text, at)) found.add(form);
    });
    let clean = text;
    // The longest first, so that none takes a part out of another.
    for (const form of forms) {
      if (!found.has(form)) continue;
      const pattern = patterns.get(form) ?? patternOf(form);
      patterns.set(form, pattern);
      clean = clean.replace(pattern, HIDDEN);
    }
    return clean;
  };
}

/** Before the beginning of a value with which the text before `end` ends, where there is one. */
function openForm(text: string, end: number, forms: readonly SecretForm[]): number {
  const longest = forms[0]?.text.length ?? 0;
  const tail = visible(text.slice(Math.max(0, end - 2 * longest - TELLING), end)).replace(LINE_BREAK, '');
  let most = '';
  for (const { text: form } of forms) {
    const last = tail.slice(-1);
    for (let to = form.lastIndexOf(last, form.length - 2); to + 1 >= TELLING && to + 1 > most.length; ) {
      if (tail.endsWith(form.slice(0, to + 1))) most = form.slice(0, to + 1);
      to = form.lastIndexOf(last, to - 1);
    }
  }
  let at = end;
  for (let left = most.replace(/\s/g, '').length; left > 0 && at > 0; at--)
    left -= /\s/.test(text[at - 1] ?? '') ? 0 : 1;
  return at;
}

/** Fewer letters are no sign that a value begins. */
const TELLING = 4;

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

function patternOf({ text, isWord }: SecretForm): RegExp {
  const letters = Array.from(text, letter => letter.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&'));
  const whole = letters.join(MAYBE_BROKEN);
  return new RegExp(isWord ? `(?<![A-Za-z0-9])${whole}(?![A-Za-z0-9])` : whole, 'g');
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

/** A name that says so, or a password in an address. */
function isSecret(name: string, value: string | undefined): boolean {
  return SECRET_WORD.test(name) || (value?.includes('://') === true && passwordsIn(value).length > 0);
}

export interface Visible {
  /** Names or patterns such as `AWS_*` that are hidden whatever they look like. */
  readonly hide: readonly string[];
  /** Those that stay although they look like secrets; undefined: no looks are judged. */
  readonly keep?: readonly string[];
}

/** What of an environment others may see. */
export function filterEnv<E extends Env>(env: E, { hide, keep }: Visible): E {
  if (hide.length === 0 && keep === undefined) return env;
  const isHidden = (name: string, value: string | undefined) =>
    matchesAny(name, hide) || (keep !== undefined && isSecret(name, value) && !matchesAny(name, keep));
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !isHidden(name, value))) as E;
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
