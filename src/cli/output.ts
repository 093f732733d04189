/** Where things are written. Human words go to stderr when stdout belongs to a program. */
import { writeSync } from 'node:fs';
import { createDisarm, disarmJson, isReadByCi } from '../platform/ci-commands.ts';
import { errorCode } from '../platform/error-words.ts';
import { joinWords } from '../platform/shell.ts';
import { harmless } from '../platform/text.ts';

export interface Output {
  /** For the result of a command, its answer on stdout: words for people, or JSON. */
  answer(text: string): void;
  /** For people: stdout, or stderr while `--json` or `--events -` has stdout. */
  human(text: string): void;
  /** For people, always stderr. Of these three nothing but letters and our own colours arrives. */
  error(text: string): void;
  /** On stdout as it is: a file of some format. */
  document(text: string): void;
  /** As `human`, where the cursor is moved: nothing in it may be from outside that was not made harmless. */
  draw(text: string): void;
  readonly humanIsTTY: boolean;
  columns(): number;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
  readonly emoji: boolean;
  /** Where `--events` go; undefined without it. */
  readonly events?: string;
  /** What to type for `ralph` where the user is: `ralph -C elsewhere` after a command that was given it. null: the caller says that. */
  readonly us: string | null;
}

export function createOutput(options: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv): Output {
  const json = options.json === true;
  const events = typeof options.events === 'string' ? options.events : undefined;
  const stream = json || events === '-' ? process.stderr : process.stdout;
  const isTTY = stream.isTTY === true;
  const isPlain = options.plain === true || env.TERM === 'dumb';
  const isRead = isReadByCi(env);
  const disarms = [createDisarm(), createDisarm()];
  const color =
    options.color !== false &&
    options.plain !== true &&
    !env.NO_COLOR &&
    (isTTY ? !isPlain : Boolean(env.FORCE_COLOR));
  const say = (fd: number, text: string) => write(fd, isRead ? (disarms[fd - 1]?.(text) ?? text) : text);
  const words = (text: string) => (color ? besideColors(text, harmless) : harmless(text));
  const data = (text: string) => (color ? besideColors(text, inNumbers) : inNumbers(text));
  const put = (text: string) => (isRead && isJson(text) ? write(1, disarmJson(text)) : say(1, text));
  return {
    answer: text => put(isJson(text) ? data(text) : words(text)),
    human: text => say(stream.fd, words(text)),
    error: text => say(2, words(text)),
    document: put,
    draw: text => say(stream.fd, text),
    humanIsTTY: isTTY && !isPlain,
    // Some terminals have no size: 0 columns.
    columns: () => (isTTY ? stream.columns || 80 : UNWRAPPED),
    json,
    quiet: options.quiet === true,
    verbose: options.verbose === true,
    color,
    emoji: options.emoji !== false && options.plain !== true,
    us: typeof options.cwd === 'string' ? joinWords(['ralph', '-C', options.cwd]) : 'ralph',
    ...(events !== undefined && { events }),
  };
}

/** The commands of a text, as they can be pasted where the user is. */
export function pasteable(text: string, { us }: Pick<Output, 'us'>): string {
  return us === null || us === 'ralph' ? text : text.replaceAll('`ralph ', `\`${us} `);
}

/** In a pipe a line ends where it ends: whoever looks for a path in it finds it. */
const UNWRAPPED = 10_000;

/** All that is printed as JSON is an object or a list. */
function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** Whoever prints a name, a title or an error need not think of what may be in it. */
function besideColors(text: string, clean: (part: string) => string): string {
  const parts = text.split(OWN_COLOR);
  return parts.map((part, at) => (at % 2 === 1 ? part : clean(part))).join('');
}

/** Those of `report/style.ts`. */
const OWN_COLOR = /(\x1b\[(?:1|2|22|31|32|33|36|39)m)/;

/** The same data of JSON: what is no letter is written as a number. */
function inNumbers(json: string): string {
  return json.replace(NO_LETTER, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const NO_LETTER = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** Writes all of it, in order, now. A closed pipe does not end a run. */
function write(fd: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (errorCode(error) === 'EAGAIN') Atomics.wait(PAUSE, 0, 0, 1);
      else return;
    }
  }
}

/** A pipe that is full for now: give its reader a millisecond. */
const PAUSE = new Int32Array(new SharedArrayBuffer(4));
