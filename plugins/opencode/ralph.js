/**
 * Ralph's in-session loop in OpenCode. The decisions are those of the hook program that every host shares; this file only
 * brings OpenCode's events to it.
 *
 * OpenCode has no stop hook. When a turn's last step ends, it looks once more for a newer message of the user, and stops if
 * there is none. So the verdict is asked for while the last text is being completed, which OpenCode waits for, and the
 * continuation is put in as soon as the step has ended.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), '../ralph/ralph-hook.cjs');
const COMMAND = /^\s*[/$](ralph:)?(ralph-loop|ulw-loop|cancel-ralph|help)\b/;

export const RalphPlugin = async ({ client, directory }) => {
  /** What the agent has said, and what is to be done about it, by message. */
  const texts = new Map();
  const verdicts = new Map();
  /** What Ralph has put in itself, and the sessions that have not continued with it yet. */
  const own = new Set();
  const waiting = new Set();
  /** Which agent and model a session was last asked with. */
  const settings = new Map();
  /** Tool calls since a session's last stop: its messages are in a database, so nothing else could count them. */
  const calls = new Map();
  let last = Promise.resolve();

  /** One after the other: an answer must be written down before the next question is asked. */
  function ask(event, fields) {
    const answer = last.then(() => callProgram(event, { cwd: directory, ...fields }));
    last = answer;
    return answer;
  }

  function put(session, text, noReply) {
    own.add(text);
    const body = { ...settings.get(session), noReply, parts: [{ type: 'text', text }] };
    return client.session[noReply ? 'prompt' : 'promptAsync']({ path: { id: session }, body });
  }

  async function onStepEnd({ sessionID, messageID }) {
    const said = texts.get(messageID)?.join('\n\n') ?? '';
    const verdict = verdicts.get(messageID);
    texts.delete(messageID);
    verdicts.delete(messageID);
    const counted_calls = calls.get(sessionID) ?? 0;
    calls.delete(sessionID);
    if (!hasLoop(directory)) return;
    if (verdict?.reason) {
      waiting.add(sessionID);
      await put(sessionID, verdict.reason, true);
    }
    const fields = { session_id: sessionID, last_assistant_message: said, counted_calls };
    const answer = await ask('step-finish', fields);
    show(client, answer.message);
    if (answer.reason && !verdict) await put(sessionID, answer.reason, false);
  }

  return {
    'chat.message': async ({ sessionID }, { message, parts }) => {
      const { agent, model } = message;
      settings.set(sessionID, { agent, model });
      const part = parts.find(each => each.type === 'text' && !each.synthetic);
      if (!part || own.delete(part.text)) return;
      if (!hasLoop(directory) && !COMMAND.test(part.text)) return;
      const answer = await ask('chat.message', { session_id: sessionID, prompt: part.text });
      if (answer.reason) throw new Error(answer.reason);
      if (answer.context) {
        part.text = answer.context;
        calls.delete(sessionID); // what was called before the loop is not for it
      }
      show(client, answer.message);
    },
    'tool.execute.before': ({ sessionID, tool }, { args }) => guard(directory, sessionID, tool, args),
    'tool.execute.after': async ({ sessionID }) => {
      calls.set(sessionID, (calls.get(sessionID) ?? 0) + 1);
    },
    'experimental.text.complete': async ({ sessionID, messageID }, { text }) => {
      if (!hasLoop(directory)) return;
      const said = [...(texts.get(messageID) ?? []), text];
      texts.set(messageID, said);
      const counted_calls = calls.get(sessionID) ?? 0;
      const fields = { session_id: sessionID, last_assistant_message: said.join('\n\n'), counted_calls };
      verdicts.set(messageID, await ask('text.complete', fields));
    },
    event: async ({ event: { type, properties } }) => {
      if (type === 'message.part.updated') {
        const { part } = properties;
        if (part.type === 'step-start') waiting.delete(part.sessionID);
        if (part.type === 'step-finish' && part.reason !== 'tool-calls') await onStepEnd(part);
      }
      // The session had stopped before the continuation was there.
      if (type === 'session.idle' && waiting.delete(properties.sessionID)) {
        await put(properties.sessionID, 'Continue with the task.', false);
      }
    },
  };
};

/** Without a loop in the project, Ralph costs no more than this. */
function hasLoop(directory) {
  try {
    return readdirSync(join(directory, '.claude')).some(name => /^ralph-loop.*\.local\.md$/.test(name));
  } catch {
    return false;
  }
}

/** An error keeps the tool from running; so does a guard that does not answer. */
async function guard(cwd, session, tool, args) {
  if (!hasLoop(cwd) && !isGuarded(cwd)) return;
  const fields = { cwd, session_id: session, tool_name: tool, tool_input: args };
  const answer = await callProgram('tool.execute.before', fields);
  if (answer.failed) throw new Error("Ralph's guard could not judge this call, so it was refused.");
  if (answer.kind === 'deny') throw new Error(answer.reason);
}

/** By the run that started this OpenCode, or by the settings. */
function isGuarded(directory) {
  const { RALPH_HOOKS: orders } = process.env;
  if (orders) return orders.includes('"guard"');
  return ['settings.json', 'settings.local.json'].some(name => {
    try {
      return readFileSync(join(directory, '.ralph', name), 'utf8').includes('"guard"');
    } catch {
      return false;
    }
  });
}

/** The answer of the hook program; nothing at all when it fails, so that the agent passes. */
function callProgram(event, fields) {
  return new Promise(resolve => {
    const child = spawn('node', [PROGRAM, 'opencode', event], { stdio: ['pipe', 'pipe', 'ignore'] });
    let answer = '';
    child.stdout.setEncoding('utf8').on('data', chunk => {
      answer += chunk;
    });
    child.on('error', () => resolve({ failed: true }));
    child.on('close', code => resolve(code === 0 ? parsed(answer) : { failed: true }));
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(fields));
  });
}

function parsed(answer) {
  try {
    return answer === '' ? {} : JSON.parse(answer);
  } catch {
    return { failed: true };
  }
}

/** Only a terminal shows it. */
function show(client, message) {
  if (message) client.tui.showToast({ body: { title: 'Ralph', message, variant: 'info' } }).catch(() => {});
}
