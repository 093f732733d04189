/** The keys of a running terminal: what each does, and what stands in the live line for them. Pure. */
import { clip, displayWidth, harmless } from '../platform/text.ts';
import { LONGEST_TEXT, type Message } from '../store/inbox.ts';
import type { OpenQuestion } from './run-view.ts';

/** What the next key means. */
export type KeysMode =
  | { readonly kind: 'keys' }
  | { readonly kind: 'hint'; readonly text: string }
  | { readonly kind: 'answer'; readonly story: string; readonly text: string }
  /** The user is asked whether to stop now. */
  | { readonly kind: 'sure' };

/** `switch`: pause, or continue if it is paused. */
export type KeyAction = Message | { readonly kind: 'switch' } | { readonly kind: 'help' };

export interface Pressed {
  readonly mode: KeysMode;
  readonly action?: KeyAction;
}

export const NO_KEY: KeysMode = { kind: 'keys' };

/** `typed` is what the terminal sent at once: a key, an escape sequence, or what was pasted. */
export function pressKey(mode: KeysMode, typed: string, asks?: OpenQuestion): Pressed {
  switch (mode.kind) {
    case 'keys':
      if (typed === 'a' && asks) return { mode: { kind: 'answer', story: asks.story, text: '' } };
      // Only a key by itself: a pasted command, typed ahead for the shell, must not steer the run.
      return PRESSED[typed] ?? { mode };
    case 'sure':
      return /^y$/i.test(typed)
        ? { mode: NO_KEY, action: { kind: 'cancel', gently: false } }
        : { mode: NO_KEY };
    case 'hint':
    case 'answer':
      return typeText(mode, typed);
    default:
      return mode satisfies never;
  }
}

const PRESSED: Readonly<Record<string, Pressed>> = {
  p: { mode: NO_KEY, action: { kind: 'switch' } },
  h: { mode: { kind: 'hint', text: '' } },
  s: { mode: NO_KEY, action: { kind: 'cancel', gently: true } },
  q: { mode: { kind: 'sure' } },
  '?': { mode: NO_KEY, action: { kind: 'help' } },
};

const ESCAPE = '\x1b';
const [BACKSPACE, ERASE_ALL] = [/[\b\x7f]/, '\x15'];

type Typing = Extract<KeysMode, { readonly text: string }>;

function typeText(mode: Typing, typed: string): Pressed {
  if (typed === ESCAPE) return { mode: NO_KEY };
  let { text } = mode;
  // An arrow key changes nothing; line breaks in a pasted text are its own, but for one at its end.
  for (const [at, letter] of typed.startsWith(ESCAPE) ? [] : [...typed].entries()) {
    const isBreak = letter === '\r' || letter === '\n';
    if (isBreak && at === [...typed].length - 1) return sendText(mode, text);
    if (letter === ERASE_ALL) text = '';
    else if (BACKSPACE.test(letter)) text = [...text].slice(0, -1).join('');
    else text += isBreak ? '\n' : harmless(letter);
  }
  return { mode: { ...mode, text: text.slice(0, LONGEST_TEXT) } };
}

function sendText(mode: Typing, text: string): Pressed {
  if (text.trim() === '') return { mode: NO_KEY };
  const { story } = mode.kind === 'answer' ? mode : {};
  return {
    mode: NO_KEY,
    action: story === undefined ? { kind: 'tell', text } : { kind: 'answer', story, text },
  };
}

/** Where there is room for them, the keys themselves. */
export function keyWords(isPaused: boolean, width: number, asks = false): string {
  const answer = asks ? 'a answer  ' : '';
  return width < ROOM_FOR_ALL
    ? `${answer}? keys`
    : `${answer}p ${isPaused ? 'continue' : 'pause'}  h hint  s stop  q quit  ? keys`;
}

const ROOM_FOR_ALL = 110;

export const KEYS_HELP = `Keys:
p  pause after this turn; again to continue
h  a hint for the agent, in its next prompt
a  answer what a story asks, while one does
s  stop after this turn
q  stop now, asks first
Ctrl-C  stop after this turn; twice to stop now`;

/** What stands in place of the live line while the user is asked for something. undefined: nothing is asked. */
export function askingLine(mode: KeysMode, columns: number): string | undefined {
  if (mode.kind === 'keys') return undefined;
  if (mode.kind === 'sure') return clip('Stop now? What the agent has done so far is kept. y/n', columns);
  const label = mode.kind === 'answer' ? `Answer to ${clip(harmless(mode.story), 20)}: ` : 'Hint: ';
  const help = ' (Enter sends, Esc does not)';
  const text = mode.text.replaceAll('\n', ' ');
  const room = columns - label.length - 1;
  const shown = displayWidth(text) <= room ? text : `…${lastColumns(text, room - 1)}`;
  const line = `${label}${shown}▏`;
  return displayWidth(line) + help.length <= columns ? line + help : line;
}

/** The end of a text: where its writer is. */
function lastColumns(text: string, columns: number): string {
  const letters = [...text.slice(-2 * columns)];
  while (displayWidth(letters.join('')) > columns) letters.shift();
  return letters.join('');
}
