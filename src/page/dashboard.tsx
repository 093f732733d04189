/** The runs of the machine, and one of them live. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { parentOf } from '../domain/lanes/board.ts';
import { trustMark } from '../domain/run/ledger-trust.ts';
import { standingWords } from '../domain/run/overview.ts';
import { dollars } from '../domain/turn/usage.ts';
import { headline } from '../report/ending-words.ts';
import { wholeSeconds } from '../report/numbers.ts';
import { phasePhrase } from '../report/phrases.ts';
import { viewAt } from '../report/run-fold.ts';
import type { ListedProject, ListedRun, RunReading, RunView } from '../report/run-view.ts';
import type { Passage } from '../report/transcript.ts';
import type { LinkTo } from './board.tsx';
import { Answers, Controls } from './controls.tsx';
import { useLiveRun } from './live-run.ts';
import { Passages } from './passages.tsx';
import { Run } from './run.tsx';
import { Section } from './section.tsx';
import { askDetail, followList, type Place } from './server.ts';
import { addressOf, Fork, NEW, Resume, StartForm } from './start.tsx';
import { timeOfDay, useClock, useHash } from './time.ts';

/** `canStart`: the server starts runs. */
export function Dashboard({ canStart }: { readonly canStart: boolean }) {
  const [projects, setProjects] = useState<readonly ListedProject[]>();
  const [connected, setConnected] = useState(true);
  const chosen = usePlace();
  useEffect(() => {
    const list = followList({ message: data => setProjects(JSON.parse(data)), live: setConnected });
    return list.close;
  }, []);
  const place = chosen ?? newest(projects);
  const listed = place && projects?.[place.project]?.runs.find(({ id }) => id === place.id);
  return (
    <div class="dashboard">
      <nav class="runs" aria-label="Runs">
        <button type="button" class="action skip" onClick={focusHeadline}>
          Skip the list of runs
        </button>
        <p class="brand">
          Ralph
          <span class={`connection is-${connected ? 'on' : 'off'}`} role="status">
            {connected ? 'live' : 'reconnecting…'}
          </span>
        </p>
        {projects?.map(({ root, runs }, project) => (
          <RunList key={root} root={root} runs={runs} project={project} chosen={place} canStart={canStart} />
        ))}
      </nav>
      {place?.id === NEW ? (
        <StartForm project={place.project} root={projects?.[place.project]?.root ?? ''} />
      ) : place ? (
        <LiveRun
          key={`${place.project} ${place.id}`}
          place={place}
          listed={listed}
          all={projects?.[place.project]?.runs ?? []}
          canStart={canStart}
        />
      ) : (
        <p class="empty">{projects ? 'No runs here yet. Start one, and it appears here.' : 'Reading…'}</p>
      )}
    </div>
  );
}

interface RunListProps {
  readonly root: string;
  readonly runs: readonly ListedRun[];
  readonly project: number;
  readonly chosen: Place | undefined;
  readonly canStart: boolean;
}

function RunList({ root, runs, project, chosen, canStart }: RunListProps) {
  return (
    <section class="run-list" aria-label={root}>
      <h2 class="mono" title={root}>
        {root.split('/').at(-1)}
      </h2>
      {runs.length === 0 && <p class="empty">No runs yet.</p>}
      {canStart && (
        <a
          class="new"
          href={addressOf(project, NEW)}
          aria-current={chosen?.project === project && chosen.id === NEW ? 'page' : undefined}
        >
          + Start a run
        </a>
      )}
      <ul>
        {runs
          .filter(({ id }) => !isChild(id))
          .map(run => (
            <li key={run.id}>
              <RunLink run={run} project={project} chosen={chosen} />
              <Children parent={run} runs={runs} project={project} chosen={chosen} />
            </li>
          ))}
      </ul>
    </section>
  );
}

interface RunLinkProps extends Pick<RunListProps, 'project' | 'chosen'> {
  readonly run: ListedRun;
}

function RunLink({ run, project, chosen }: RunLinkProps) {
  const isChosen = chosen?.project === project && chosen.id === run.id;
  const landed = run.lanes?.filter(({ state }) => state === 'landed').length;
  const what = run.lanes ? `${landed} of ${run.lanes.length} landed` : run.iteration;
  return (
    <a href={addressOf(project, run.id)} aria-current={isChosen ? 'page' : undefined}>
      <span class={`state is-${run.state}`}>
        {run.stopReason === null && run.questions.length > 0
          ? 'asks you'
          : standingWords(run.now, run.stopReason)}
        {trustMark(run.ledger.kind)}
      </span>
      {run.title && (
        <span class="run-title" dir="auto">
          {run.title}
        </span>
      )}
      <span class="run-what">
        {run.command} {what}
        {run.cost === null ? '' : ` · ${dollars(run.cost)}`}
        {run.worker === undefined ? '' : ` · ${run.worker}`}
      </span>
      {run.state === 'done' && run.proof !== null && <small class="run-proof">{run.proof}</small>}
      <small>{run.startedAt === null ? run.id : timeOfDay(Date.parse(run.startedAt))}</small>
    </a>
  );
}

interface ChildrenProps extends Omit<RunListProps, 'root' | 'canStart'> {
  readonly parent: ListedRun;
}

