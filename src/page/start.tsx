/** Starts a run from the page, or continues one: with the settings of its project, and nothing else. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Launched, type ListedRun, type Place, resumeRun, type Start, startRun } from './server.ts';

const KINDS = {
  loop: {
    name: 'Task',
    help: 'ralph loop: the checks of the settings decide, with a clean context in every iteration.',
    placeholder: 'Make the login work',
  },
  run: {
    name: 'Prompt',
    help: 'ralph run: the guardrails of the settings decide. Ask the agent for <response>DONE</response> at the end.',
    placeholder: 'Fix the failing test. When all tests pass, say <response>DONE</response>',
  },
  prd: { name: 'Stories', help: 'ralph prd run: the story list in ralph/tasks.json, story by story.' },
} as const;
type Kind = keyof typeof KINDS;

interface StartFormProps {
  readonly project: number;
  readonly root: string;
}

export function StartForm({ project, root }: StartFormProps) {
  const [kind, setKind] = useState<Kind>('loop');
  const [text, setText] = useState('');
  const [worktree, setWorktree] = useState(false);
  const { said, isBusy, launch } = useLaunch(project);
  const what: Start = kind === 'loop' ? { kind, text, worktree } : kind === 'run' ? { kind, text } : { kind };
  return (
    <article class="run">
      <header class="head">
        <p class="kicker">
          <bdi class="mono">{root}</bdi>
        </p>
        <h1>Start a run</h1>
      </header>
      <div class="card">
        <form
          class="start"
          onSubmit={event => {
            event.preventDefault();
            launch(() => startRun(project, what));
          }}
        >
          <Kinds kind={kind} onPick={setKind} />
          <p id="start-help">{KINDS[kind].help}</p>
          {kind !== 'prd' && (
            <textarea
              aria-label={KINDS[kind].name}
              aria-describedby="start-help"
              dir="auto"
              rows={6}
              required
              maxLength={30_000}
              placeholder={KINDS[kind].placeholder}
              value={text}
              onInput={event => setText(event.currentTarget.value)}
            />
          )}
          {kind === 'loop' && (
            <label>
              <input
                type="checkbox"
                checked={worktree}
                onChange={event => setWorktree(event.currentTarget.checked)}
              />{' '}
              in a git worktree of its own
            </label>
          )}
          <Launching said={said}>
            <button type="submit" class="action is-first" disabled={isBusy}>
              Start
            </button>
          </Launching>
        </form>
      </div>
    </article>
  );
}

interface KindsProps {
  readonly kind: Kind;
  readonly onPick: (kind: Kind) => void;
}

function Kinds({ kind, onPick }: KindsProps) {
  return (
    <fieldset class="filters">
      <legend class="hidden">What to start</legend>
      {(Object.keys(KINDS) as readonly Kind[]).map(each => (
        <button key={each} type="button" aria-pressed={each === kind} onClick={() => onPick(each)}>
          {KINDS[each].name}
        </button>
      ))}
    </fieldset>
  );
}

interface ResumeProps {
  readonly place: Place;
  readonly run: Pick<ListedRun, 'raise'>;
}

export function Resume({ place, run: { raise } }: ResumeProps) {
  const { said, isBusy, launch } = useLaunch(place.project);
  const more = raise ? ` with --${raise.flag} ${raise.to}` : '';
  return (
    <Launching said={said}>
      <button
        type="button"
        class="action is-first"
        disabled={isBusy}
        onClick={() => launch(() => resumeRun(place))}
      >
        Resume{more}
      </button>
    </Launching>
  );
}

function Launching({ said, children }: { readonly said: string; readonly children: ComponentChildren }) {
  return (
    <div class="controls">
      {children}
      <p class="said" role="status">
        {said}
      </p>
    </div>
  );
}

/** Shows the run that has begun, or why none has. */
function useLaunch(project: number) {
  const [said, setSaid] = useState('');
  const [isBusy, setBusy] = useState(false);
  const launch = (begin: () => Promise<Launched>) => {
    setBusy(true);
    setSaid('Starting…');
    begin()
      .then(
        ({ message, runId }) => {
          setSaid(message);
          if (runId !== undefined) location.hash = addressOf(project, runId);
        },
        error => setSaid(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => setBusy(false));
  };
  return { said, isBusy, launch };
}

export function addressOf(project: number, id: string): string {
  return `#/${project}/${encodeURIComponent(id)}`;
}

/** In place of a run: no run has such a name. */
export const NEW = 'new';
