/** What happened beside the steps of an iteration, in a line each. */
import type { Remark } from './run-view.ts';
import type { SoundEntry, Unsound } from './sound-entry.ts';
import { betweenWords } from './waits.ts';

export type Words = Pick<Remark, 'level' | 'text'>;

/** undefined: it is no remark, but a step of the run or nothing that people need to know. */
export function remarkOn(entry: SoundEntry): Words | undefined {
  switch (entry.type) {
    case 'scm':
      return scmWords(entry);
    case 'notice':
      return entry.level === 'debug' ? undefined : { level: entry.level, text: entry.text };
    case 'denied':
      return { level: 'warning', text: `Stopped by the sandbox: ${entry.what}` };
    case 'run-resumed': {
      const begun = `Goes on in iteration ${entry.iteration} (${entry.step})`;
      return { level: 'info', text: [begun, ...entry.repaired, ...entry.changes].join('; ') };
    }
    case 'waiting':
    case 'agent-switched':
    case 'paused':
    case 'continued':
    case 'told': {
      const [mark, text] = betweenWords(entry, Date.parse(entry.at));
      return { level: mark === 'warning' || mark === 'retry' ? 'warning' : 'info', text };
    }
    default:
      return undefined;
  }
}

function scmWords({ task, outcome, detail }: SoundEntry & { type: 'scm' }): Words {
  if (outcome === 'failed') return { level: 'error', text: `${task} failed: ${detail}` };
  return { level: 'info', text: `${task}: ${outcome === 'nothing-to-do' ? 'nothing to do' : detail}` };
}

/** An event of another version: all that it holds, in one line. Better than to hide it. */
export function unknownWords(entry: Unsound & { readonly prev?: unknown }): Words {
  const { seq: _seq, at: _at, type: _type, prev: _prev, ...rest } = entry;
  return { level: 'info', text: JSON.stringify(rest) };
}
