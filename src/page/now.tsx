/** What happens now: the step, for how long, and the agent's latest words and tool calls. */
import { wholeSeconds } from '../report/numbers.ts';
import { phasePhrase } from '../report/phrases.ts';
import type { RunView } from '../report/run-view.ts';
import type { Passage } from '../report/transcript.ts';
import { Passages } from './passages.tsx';
import { Section } from './section.tsx';
import { useClock } from './time.ts';

interface NowProps {
  readonly view: RunView;
  readonly passages: readonly Passage[];
  readonly connected: boolean;
}

const SHOWN = 12;

export function Now({ view, passages, connected }: NowProps) {
  const clock = useClock(true);
  const iteration = view.iterations.at(-1)?.number ?? 0;
  const since = view.open ? ` · ${wholeSeconds((clock - view.open.since) / 1000)}` : '';
  const shown = passages.slice(-SHOWN);
  return (
    <Section
      title={iteration > 0 ? `Iteration ${iteration}` : 'Now'}
      note={<small>{connected ? `${phasePhrase(view.phase)}${since}` : 'reconnecting…'}</small>}
    >
      {shown.length === 0 ? <p class="empty">Nothing yet.</p> : <Passages passages={shown} />}
    </Section>
  );
}
