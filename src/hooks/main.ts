/** The hook entry point: JSON on stdin, JSON on stdout, nothing else. A hook that fails lets the agent pass and says so. */
import { contract } from '../domain/session.ts';
import { findSession, writeSession } from '../store/session-file.ts';
import { readInput, writeAnswer } from './claude.ts';
import { onCommand } from './commands.ts';
import { type HookAnswer, type HookInput, NOTHING } from './host.ts';
import { onStop } from './stop.ts';

export async function runHook(
  host: string,
  event: string,
  stdin: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const input = readInput(stdin);
  if (!input || input.sessionId === '') return '';
  // The folder in which the session began: the current one moves when the agent changes it.
  const root = env.CLAUDE_PROJECT_DIR || input.cwd;
  if (root === '') return '';
  try {
    return writeAnswer(event, await answerTo(host, event, root, input));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return writeAnswer(event, {
      kind: 'say',
      message: `⚠️ Ralph: the ${event} hook failed and let the agent pass: ${why}`,
    });
  }
}

async function answerTo(host: string, event: string, root: string, input: HookInput): Promise<HookAnswer> {
  switch (event) {
    case 'UserPromptExpansion':
      return onCommand(root, host, input);
    case 'UserPromptSubmit':
      return onPrompt(root, input);
    case 'PostToolBatch':
      return onTools(root, input);
    case 'SessionStart':
      return onSessionStart(root, input);
    case 'Stop':
      return await onStop(root, input);
    default:
      return NOTHING;
  }
}

/** A background task that has ended comes as a prompt of its own: the loop goes with it. Anything else is the user's. */
function onPrompt(root: string, input: HookInput): HookAnswer {
  const file = findSession(root, input.sessionId);
  if (file?.state.active && input.prompt.startsWith('<task-notification>')) {
    writeSession(file.path, { ...file.state, promptId: input.promptId });
  }
  return NOTHING;
}

/** A compaction may have taken the task out of the agent's sight. */
function onSessionStart(root: string, input: HookInput): HookAnswer {
  const file = findSession(root, input.sessionId);
  if (input.source !== 'compact' || !file?.state.active) return NOTHING;
  return { kind: 'context', context: contract(file.state) };
}

function onTools(root: string, input: HookInput): HookAnswer {
  const file = findSession(root, input.sessionId);
  if (!file) return NOTHING;
  const { state } = file;
  writeSession(file.path, { ...state, toolCalls: state.toolCalls + input.toolCalls, blocksInARow: 0 });
  return NOTHING;
}
