/** Which values of an environment are secrets, and in which forms programs print them. */

export interface SecretForm {
  readonly text: string;
  /** Short: it counts only where it stands as a word of its own. */
  readonly isWord: boolean;
}

/** The variables that a program is started with. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The longest first, so that no form takes a part out of another. */
export function secretForms(env: Env): readonly SecretForm[] {
  const values = new Set(
    Object.entries(env).flatMap(([name, value]) => (value ? secretsIn(name, value) : [])),
  );
  const forms = new Set([...values].flatMap(formsOf));
  return [...forms]
    .sort((one, other) => other.length - one.length)
    .map(text => ({ text, isWord: text.length < LONG }));
}

/** What cannot be a secret although its name looks like one. */
const NO_SECRET =
  /author|tokeni[sz]|keyboard|keymap|keyring|keycode|monkey|passenger|compass|bypass|(^|_)SSH_AUTH_SOCK$|^(OLD)?PWD$/i;
const STRONG =
  /token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|(^|_)(pat|pwd)(_|\d*$)|pass(_|\d*$)/i;
const WEAK = /key|auth|cookie|webhook|dsn/i;

/** Shorter values are words that stand in any text. */
const SHORTEST = 8;
/** Shorter ones are taken for a password where they are no plain word. */
const SHORTEST_PASSWORD = 6;
const LONG = 12;

/** What everybody uses on their own machine, and any text may hold. */
const COMMON = new Set(
  'password passw0rd postgres mysql mariadb mongodb redis rabbitmq guest admin administrator root user username test testing tester example changeme default localhost minioadmin development production secret dummy'.split(
    ' ',
  ),
);

function secretsIn(name: string, raw: string): readonly string[] {
  const value = raw.trim();
  const found = value.includes('://') ? passwordsIn(value) : [];
  const isStrong = STRONG.test(name);
  if (!isStrong && (!WEAK.test(name) || isPlainWord(value))) return found;
  if (NO_SECRET.test(name) || /^(?:[/~]|\.{1,2}\/|[A-Za-z]:\\)/.test(value)) return found;
  const lines = value.includes('\n') ? value.split('\n').filter(line => line.trim().length >= 16) : [];
  return [...found, ...[value, ...lines.map(line => line.trim())].filter(isTelling)];
}

/** Letters only, or words of letters: `interactive`, `device-code`. */
function isPlainWord(value: string): boolean {
  return /^[a-z]+(?:[-_. ][a-z]+)*$/i.test(value) && value.length < 24;
}

function isTelling(value: string): boolean {
  if (COMMON.has(value.toLowerCase()) || !/\S{6}/.test(value)) return false;
  return value.length >= (isPlainWord(value) || /^\d+$/.test(value) ? SHORTEST : SHORTEST_PASSWORD);
}

/** `scheme://user:password@host`, whatever the variable is called; a password may hold any sign. */
export function passwordsIn(value: string): readonly string[] {
  const [, user = '', password = '', place = ''] =
    /^[a-z][\w+.-]*:\/\/([^:/@]*):(.+)@([^@]*)$/is.exec(value) ?? [];
  if (password === '' || password === user || place.includes(password)) return [];
  const plain = decodeUri(password);
  return [...new Set([password, plain])].filter(isTelling);
}

/** What is not so written stays as it is. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function formsOf(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const isPlain = /^[\w.-]*$/.test(value);
  const written = isPlain ? [] : SPELLINGS.map(spell => Array.from(value, sign => spell(sign)).join(''));
  const forms = [value, json, JSON.stringify(json).slice(1, -1), ...written];
  return value.length < SHORTEST ? forms : [...forms, ...binaryForms(new TextEncoder().encode(value))];
}

type Spell = (sign: string) => string;

/** Each sign by itself, as the languages and formats that programs print in write it. */
const SPELLINGS: readonly Spell[] = [
  ...["'", '&#39;', '&#039;', '&#x27;', '&apos;'].flatMap(quote =>
    ['&quot;', '&#34;'].map(double =>
      spelled({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': double, "'": quote }),
    ),
  ),
  // Texts of a program: in either kind of quotes, with what is not ASCII as it is or by number.
  ...[`'`, `"`, `'"`, ''].flatMap(quotes =>
    [asIs, byByte, byNumber].map(rest => escaped(`\\${quotes}`, rest)),
  ),
  // JSON of PHP and of Go.
  ...[asIs, byNumber].flatMap(rest => [
    escaped('\\"/', rest),
    escaped('\\"', rest, '<>&'),
    escaped('\\"/', rest, '<>&'),
  ]),
  // Words of a shell.
  spelled({ "'": `'\\''` }),
  sign => (/[\w@%+=:,./~-]|[^\0-\x7f]/.test(sign) ? sign : `\\${sign}`),
  // Addresses and forms.
  ...['', '/', '/~', "!'()*", '*', '~', '*~', "!'()*~"].flatMap(plain =>
    ['%20', '+'].flatMap(blank => [inAddress(plain, blank), inAddress(plain, blank, true)]),
  ),
];

function spelled(signs: Readonly<Record<string, string>>): Spell {
  return sign => signs[sign] ?? sign;
}

/** A backslash before some signs, others by number. */
function escaped(signs: string, rest: Spell, numbered = ''): Spell {
  return sign => {
    if (numbered.includes(sign)) return byUnit(sign);
    if (signs.includes(sign)) return `\\${sign}`;
    return LINES[sign] ?? rest(sign);
  };
}

const LINES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function asIs(sign: string): string {
  return sign;
}

function byByte(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  return code > 0x7e && code < 0x100 ? `\\x${code.toString(16)}` : byNumber(sign);
}

function byNumber(sign: string): string {
  return /^[\0-\x7f]$/.test(sign) ? sign : byUnit(sign);
}

function byUnit(sign: string): string {
  const units = Array.from({ length: sign.length }, (_, at) => sign.charCodeAt(at));
  return units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** `plain`: what it leaves as it is beside letters, digits and `-_.`. */
function inAddress(plain: string, blank: string, isLower = false): Spell {
  return sign => {
    if (/[\w.-]/.test(sign) || plain.includes(sign)) return sign;
    if (sign === ' ') return blank;
    const bytes = new TextEncoder().encode(sign);
    const hex = Array.from(bytes, byte => `%${byte.toString(16).padStart(2, '0')}`).join('');
    return isLower ? hex : hex.toUpperCase();
  };
}

/** base64 at each of the three places it can begin at, such as behind `user:`, and hex. */
function binaryForms(bytes: Uint8Array): readonly string[] {
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
  const cores = [0, 1, 2].map(shift => {
    const all = base64([...new Array<number>(shift).fill(0), ...bytes]);
    // Letters that also depend on what stands before or behind are left out.
    const whole = Math.floor(((shift + bytes.length) * 8) / 6);
    return all.slice(shift === 0 ? 0 : shift + 1, whole);
  });
  const url = cores.map(core => core.replaceAll('+', '-').replaceAll('/', '_'));
  return [...cores, ...url, hex, hex.toUpperCase()];
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function base64(bytes: readonly number[]): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const three = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    for (const shift of [18, 12, 6, 0]) text += LETTERS[(three >> shift) & 63];
  }
  return text;
}
