/** How a turn ended: from the agent's stream first, from its exit code only where the stream cannot tell. */
import type { EndedBy, TurnOutcome } from '../domain/evidence.ts';
import { classifyError, type Trouble } from '../domain/trouble.ts';
import type { Turn } from '../domain/turn.ts';
import type { ProcessEnd } from '../platform/process.ts';
import type { AgentAdapter, OutputMode } from './agent.ts';

export interface EndedTurn {
  readonly adapter: AgentAdapter;
  readonly mode: OutputMode;
  readonly turn: Turn;
  readonly end: ProcessEnd;
  readonly endedBy?: EndedBy | 'lingering' | 'timeout' | 'idle-timeout';
  /** The end of what it printed on stderr. */
  readonly stderr: string;
}

export function outcomeOf(ended: EndedTurn): TurnOutcome {
  const { adapter, mode, turn, end, endedBy } = ended;
  if (end.kind === 'not-started') return failed(notStarted(end.code));
  if (endedBy !== undefined && endedBy !== 'lingering') {
    return { kind: 'ended', by: endedBy === 'timeout' ? 'iteration-timeout' : endedBy };
  }
  const streams = mode === 'stream' && adapter.name !== 'generic';
  if (streams && turn.result)
    return turn.result.ok ? completed(ended) : failed(troubleOf(ended, turn.result.error));
  if (streams && adapter.endsWithResult) return failed(troubleOf(ended, 'the stream ended without a result'));
  if (turn.trouble) return failed(turn.trouble);
  if (endedBy === 'lingering' || (end.kind === 'exited' && end.code === 0)) return completed(ended);
  return failed(troubleOf(ended, undefined));
}

function completed({ adapter, turn }: EndedTurn): TurnOutcome {
  // A plain command may well work in silence; an agent that neither spoke nor acted did nothing.
  const silent = turn.lastWords.trim() === '' && turn.toolCalls === 0 && adapter.name !== 'generic';
  return silent
    ? failed({ class: 'empty-reply', message: 'the agent said nothing and did nothing' })
    : { kind: 'completed' };
}

function troubleOf({ adapter, turn, end, stderr }: EndedTurn, said: string | undefined): Trouble {
  if (turn.trouble) return turn.trouble;
  const exit =
    end.kind === 'exited'
      ? `exit code ${end.code}`
      : end.kind === 'signalled'
        ? `ended by ${end.signal}`
        : '';
  const lastLine = stderr
    .split('\n')
    .filter(line => line.trim() !== '')
    .at(-1)
    ?.trim();
  const message = [said, exit, lastLine].filter(Boolean).join('; ');
  // A plain command's stderr may hold anything; only an agent's error channel is worth reading for its meaning.
  if (adapter.name === 'generic') return { class: 'crash', message };
  return { ...classifyError([said, lastLine].filter(Boolean).join('; ')), message };
}

function notStarted(code: string): Trouble {
  const why = code === 'ENOENT' ? 'it is not there' : code === 'EACCES' ? 'it may not be executed' : code;
  return { class: 'config', message: `the agent cannot be started: ${why}` };
}

function failed(trouble: Trouble): TurnOutcome {
  return { kind: 'failed', trouble };
}
