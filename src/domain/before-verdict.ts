/** What an iteration is judged against. */
import type { EndedTurn } from './event.ts';
import type { Past } from './past.ts';
import { countTurn } from './usage.ts';

/** The totals with its own turn, and what the iterations before it left: the same however often it is judged. */
export function beforeVerdict(past: Past, turn: EndedTurn): Pick<Past, 'totals' | 'traces' | 'repeated'> {
  const { totals, traces, repeated, open } = past;
  if (!open?.counted) return { totals: countTurn(totals, turn), traces, ...(repeated && { repeated }) };
  const { repeated: earlier } = open.counted;
  return { totals, traces: traces.slice(0, -1), ...(earlier && { repeated: earlier }) };
}
