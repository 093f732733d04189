/** Notifications for a user who is not watching. */
import { OCCASIONS } from '../../domain/notification.ts';
import { choice, either, list, object, text, webAddress, yesNo } from '../kinds.ts';
import { both, type Setting } from '../setting.ts';

const notify = object({
  command: {
    kind: text(),
    help: 'A shell command; the notification is JSON on its stdin, and in RALPH_OCCASION, RALPH_RUN_ID, RALPH_TITLE, RALPH_STOP_REASON, RALPH_MESSAGE.',
  },
  webhook: { kind: webAddress, help: 'An address that gets the same JSON by POST; tried three times.' },
  bell: {
    kind: yesNo,
    help: 'Ring the bell of the terminal, with a desktop notification if the terminal supports OSC 9. Default true.',
  },
  on: { kind: list(choice(OCCASIONS)), help: 'Only on these occasions. Default: all.' },
});

export const NOTIFY = [
  {
    key: 'notify',
    kind: either(text(), notify),
    flag: both('--notify <cmd>'),
    help: 'A command to run when the run stops, waits for a limit, asks a question or gets stuck; or an object with more kinds of notification.',
  },
] as const satisfies readonly Setting[];
