/** How much the agent of a session has worked: its tool calls since the last stop. */
import type { Dialect, HookInput } from '../agents/dialect.ts';
import { countCalls, transcriptSize, waitFor } from '../agents/transcript.ts';
import { afterCalls, type SessionState } from '../domain/session/session.ts';

/** Milliseconds. A host may write its transcript a moment after it has called the hook. */
const PATIENCE = 300;

/** The state with the calls since the last stop. While there are fewer than are wanted, it waits a little for more. */
export async function withToolCalls(
  state: SessionState,
  dialect: Dialect,
  input: HookInput,
  wanted: number,
): Promise<SessionState> {
  const { calls: shown } = dialect;
  if (shown === null) return afterCalls(state, input.countedCalls);
  if (!hasTranscript(input)) return state;
  const { transcript } = input;
  const since = Date.parse(state.startedAt);
  let counted = state;
  await waitFor(PATIENCE, () => {
    const { calls, end } = countCalls(transcript, state.transcriptRead, since, shown);
    // Before the first count, the hook before a tool may have counted some of these calls.
    const more = state.transcriptRead === 0 ? Math.max(0, calls - state.toolCalls) : calls;
    counted = { ...afterCalls(state, more), transcriptRead: end };
    return counted.toolCalls >= wanted ? counted : undefined;
  });
  return counted;
}

/** A tool is about to run in a session without a transcript, such as one that is not saved: then this hook counts it. */
export function isUncounted({ calls, toolHookKnowsTranscript }: Dialect, input: HookInput): boolean {
  return calls !== null && toolHookKnowsTranscript && !hasTranscript(input);
}

function hasTranscript(input: HookInput): input is HookInput & { readonly transcript: string } {
  return transcriptSize(input.transcript) > 0;
}
