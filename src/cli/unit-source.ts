/** A unit of a fleet, for what is done for its pull request on this machine. */

import type { UnitReading } from '../fleet/reading.ts';
import { carryRef, heldRef, shownBranch, type UnitState } from '../fleet/unit.ts';
import type { UnitSource } from '../forge/pull-request.ts';
import { errorWords } from '../platform/error-words.ts';
import { pause } from '../run/wait.ts';

export interface SourceWorld {
  readonly abort: AbortSignal;
  say(line: string): void;
  /** Somebody else works on its pull request. */
  lost(): void;
}

/** Milliseconds between two looks at a unit that somebody works on. */
const LOOK_EVERY = 500;

export function unitSource(reading: UnitReading, { abort, say, lost }: SourceWorld): UnitSource {
  const { project, unit, reopen } = reading;
  const troubled = createTroubled(say);
  const first = unit();
  return {
    ...{ project, branch: shownBranch(first), isContinued: first.kind === 'loop', reopen },
    work() {
      const { id, fence, headSha: head, carry, carryFence } = unit();
      return {
        ...{ head, ref: heldRef({ id, fence }, 'work'), carry },
        carryRef: carryRef({ id, fence: carryFence ?? 0 }, '*'),
        nextRef: carryRef({ id, fence: fence + 1 }, 0),
      };
    },
    copy: () =>
      reading.extend({
        ...{ abort, troubled },
        lost() {
          say('Another `ralph pr` works on this unit: this one stops. Run it again when that one has ended.');
          lost();
        },
      }),
    async untilOver() {
      let isSaid = false;
      for (;;) {
        const why = await reading.refresh().then(() => undefined, errorWords);
        troubled(why);
        if (why === undefined && reading.isOver()) return true;
        if (abort.aborted) return false;
        if (why === undefined && !isSaid) say(waitWords(unit().state));
        isSaid ||= why === undefined;
        await pause(LOOK_EVERY, abort);
      }
    },
  };
}

function waitWords(state: UnitState): string {
  if (state === 'running') return 'Waiting: a worker works on the unit.';
  return `Waiting: the unit is ${state}, and begins when a worker takes it. \`ralph fleet status\` says what it waits for.`;
}

/** Said once, until it is over. */
function createTroubled(say: SourceWorld['say']): (why: string | undefined) => void {
  let said: string | undefined;
  return why => {
    if (why !== undefined && why !== said) say(`The database: ${why}. Ralph tries until it answers.`);
    said = why;
  };
}
