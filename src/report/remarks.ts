/** What happened beside the steps of an iteration, in a line each. */
import type { KnownEntry } from '../domain/run/ledger-entry.ts';
import { forgeWords } from './forge-words.ts';
import { deniedPhrase, measuredPhrase, refusedPhrase, restoredPhrase, scmPhrase } from './phrases.ts';
import type { Remark } from './run-view.ts';
import { betweenWords, resumedPhrase } from './waits.ts';

export type Words = Pick<Remark, 'level' | 'text'>;

/** undefined: it is no remark, but a step of the run or nothing that people need to know. */
export function remarkOn(entry: KnownEntry): Words | undefined {
  switch (entry.type) {
    case 'scm':
      return { level: entry.outcome === 'failed' ? 'error' : 'info', text: scmPhrase(entry) };
    case 'forge':
    case 'forge-round':
    case 'forge-noted':
    case 'forge-ended': {
      const [mark, text] = forgeWords(entry);
      return { level: mark === 'attention' || mark === 'warning' ? 'warning' : 'info', text };
    }
    case 'restored':
      return { level: 'warning', text: restoredPhrase(entry) };
    case 'notice':
      return entry.level === 'debug' ? undefined : { level: entry.level, text: entry.text };
    case 'mutated':
      return { level: 'failed' in entry ? 'warning' : 'info', text: measuredPhrase(entry) };
    case 'agent-ended':
      return entry.refused && { level: 'warning', text: refusedPhrase(entry.refused) };
    case 'denied':
      return { level: 'warning', text: deniedPhrase(entry.what) };
    case 'run-resumed':
      return { level: 'info', text: [resumedPhrase(entry), ...entry.repaired, ...entry.changes].join('; ') };
    case 'waiting':
    case 'agent-switched':
    case 'paused':
    case 'continued':
    case 'hint-delivered':
    case 'question-asked':
    case 'question-answered': {
      const [mark, text] = betweenWords(entry, Date.parse(entry.at));
      return { level: mark === 'attention' || mark === 'retry' ? 'warning' : 'info', text };
    }
    default:
      return undefined;
  }
}
