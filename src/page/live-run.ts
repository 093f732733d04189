/** A live run: what the server has folded, and every event since. */
import { useEffect, useState } from 'preact/hooks';
import { knownEntry, type RawEntry } from '../domain/run/ledger-entry.ts';
import { createRunFold } from '../report/run-fold.ts';
import type { RunReading } from '../report/run-view.ts';
import { createTranscript, type Passage } from '../report/transcript.ts';
import { askRun, followRun, type Place } from './server.ts';

export interface LiveRun {
  readonly reading: RunReading;
  /** What the agent has said and done in the current iteration. */
  readonly passages: readonly Passage[];
  readonly connected: boolean;
}

/** An agent may print hundreds of lines a second; people read fewer. */
const DRAW_EVERY = 150;

/** undefined: still loading; a string: why it cannot be shown. */
export function useLiveRun({ project, id }: Place): LiveRun | string | undefined {
  const [run, setRun] = useState<LiveRun | string>();
  useEffect(() => {
    setRun(undefined);
    return start({ project, id }, setRun);
  }, [project, id]);
  return run;
}

function start(place: Place, show: (run: LiveRun | string) => void): () => void {
  let stop = () => {};
  let isOver = false;
  askRun(place).then(
    snapshot => {
      if (!isOver) stop = follow(place, snapshot, show);
    },
    error => show(error instanceof Error ? error.message : String(error)),
  );
  return () => {
    isOver = true;
    stop();
  };
}

function follow(
  place: Place,
  { since, ...snapshot }: RunReading & { readonly since: number },
  show: (run: LiveRun) => void,
): () => void {
  const fold = createRunFold(snapshot.view);
  let transcript = createTranscript();
  let seen = Math.max(0, since - 1);
  let connected = false;
  let stories = snapshot.stories;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const draw = () => {
    timer = undefined;
    const isBelieved = snapshot.integrity.trust.kind === 'intact';
    const view = isBelieved ? fold.view() : { ...fold.view(), ending: null };
    const { ending } = view;
    const state = ending ? (ending.success ? 'done' : 'stopped') : snapshot.state;
    show({ reading: { ...snapshot, view, state, stories }, passages: [...transcript.passages()], connected });
  };
  const soon = () => {
    timer ??= setTimeout(draw, DRAW_EVERY);
  };
  const following = followRun(place, () => seen, {
    message(data) {
      const entry = JSON.parse(data) as RawEntry;
      if (entry.seq <= seen) return;
      seen = entry.seq;
      // From the beginning of the iteration on, for the words; the view may be further already.
      if (entry.type === 'iteration-started') transcript = createTranscript();
      const known = knownEntry(entry);
      if (known?.type === 'agent') transcript.add(known.event);
      if (entry.seq > fold.view().seq) fold.add(entry);
      if (known?.type === 'stories-updated')
        askRun(place).then(
          now => {
            stories = now.stories;
            soon();
          },
          () => {}, // the next one brings them
        );
      soon();
    },
    live(is) {
      connected = is;
      soon();
    },
  });
  draw();
  return () => {
    clearTimeout(timer);
    following.close();
  };
}
