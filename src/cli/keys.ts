/** Steers a run from the terminal it runs in: the same messages as from another one. */
import { systemClock } from '../platform/clock.ts';
import { type Keyboard, openKeyboard } from '../platform/keyboard.ts';
import { KEYS_HELP, type KeyAction, type KeysMode, NO_KEY, pressKey } from '../report/keys.ts';
import type { Message } from '../store/inbox.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { send } from '../store/send.ts';
import { orThrow } from './command.ts';
import type { Output } from './output.ts';
import type { Reporters } from './reporters.ts';

interface KeysRun extends Pick<Reporters, 'say' | 'redraw' | 'asks'> {
  readonly project: ProjectPaths;
  readonly id: string;
}

/** None in a pipe, and none in a log. */
export function createKeys({ humanIsTTY, quiet }: Output) {
  let mode = NO_KEY;
  let keyboard: Keyboard | undefined;
  return {
    /** undefined: there are no keys. */
    mode: (): KeysMode | undefined => keyboard && mode,
    listen(run: KeysRun): void {
      if (!humanIsTTY || quiet) return;
      keyboard = openKeyboard(typed => {
        const pressed = pressKey(mode, typed, run.asks());
        mode = pressed.mode;
        const said = pressed.action && act(run, pressed.action);
        if (said === undefined) run.redraw();
        else run.say(said);
      });
    },
    /** The terminal is as it was. */
    close(): void {
      keyboard?.close();
      keyboard = undefined;
    },
  };
}

/** Does it; returns what to say. undefined: the run itself says that it got it. */
function act({ project, id }: KeysRun, action: KeyAction): string | undefined {
  if (action.kind === 'help') return KEYS_HELP;
  const steer = (order: Message) => orThrow(send(project, id, order, systemClock.now()));
  if (action.kind === 'cancel') return steer(action).message;
  const paused = action.kind === 'switch' ? steer({ kind: 'pause' }) : steer(action);
  const sent = paused.done || action.kind !== 'switch' ? paused : steer({ kind: 'continue' });
  return sent.done ? undefined : sent.message;
}
