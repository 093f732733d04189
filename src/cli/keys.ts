/** Steers a run from the terminal it runs in: the same messages as from another one. */
import { systemClock } from '../platform/clock.ts';
import { type Keyboard, openKeyboard } from '../platform/keyboard.ts';
import { KEYS_HELP, type KeyAction, type KeysMode, NO_KEY, pressKey } from '../report/keys.ts';
import type { Message } from '../store/inbox.ts';
import { steerFound } from '../store/lane-steering.ts';
import type { ProjectPaths } from '../store/paths.ts';
import type { Output } from './output.ts';
import type { Reporters } from './reporters.ts';

export interface Keys {
  /** undefined: there are no keys. */
  mode(): KeysMode | undefined;
  listen(run: KeysRun): void;
  /** The terminal is as it was. */
  close(): void;
}

interface KeysRun extends Pick<Reporters, 'say' | 'redraw'> {
  readonly project: ProjectPaths;
  readonly id: string;
}

/** None in a pipe, and none in a log. */
export function createKeys({ humanIsTTY, quiet }: Output): Keys {
  let mode = NO_KEY;
  let keyboard: Keyboard | undefined;
  return {
    mode: () => keyboard && mode,
    listen(run) {
      if (!humanIsTTY || quiet) return;
      keyboard = openKeyboard(typed => {
        const pressed = pressKey(mode, typed);
        mode = pressed.mode;
        if (pressed.action) run.say(act(run, pressed.action));
        else run.redraw();
      });
    },
    close() {
      keyboard?.close();
      keyboard = undefined;
    },
  };
}

/** Does it, and answers what to say. */
function act({ project, id }: KeysRun, action: KeyAction): string {
  if (action.kind === 'help') return KEYS_HELP;
  const steer = (order: Message) => steerFound(project, { id }, order, systemClock.now());
  if (action.kind !== 'switch') return steer(action).message;
  const paused = steer({ kind: 'pause' });
  return (paused.done ? paused : steer({ kind: 'continue' })).message;
}