/** The runs of the lanes, below the run they belong to, while that or one of them is shown. */
function Children({ parent, runs, project, chosen }: ChildrenProps) {
  const shown = chosen?.project === project ? (parentOf(chosen.id) ?? chosen.id) : '';
  const children = runs.filter(({ id }) => parentOf(id) === parent.id).toReversed();
  if (shown !== parent.id || children.length === 0) return null;
  return (
    <ul class="children" aria-label="Lanes">
      {children.map(({ id, state, stopReason, now }) => (
        <li key={id}>
          <a
            href={addressOf(project, id)}
            aria-current={chosen?.project === project && chosen.id === id ? 'page' : undefined}
          >
            <span class="mono">{id.slice(parent.id.length + 1)}</span>{' '}
            <small class={`state is-${state}`}>{standingWords(now, stopReason)}</small>
          </a>
        </li>
      ))}
    </ul>
  );
}

function isChild(id: string): boolean {
  return parentOf(id) !== undefined;
}

interface LiveRunProps {
  readonly place: Place;
  readonly listed: ListedRun | undefined;
  /** All runs of its project. */
  readonly all: readonly ListedRun[];
  readonly canStart: boolean;
}

function LiveRun({ place, listed, all, canStart }: LiveRunProps) {
  const { project, id } = place;
  const linkTo: LinkTo = run => (all.some(each => each.id === run) ? addressOf(project, run) : undefined);
  const lanes = useMemo(
    () =>
      Object.fromEntries(
        all
          .filter(run => parentOf(run.id) === id)
          .map(({ id: child, cost, until }) => [child, { cost, until }]),
      ),
    [all, id],
  );
  const run = useLiveRun(place);
  const find = useCallback((iteration: number) => askDetail({ project, id }, iteration), [project, id]);
  const listedState = listed?.state;
  const clock = useClock(listedState === 'running');
  const reading = useMemo(() => {
    if (typeof run !== 'object') return undefined;
    // An end is in the ledger; that a process has died is only seen by the server.
    const state = run.reading.view.ending ? run.reading.state : (listedState ?? run.reading.state);
    // The bars of what is running grow.
    const view = state === 'running' ? viewAt(run.reading.view, clock) : run.reading.view;
    return { ...run.reading, state, view };
  }, [run, listedState, clock]);
  const title = reading?.view.title;
  useEffect(() => {
    document.title = title ? `${title} · Ralph` : 'Ralph';
  }, [title]);
  if (run === undefined) return <p class="empty">Reading…</p>;
  if (typeof run === 'string' || !reading) return <p class="empty">{String(run)}</p>;
  const isRunning = reading.state === 'running';
  const questions = reading.view.board ? (listed?.questions ?? []) : reading.view.questions;
  const canLaunch = canStart && !isRunning && parentOf(id) === undefined;
  const canResume = canLaunch && listed?.resumable === true;
  const { command, board, ending, iterations } = reading.view;
  const last = iterations.at(-1)?.number;
  const canFork = canLaunch && command === 'loop' && !board && ending !== null;
  return (
    <Run run={reading} find={find} linkTo={linkTo} lanes={lanes}>
      <News reading={reading} isAsked={questions.length > 0} />
      {isRunning && reading.view.command !== 'session' && (
        <Controls
          place={place}
          isPaused={listed?.paused ?? reading.view.phase === 'paused'}
          questions={questions}
        />
      )}
      {!isRunning && listed?.resumable && questions.length > 0 && (
        <Answers place={place} questions={questions} />
      )}
      {canResume && <Resume place={place} run={listed} />}
      {canFork && last !== undefined && (
        <Fork place={place} best={ending.best?.iteration ?? last} last={last} />
      )}
      {isRunning && !reading.view.board && (
        <Now view={reading.view} passages={run.passages} connected={run.connected} />
      )}
    </Run>
  );
}

/** What a screen reader speaks when it changes. What an agent does from moment to moment is not in it. */
function News({ reading, isAsked }: { readonly reading: RunReading; readonly isAsked: boolean }) {
  useFocusAtEnd(reading.state === 'running');
  return (
    <p class="hidden" role="status">
      {newsOf(reading, isAsked)}
    </p>
  );
}

function newsOf(reading: RunReading, isAsked: boolean): string {
  if (reading.state !== 'running') return headline(reading);
  if (isAsked) return 'A story asks you.';
  return reading.view.phase === 'paused' ? 'Paused.' : 'Running.';
}

/** Whoever has cancelled a run had the focus on a button that is gone. */
function useFocusAtEnd(isRunning: boolean): void {
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (wasRunning.current && !isRunning && document.activeElement === document.body) focusHeadline();
    wasRunning.current = isRunning;
  }, [isRunning]);
}

function focusHeadline(): void {
  const heading = document.querySelector('h1');
  heading?.setAttribute('tabindex', '-1');
  heading?.focus();
}

/** Of the agent's latest passages. */
const SHOWN = 12;

interface NowProps {
  readonly view: RunView;
  readonly passages: readonly Passage[];
  readonly connected: boolean;
}

/** What happens now: the step, for how long, and the agent's latest words and tool calls. */
function Now({ view, passages, connected }: NowProps) {
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

function usePlace(): Place | undefined {
  const hash = useHash();
  const found = /^#\/(\d+)\/(.+)$/.exec(hash);
  return useMemo(
    () => (found ? { project: Number(found[1]), id: decodeURIComponent(found[2] ?? '') } : undefined),
    [hash],
  );
}

/** What runs now, else what ran last. */
function newest(projects: readonly ListedProject[] | undefined): Place | undefined {
  const all = (projects ?? []).flatMap(({ runs }, project) =>
    runs.filter(({ id }) => !isChild(id)).map(run => ({ project, run })),
  );
  const best =
    all.find(({ run }) => run.state === 'running') ??
    all.toSorted((a, b) => (a.run.id < b.run.id ? 1 : -1))[0];
  return best && { project: best.project, id: best.run.id };
}
