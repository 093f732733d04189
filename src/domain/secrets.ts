/** Keeps secrets out of what Ralph writes and shows. */
import { matchesText } from './glob.ts';

const SECRET_NAME = /key|token|secret|passw|credential|auth/i;
const SECRET_FLAG = /^--?[\w-]*(key|token|secret|passw|credential)[\w-]*$/i;
const HIDDEN = '[redacted]';
/** Shorter values are words that stand in any text. */
const SHORTEST = 8;

/** Replaces the values of secret-looking environment variables wherever they stand in a line of JSON. */
export function createRedactor(env: Readonly<Record<string, string | undefined>>): (line: string) => string {
  const secrets = Object.entries(env).flatMap(([name, value]) =>
    value &&
    value.length >= SHORTEST &&
    SECRET_NAME.test(name) &&
    /\S{8}/.test(value) &&
    !value.startsWith('/')
      ? [JSON.stringify(value).slice(1, -1)]
      : [],
  );
  if (secrets.length === 0) return line => line;
  return line =>
    secrets.reduce((text, secret) => (text.includes(secret) ? text.replaceAll(secret, HIDDEN) : text), line);
}

/** Whole words of a variable's name: `NPM_TOKEN` is a secret, `TOKENIZERS_PARALLELISM` and `GIT_AUTHOR_NAME` are none. */
const SECRET_WORD =
  /(^|_)(API_?KEY|ACCESS_?KEY|KEY|TOKEN|PAT|SECRET|PASS|PASSWD|PASSWORD|CREDENTIALS?|AUTH|DSN|COOKIE)(_|\d*$)/i;

export interface Visible {
  /** Names or patterns such as `AWS_*` that are hidden whatever they look like. */
  readonly hide: readonly string[];
  /** Those that stay although they look like secrets; undefined: no looks are judged. */
  readonly keep?: readonly string[];
}

/** What of an environment others may see. */
export function filterEnv<Env extends Readonly<Record<string, string | undefined>>>(
  env: Env,
  { hide, keep }: Visible,
): Env {
  if (hide.length === 0 && keep === undefined) return env;
  const isHidden = (name: string) =>
    matchesAny(name, hide) || (keep !== undefined && SECRET_WORD.test(name) && !matchesAny(name, keep));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isHidden(name))) as Env;
}

function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some(pattern => matchesText(name, pattern, { ignoreCase: true }));
}

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
