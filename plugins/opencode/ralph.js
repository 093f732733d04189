/**
 * Ralph's in-session loop in OpenCode. The decisions are those of the hook program that every host shares; this file only
 * brings OpenCode's events to it.
 *
 * OpenCode has no stop hook. When a turn's last step ends, it looks once more for a newer message of the user, and stops if
 * there is none. So the verdict is asked for while the last text is being completed, which OpenCode waits for, and the
 * continuation is put in as soon as the step has ended.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), '../ralph/ralph-hook.cjs');
const COMMAND = /^\s*[/$](ralph:)?(ralph-loop|ulw-loop|cancel-ralph|hand-over|help)\b/;

export const RalphPlugin = async ({ client, directory }) => {
  const world = {
    client,
    directory,
    /** What the agent has said, and what is to be done about it, by message. */
    texts: new Map(),
    verdicts: new Map(),
    /** What Ralph has put in itself, and the sessions that have not continued with it yet. */
    own: new Set(),
    waiting: new Set(),
    /** Which agent and model a session was last asked with. */
    settings: new Map(),
    /** Tool calls since a session's last stop: its messages are in a database, so nothing else could count them. */
    calls: new Map(),
    last: Promise.resolve(),
  };
  return {
    config: async config => {
      config.command = { ...COMMANDS, ...config.command };
    },
    'command.execute.before': async ({ command, arguments: words }, { parts }) => {
      const part = COMMANDS[command] && parts.find(each => each.type === 'text');
      if (part) part.text = `/${command} ${words}`;
    },
    'chat.message': ({ sessionID }, output) => onMessage(world, sessionID, output),
    'tool.execute.before': ({ sessionID, tool }, { args }) => guard(directory, sessionID, tool, args),
    'tool.execute.after': async ({ sessionID, tool }) => {
      if (tool === 'invalid') return; // what OpenCode runs for a tool that there is not: no work
      world.calls.set(sessionID, (world.calls.get(sessionID) ?? 0) + 1);
    },
    'experimental.text.complete': (part, { text }) => onText(world, part, text),
    event: ({ event }) => onEvent(world, event),
  };
};

/**
 * What its terminal needs to know of a command that somebody types. OpenCode would run what stands in the arguments between `!` and
 * backticks in a shell if they were in the template: the placeholder takes none of them, and the hook above puts them in as they are.
 */
const COMMANDS = Object.fromEntries(
  Object.entries({
    'ralph-loop': 'Loop on a task in this session until it is provably done',
    'ulw-loop': 'The same loop, with the ultrawork instruction before every continuation',
    'hand-over': 'Continue the loop in a terminal, or one of a terminal here',
    'cancel-ralph': 'End the Ralph loop of this session; the work is kept',
  }).map(([name, description]) => [name, { description, template: `/${name} $99999` }]),
);

/** One after the other: an answer must be written down before the next question is asked. */
function ask(world, event, fields) {
  const answer = world.last.then(() => callProgram(event, { cwd: world.directory, ...fields }));
  world.last = answer;
  return answer;
}

function put({ client, own, settings }, session, text, noReply) {
  own.add(text);
  const body = { ...settings.get(session), noReply, parts: [{ type: 'text', text }] };
  return client.session[noReply ? 'prompt' : 'promptAsync']({ path: { id: session }, body });
}

async function onMessage(world, sessionID, { message, parts }) {
  const { client, directory, settings, own, calls } = world;
  const { agent, model } = message;
  settings.set(sessionID, { agent, model });
  const part = parts.find(each => each.type === 'text' && !each.synthetic);
  if (!part || own.delete(part.text)) return;
  if (!hasLoop(directory) && !COMMAND.test(part.text)) return;
  const answer = await ask(world, 'chat.message', { session_id: sessionID, prompt: part.text });
  if (answer.failed && COMMAND.test(part.text)) throw new Error(NOT_STARTED);
  if (answer.reason) throw new Error(answer.reason);
  if (answer.context) {
    part.text = answer.context;
    calls.delete(sessionID); // what was called before the loop is not for it
  }
  show(client, answer.message);
}

