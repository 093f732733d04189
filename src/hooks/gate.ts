/** What the gate, the shell script before this program, may answer by itself until something has to be decided. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { GuardOrders } from '../domain/hook-orders.ts';
import type { SessionState } from '../domain/session.ts';
import { projectPaths } from '../store/paths.ts';
import { findSession } from '../store/session-file.ts';
import { dropTally, openTally, type Terms } from '../store/tally.ts';
import type { Cap, Dialect, HookInput } from './host.ts';
import { hookSettings, monitorIsQuietUntil } from './session-duties.ts';
import { plainAnswer } from './stop.ts';

/** At the end of a hook: the gate may act again, by what the state is now. Never the reason that a hook fails. */
export function openGate(root: string, dialect: Dialect, input: HookInput, env: NodeJS.ProcessEnv): void {
  const { sessionId } = input;
  try {
    const file = findSession(root, sessionId);
    if (!file) dropTally(root, sessionId);
    if (!file?.state.active || file.state.runId === '') return;
    const { tally } = file.state;
    if (tally === '') return;
    if (existsSync(join(projectPaths(root).tally(sessionId), tally))) return;
    const terms = termsOf(root, dialect, file.state, input, env);
    if (isPlain(terms)) openTally(root, file, terms);
  } catch {
    // without a tally the gate asks every time
  }
}

/** The script reads lines; what would be two is not for it. */
function isPlain({ prompt, cap, quietUntil, answer }: Terms): boolean {
  return ![prompt, cap, quietUntil, ...answer].some(text => text.includes('\n') || text.includes('\0'));
}

function termsOf(
  root: string,
  dialect: Dialect,
  state: SessionState,
  input: HookInput,
  env: NodeJS.ProcessEnv,
): Terms {
  const { guard } = hookSettings(root);
  const quietUntil = monitorIsQuietUntil(root, input);
  const cap = dialect.capOf(env);
  return {
    prompt: state.promptId === null ? '' : `"${dialect.promptField}":${JSON.stringify(state.promptId)}`,
    stops: dialect.told === 'not' ? 0 : Math.max(0, stopsLeft(state, cap)),
    row: cap?.toolsReset === true ? cap.blocks - 1 : 0,
    words: dialect.told === 'last' ? 'last' : 'whole',
    tools: state.toolCalls >= state.minToolCalls && quietUntil > 0,
    quietUntil: Number.isFinite(quietUntil) ? `${quietUntil} ${input.transcript}` : '',
    guard: guard.enabled === false ? 'off' : hasOwnRules(guard) ? 'own-rules' : 'plain',
    cap: CAP_VARIABLES.map(name => env[name] ?? '').join('/'),
    answer: aroundTheNumber(iteration => dialect.writeAnswer('Stop', plainAnswer(state, iteration))),
  };
}

function hasOwnRules({ allow, deny, protect }: GuardOrders): boolean {
  return [allow, deny, protect].some(rules => rules.length > 0);
}

/** The script compares them with what they are when it runs. */
const CAP_VARIABLES = ['CLAUDE_CODE_STOP_HOOK_BLOCK_CAP', 'QWEN_CODE_STOP_HOOK_BLOCK_CAP'];

const MANY = 1_000_000;

/** Up to the last iteration, and up to the stop before which the host's own limit must be told. */
function stopsLeft({ iteration, maxIterations }: SessionState, cap: Cap | undefined): number {
  const byLimit = maxIterations === 0 ? MANY : maxIterations - iteration;
  return cap?.toolsReset === false ? Math.min(byLimit, cap.blocks - 1 - iteration) : byLimit;
}

/** Of two answers that differ in a number only, what stands before it and behind it. */
function aroundTheNumber(render: (iteration: number) => string): readonly [string, string] {
  const [one, two] = [render(ONES), render(TWOS)];
  const digits = String(ONES).length;
  let start = 0;
  while (start < one.length && one[start] === two[start]) start++;
  return [one.slice(0, start), one.slice(start + digits)];
}

const ONES = 1_111_111;
const TWOS = 2_222_222;
