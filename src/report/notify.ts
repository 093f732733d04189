/** Sends notifications: by the terminal, by a command of the user's, by a webhook. */
import type { Emit } from '../domain/run/event.ts';
import { createNotifications, type Notification, type Occasion } from '../domain/run/notification.ts';
import { startProcess } from '../platform/process.ts';
import { outsideEnv } from '../platform/programs.ts';
import { shellCommand } from '../platform/shell.ts';
import { beginning, harmless } from '../platform/text.ts';
import { phrase } from './phrases.ts';
import { postJson } from './post.ts';

export interface NotifyOptions {
  readonly command?: string;
  readonly webhook?: string;
  /** Undefined where there is no terminal, or where the user does not want it. */
  readonly terminal?: (text: string) => void;
  /** Which occasions; all of them when it is empty. */
  readonly on: readonly Occasion[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redact: (text: string) => string;
  /** A notification failed: one sentence. */
  readonly failed: (text: string) => void;
  readonly pause?: (ms: number) => Promise<void>;
}

export function createNotify(options: NotifyOptions) {
  const { command, webhook, terminal, on } = options;
  const read = createNotifications();
  const under: Promise<void>[] = [];
  const emit: Emit = event => {
    const notification = read(event);
    if (!notification || (on.length > 0 && !on.includes(notification.occasion))) return;
    const { duration } = notification;
    if (terminal && (duration === null || duration >= LONG)) terminal(desktopWords(notification));
    const body = options.redact(JSON.stringify(notification));
    if (command !== undefined) under.push(runCommand(command, notification, body, options));
    if (webhook !== undefined) under.push(post(webhook, body, options));
  };
  return {
    emit,
    /** Every notification was sent, or failed. Takes half a minute at most; never rejects. */
    async allSent(): Promise<void> {
      await Promise.all(under);
    },
  };
}

/** Nobody looks away from a run of seconds. */
const LONG = 30;

/** OSC 9 is a desktop notification where the terminal knows it; the bell is for the others. */
function desktopWords({ project, title, message }: Notification): string {
  const about = title === null ? '' : ` "${phrase(title)}"`;
  return `\u001b]9;Ralph, ${phrase(project)}${about}: ${phrase(message)}\u0007\u0007`;
}

const PATIENCE = 10_000;
/** How much of the command's stderr is shown. */
const KEPT = 500;

async function runCommand(
  command: string,
  notification: Notification,
  body: string,
  { cwd, env, redact, failed }: NotifyOptions,
): Promise<void> {
  const { occasion, runId, stopReason, title, message } = notification;
  let said = '';
  const child = startProcess({
    argv: shellCommand(command),
    cwd,
    env: {
      ...outsideEnv(env, cwd),
      RALPH_OCCASION: occasion,
      RALPH_RUN_ID: runId,
      RALPH_TITLE: variable(redact(title ?? '')),
      RALPH_STOP_REASON: stopReason ?? '',
      RALPH_MESSAGE: variable(redact(message)),
    },
    input: body,
    stdout() {},
    stderr(chunk) {
      said = `${said}${chunk}`.slice(-KEPT);
    },
    timeout: PATIENCE,
  });
  const { end, endedBy } = await child.done;
  if (endedBy) return failed(`the notify command took longer than ${PATIENCE / 1000} s and was ended`);
  if (end.kind === 'exited' && end.code === 0) return;
  const how = end.kind === 'exited' ? `exit code ${end.code}` : end.kind;
  failed(phrase(redact(`the notify command failed (${how}) ${said}`)));
}

/** A variable may have 128 KiB, and a character four bytes. */
const LONGEST = 30_000;

/** What an agent says must not keep the command from being started, nor reach a terminal through it. */
function variable(text: string): string {
  return harmless(beginning(text, LONGEST));
}

/** Milliseconds before each try. */
const TRIES = [0, 1_000, 4_000];

async function post(url: string, body: string, { failed, pause }: NotifyOptions): Promise<void> {
  const headers = { 'user-agent': 'ralph' };
  const again = (status: number) => status >= 500 || status === 408 || status === 429;
  const why = await postJson(body, { url, headers, timeout: PATIENCE / 2, tries: TRIES, again, pause });
  // The rest of the address may hold a secret.
  const host = URL.canParse(url) ? new URL(url).host : url;
  if (why !== undefined) failed(`the webhook at ${host} could not be reached: ${why}`);
}