async function onText(world, { sessionID, messageID }, text) {
  const { directory, texts, verdicts, calls } = world;
  if (!hasLoop(directory)) return;
  const said = [...(texts.get(messageID) ?? []), text];
  texts.set(messageID, said);
  const counted_calls = calls.get(sessionID) ?? 0;
  const fields = { session_id: sessionID, last_assistant_message: said.join('\n\n'), counted_calls };
  verdicts.set(messageID, await ask(world, 'text.complete', fields));
}

async function onEvent(world, { type, properties }) {
  const { waiting } = world;
  if (type === 'message.part.updated') {
    const { part } = properties;
    if (part.type === 'step-start') waiting.delete(part.sessionID);
    if (part.type === 'step-finish' && part.reason !== 'tool-calls') await onStepEnd(world, part);
  }
  if (type === 'session.error' && properties.error?.name === 'MessageAbortedError')
    await onInterrupt(world, properties.sessionID);
  // The session had stopped before the continuation was there.
  if (type === 'session.idle' && waiting.delete(properties.sessionID))
    await put(world, properties.sessionID, 'Continue with the task.', false);
}

async function onStepEnd(world, { sessionID, messageID }) {
  const { client, directory, texts, verdicts, calls, waiting } = world;
  const said = texts.get(messageID)?.join('\n\n') ?? '';
  const verdict = verdicts.get(messageID);
  texts.delete(messageID);
  verdicts.delete(messageID);
  const counted_calls = calls.get(sessionID) ?? 0;
  calls.delete(sessionID);
  if (!hasLoop(directory)) return;
  if (verdict?.reason) {
    waiting.add(sessionID);
    await put(world, sessionID, verdict.reason, true);
  }
  const fields = { session_id: sessionID, last_assistant_message: said, counted_calls };
  const answer = await ask(world, 'step-finish', fields);
  show(client, answer.message);
  if (answer.reason && !verdict) await put(world, sessionID, answer.reason, false);
}

/** The user has pressed Esc: the loop sleeps. */
async function onInterrupt(world, sessionID) {
  world.waiting.delete(sessionID);
  if (!sessionID || !hasLoop(world.directory)) return;
  const answer = await ask(world, 'session.error', { session_id: sessionID, interrupted: true });
  show(world.client, answer.message);
}

const NOT_STARTED =
  'Ralph: nothing was done. Its hook program did not run: is node 20.11 or newer on the PATH?';

/** Without a loop in the project, Ralph costs no more than this. */
function hasLoop(directory) {
  return loopFiles(directory).length > 0;
}

function loopFiles(directory) {
  try {
    const folder = join(directory, '.claude');
    const names = readdirSync(folder).filter(name => /^ralph-loop.*\.local\.md$/.test(name));
    return names.map(name => join(folder, name));
  } catch {
    return [];
  }
}

/** A loop of this very session that is awake. */
function hasOwnLoop(directory, session) {
  return loopFiles(directory).some(file => {
    const text = textOf(file);
    return text.includes(`\nsession_id: ${JSON.stringify(session)}\n`) && text.includes('\nactive: true\n');
  });
}

/** '': there is none. A device or a pipe, such as a link in a repository may lead to, would keep OpenCode waiting. */
function textOf(file) {
  try {
    const found = statSync(file);
    return found.isFile() && found.size <= LONGEST ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}

const LONGEST = 1024 * 1024;

/** An error keeps the tool from running; so does a guard that does not answer. */
async function guard(cwd, session, tool, args) {
  if (!hasLoop(cwd) && !isGuarded(cwd)) return;
  const fields = { cwd, session_id: session, tool_name: tool, tool_input: args };
  const answer = await callProgram('tool.execute.before', fields);
  // The loop of another session, perhaps of long ago, is no reason to hold this one up.
  if (answer.failed && (hasOwnLoop(cwd, session) || isGuarded(cwd)))
    throw new Error("Ralph's guard could not judge this call, so it was refused.");
  if (answer.kind === 'deny') throw new Error(answer.reason);
}

/** By the run that started this OpenCode, or by the settings. */
function isGuarded(directory) {
  const { RALPH_HOOKS: orders } = process.env;
  if (orders) return orders.includes('"guard"');
  const files = ['settings.json', 'settings.local.json'].map(name => join(directory, '.ralph', name));
  return files.some(file => textOf(file).includes('"guard"'));
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
