/** What goes on at this moment: the step, for how long, and the latest words and deeds of the agent. */
import { wholeSeconds } from '../report/numbers.ts';
import type { Phase, RunView } from '../report/run-view.ts';
import type { Passage } from '../report/transcript.ts';
import { Passages } from './passages.tsx';
import { Section } from './run.tsx';
import { useClock } from './time.ts';

interface NowProps {
  readonly view: RunView;
  readonly passages: readonly Passage[];
  readonly connected: boolean;
}

const SHOWN = 12;

const DOING: Record<Phase, string> = {
  agent: 'the agent is at work',
  checks: 'the checks are running',
  waiting: 'waiting for a limit to end',
  paused: 'paused',
  between: 'between two steps',
  ended: 'ended',
};

export function Now({ view, passages, connected }: NowProps) {
  const clock = useClock(true);
  const iteration = view.iterations.at(-1)?.number ?? 0;
  const since = view.open ? ` · ${wholeSeconds((clock - view.open.since) / 1000)}` : '';
  const shown = passages.slice(-SHOWN);
  return (
    <Section
      title={iteration > 0 ? `Iteration ${iteration}` : 'Now'}
      note={<small>{connected ? `${DOING[view.phase]}${since}` : 'reconnecting…'}</small>}
    >
      {shown.length === 0 ? <p class="empty">Nothing yet.</p> : <Passages passages={shown} />}
    </Section>
  );
}
