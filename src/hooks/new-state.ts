/** A loop at its beginning. */
import type { HookInput } from '../agents/dialect.ts';
import { transcriptSize } from '../agents/transcript.ts';
import type { SessionRequest, SessionState } from '../domain/session.ts';

export function newState(
  request: SessionRequest,
  { sessionId, promptId, transcript }: Pick<HookInput, 'sessionId' | 'promptId' | 'transcript'>,
  runId: string,
): SessionState {
  const now = new Date();
  return {
    ...request,
    active: true,
    iteration: 1,
    startedAt: now.toISOString().replace(/\.\d+Z$/, 'Z'),
    sessionId,
    promptId,
    toolCalls: 0,
    callsBefore: 0,
    blocksInARow: 0,
    runId,
    transcriptRead: transcriptSize(transcript),
    turnAt: now.getTime(),
    wakeUps: [],
    protect: [],
    kept: null,
    waits: true,
  };
}
